import * as z from 'zod';
import type { Failure, Outcome } from '../../message/failure.ts';
import { errorName } from '../aws/error.ts';
import { type ItemTable, readItem, updateItem, writeInReserve } from '../aws/table-items.ts';
import type { CallReport } from './call-report.ts';

/** A cause that keeps messages waiting until a person acts. */
export type Incident = z.infer<typeof incidentSchema>;

const incidentSchema = z.object({
  kind: z.string(),
  /** The first and the last time it was met, without a pause that is longer than messages wait. */
  sinceMs: z.number(),
  lastMs: z.number(),
  /** The function that met it last. */
  function: z.string(),
  message: z.string(),
  remedy: z.string(),
});

const keyOf = (subject: string): string => `incident/${subject}`;

/** The platform refuses changes that the service's credential signs, in every function. It may still answer reads. */
export const serviceCredential = 'service-credential';

/** Any other incident concerns only the function that meets it. */
export const incidentOf = (functionName: string, kind: 'credentials' | 'aws-refused'): string =>
  `${functionName}/${kind}`;

/** @throws if the table cannot be read. */
export const readIncident = async (access: ItemTable, subject: string): Promise<Incident | undefined> => {
  const item = await readItem(access, keyOf(subject));
  return item && incidentSchema.parse(item);
};

/** The parts of an attempt's outcome that matter for incidents. */
export type Ending = {
  outcome: Outcome;
  failure: Failure | undefined;
  calls: readonly CallReport[];
  /** Whether the service's own credential signs. */
  asService: boolean;
  /** It was received or replayed before, so something has delayed it. */
  again: boolean;
};

export type IncidentOptions = ItemTable & {
  function: string;
  /** Longest wait of a message between two attempts, in seconds. */
  maximumWaitSeconds: number;
  warn(text: string, facts: Record<string, string>): void;
};

/** A container writes about one subject at most once in this time, in milliseconds. */
const restMs = 60_000;
const hourSeconds = 3_600;

/**
 * Records what keeps messages waiting until a person acts, so that others can see it. Without an incident, nothing is read or
 * written. An incident expires if no message has met it for longer than messages wait, as every waiting message meets it again.
 * An incident of the service's credential ends earlier: when a message succeeds in spite of it, in a container that has met it or
 * with a message that may have met it.
 */
export const createIncidents = ({ warn, maximumWaitSeconds, ...options }: IncidentOptions) => {
  const { nowMs } = options;
  const keptSeconds = Math.max(hourSeconds, 2 * maximumWaitSeconds);
  const ownCredential = incidentOf(options.function, 'credentials');
  const awsRefused = incidentOf(options.function, 'aws-refused');
  const news = new Map<string, Failure | 'over'>();
  const written = new Map<string, { isOver: boolean; atMs: number }>();

  const note = (subject: string, what: Failure | 'over'): void => {
    const last = written.get(subject);
    const isNew = last?.isOver !== (what === 'over') || nowMs() - last.atMs >= restMs;
    if (isNew) news.set(subject, what);
    else news.delete(subject);
  };

  const write = async (subject: string, what: Failure | 'over', abortSignal: AbortSignal): Promise<void> => {
    const now = nowMs();
    const access = { ...options, abortSignal };
    if (what === 'over') {
      await updateItem(access, keyOf(subject), { set: { expires: Math.floor(now / 1000) }, onlyOpen: true });
      return;
    }
    const { kind, message, remedy } = what;
    const expires = Math.ceil(now / 1000) + keptSeconds;
    const facts = { kind, message, remedy, function: options.function, lastMs: now, expires };
    if (!(await updateItem(access, keyOf(subject), { set: facts, onlyOpen: true })))
      await updateItem(access, keyOf(subject), { set: { ...facts, sinceMs: now } });
  };

  const isOpen = (subject: string): boolean => written.get(subject)?.isOver === false;

  const met = (failure: Failure, asService: boolean): void => {
    const { kind, operation } = failure;
    if (kind === 'aws-refused') note(awsRefused, failure);
    if (kind !== 'credentials') return;
    // Without a call: a container does not use a refused credential for a while.
    const isOfChanges = isChange(operation) || (operation === undefined && isOpen(serviceCredential));
    note(asService && isOfChanges ? serviceCredential : ownCredential, failure);
  };

  return {
    heard: ({ outcome, failure, calls, asService, again }: Ending): void => {
      if (failure) met(failure, asService);
      // A success with another user's credential says nothing about the service's.
      if (outcome !== 'done' || !asService) return;
      const isOver = (each: string): void => {
        if (again || isOpen(each)) note(each, 'over');
      };
      isOver(ownCredential);
      if (calls.some(isTakenChange)) isOver(serviceCredential);
    },
    /** Call this at the end of an invocation: it writes the news. It never throws. */
    write: async (): Promise<void> => {
      const all = [...news];
      news.clear();
      for (const [subject, what] of all) written.set(subject, { isOver: what === 'over', atMs: nowMs() });
      await writeInReserve(
        all.map(([subject, what]) => ({
          write: (late) => write(subject, what, late),
          failed: (error) =>
            warn('an incident could not be written down', { subject, error: errorName(error) }),
        })),
      );
    },
  };
};

export type Incidents = ReturnType<typeof createIncidents>;

/** `METHOD /path` of the call. */
const isChange = (call: string | undefined): boolean => call !== undefined && !call.startsWith('GET ');

const isTakenChange = ({ call, status = 0 }: CallReport): boolean =>
  isChange(call) && status >= 200 && status < 300;
