import type { ServerResponse } from 'node:http';
import * as z from 'zod';

/** What befalls a connection, not an answer. */
const socketEffects = ['delayMs', 'hang', 'reset', 'truncate'] as const;
const effects = ['status', 'type', 'failedEntries', ...socketEffects] as const;

/** What `POST /_local/faults` takes: which calls it meets (all, if it names none), how often or how long, and what happens. */
const FaultSchema = z
  .strictObject({
    action: z.string().describe('of this action alone, for example SendMessage'),
    name: z.string().describe('of this queue, secret or bucket/key alone'),
    times: z.int().positive(),
    forMs: z.int().positive(),
    status: z.int().min(400).max(599),
    type: z.string(),
    failedEntries: z.int().positive().describe('a batch call is answered, but its first n entries failed'),
    delayMs: z.int().positive().describe('the answer, or the fault, comes this much later'),
    hang: z.literal(true).describe('no answer comes'),
    reset: z
      .union([z.literal(true), z.enum(['before', 'after'])])
      .describe('true is before: nothing was done'),
    truncate: z.literal(true).describe('the connection is cut in the middle of the answer'),
  })
  .partial()
  .refine(
    (fault) => effects.some((effect) => fault[effect] !== undefined),
    `one of ${effects.join(', ')} is needed`,
  );

export type Fault = z.infer<typeof FaultSchema>;

export function faultList() {
  let active: { fault: Fault; left: number; until: number }[] = [];
  return {
    /** Answers `POST` and `DELETE /_local/faults`. */
    control(method: string | undefined, json: string, response: ServerResponse): void {
      if (method === 'DELETE') active = [];
      else {
        const { data, error } = FaultSchema.safeParse(parseJson(json));
        if (error) return void response.writeHead(400).end(z.prettifyError(error));
        const { times = Number.POSITIVE_INFINITY, forMs = Number.POSITIVE_INFINITY } = data;
        active.push({ fault: data, left: times, until: Date.now() + forMs });
      }
      response.writeHead(204).end();
    },
    isAny: (): boolean => active.length > 0,
    needsSocket: (): boolean =>
      active.some(
        ({ fault, left }) => left > 0 && socketEffects.some((effect) => fault[effect] !== undefined),
      ),
    /** The oldest fault that this call meets; it counts as having happened. */
    take(action: string, name: string): Fault | undefined {
      active = active.filter(({ left, until }) => left > 0 && until > Date.now());
      const met = active.find(
        ({ fault }) => (fault.action ?? action) === action && (fault.name ?? name) === name,
      );
      if (met) met.left -= 1;
      return met?.fault;
    },
  };
}

/** Does to the connection what the fault says. False: the connection is gone, and nothing is to be done any more. */
export async function suffer(fault: Fault, response: ServerResponse): Promise<boolean> {
  if (fault.delayMs !== undefined) await untilClosed(response, fault.delayMs);
  if (fault.hang) {
    await untilClosed(response);
    return false;
  }
  if (fault.reset === true || fault.reset === 'before') {
    response.destroy();
    return false;
  }
  if (fault.reset === 'after') response.end = () => response.destroy();
  if (fault.truncate) response.end = (body: unknown) => sendHalf(response, body);
  return true;
}

/** Null where the fault does not refuse the call. */
export function refusalOf({ status, type, failedEntries }: Fault): { status: number; type: string } | null {
  if (failedEntries !== undefined || (status === undefined && type === undefined)) return null;
  const serverFault = status === undefined ? /^Internal|Unavailable/.test(type ?? '') : status >= 500;
  return {
    status: status ?? (serverFault ? 500 : 400),
    type: type ?? (serverFault ? 'InternalServiceError' : 'InvalidRequestException'),
  };
}

function sendHalf(response: ServerResponse, body: unknown) {
  const bytes = Buffer.from(typeof body === 'string' || Buffer.isBuffer(body) ? body : '');
  if (!response.headersSent) response.setHeader('content-length', bytes.length);
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  return response;
}

function untilClosed(response: ServerResponse, orForMs?: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = orForMs === undefined ? undefined : setTimeout(resolve, orForMs);
    response.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
