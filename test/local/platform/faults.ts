// biome-ignore-all lint/suspicious/noThenProperty: a fault's own word; nothing awaits these objects
import * as z from 'zod';
import { type Answer, json, text, withHeaders } from './http/answer.ts';
import { bind, record } from './http/bind.ts';

/** What befalls a request: of these, what is there. */
type Effect = {
  answer?: Answer;
  when?: 'before' | 'after';
  delayMs?: number;
  reset?: 'before' | 'after';
  truncate?: true;
  endless?: true;
};
type WaitingFault = {
  given: Record<string, unknown>;
  fits(method: string, path: string): boolean;
  happens(): boolean;
  effect: Effect;
  left: number;
};

/** The misfortunes in wait: each request meets the first one that fits it and has times left. */
export function faultList() {
  const faults: WaitingFault[] = [];
  return {
    add: (given: unknown) => void faults.push(parseFault(given)),
    clear: () => void faults.splice(0),
    list: () => faults.map(({ given, left }) => ({ ...given, left })),
    /** Something other than an answer is in wait. */
    needsSocket: () => faults.some(({ left, effect }) => left > 0 && effect.answer === undefined),
    take(method: string, path: string): Effect | undefined {
      const fault = faults.find((one) => one.left > 0 && one.fits(method, path) && one.happens());
      if (fault === undefined) return undefined;
      fault.left -= 1;
      return fault.effect;
    },
  };
}

const when = z.enum(['before', 'after']);
const answerShape = z
  .strictObject({
    status: z.number(),
    headers: z.record(z.string(), z.coerce.string()).default({}),
    body: z.unknown().optional(),
    when: when.default('before'),
  })
  .transform(({ status, headers, body = '', when }): Effect => {
    const answer =
      typeof body === 'string' ? text(status, 'text/plain; charset=UTF-8', body) : json(body, status);
    return { answer: withHeaders(withoutDefaults(answer, headers), headers), when };
  });

const faultShape = z.strictObject({
  match: z
    .strictObject({
      method: z.string().toUpperCase().optional(),
      path: z
        .string()
        .refine(isExpression, 'it must be a regular expression')
        .transform((source) => new RegExp(source))
        .optional(),
    })
    .default({}),
  then: z.union([
    answerShape,
    z.strictObject({ delayMs: z.number() }),
    z.strictObject({ reset: when }),
    z.strictObject({ truncate: z.literal(true) }),
    z.strictObject({ endless: z.literal(true) }),
  ]),
  times: z.number().default(1),
  probability: z.number().default(1),
  seed: z.number().default(1),
});

export type Fault = z.input<typeof faultShape>;

function parseFault(value: unknown): WaitingFault {
  const { match, then, times, probability, seed } = bind(faultShape, value);
  const random = randomFrom(seed);
  return {
    given: bind(record, value),
    fits: (method, path) => (match.method ?? method) === method && match.path?.test(path) !== false,
    happens: () => probability >= 1 || random() < probability,
    effect: then,
    left: times,
  };
}

function isExpression(source: string): boolean {
  try {
    return new RegExp(source) instanceof RegExp;
  } catch {
    return false;
  }
}

/** Header names are case-insensitive: a given content-type takes the place of the default one. */
function withoutDefaults(answer: Answer, given: Record<string, string>): Answer {
  const names = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  const kept = Object.entries(answer.headers).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...answer, headers: Object.fromEntries(kept) };
}

/** A small generator of reproducible randomness (mulberry32): the same seed gives the same misfortunes. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
