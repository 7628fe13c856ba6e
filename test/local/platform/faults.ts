// biome-ignore-all lint/suspicious/noThenProperty: a fault's own word; nothing awaits these objects
import { type Answer, json, text, withHeaders } from './http/answer.ts';
import {
  anything,
  boolean,
  type Check,
  exactly,
  number,
  oneOf,
  optional,
  or,
  record,
  string,
} from './http/bind.ts';
import { badRequest } from './http/refusal.ts';

type Effect =
  | { kind: 'answer'; answer: Answer; when: 'before' | 'after' }
  | { kind: 'delay'; delayMs: number }
  | { kind: 'reset'; when: 'before' | 'after' }
  | { kind: 'truncate' }
  | { kind: 'endless' };
type Fault = {
  given: Record<string, unknown>;
  fits(method: string, path: string): boolean;
  happens(): boolean;
  effect: Effect;
  left: number;
};

/** The misfortunes in wait: each request meets the first one that fits it and has times left. */
export function faultList() {
  const faults: Fault[] = [];
  return {
    add: (given: unknown) => void faults.push(parseFault(given)),
    clear: () => void faults.splice(0),
    list: () => faults.map(({ given, left }) => ({ ...given, left })),
    take(method: string, path: string): Effect | undefined {
      const fault = faults.find((one) => one.left > 0 && one.fits(method, path) && one.happens());
      if (fault === undefined) return undefined;
      fault.left -= 1;
      return fault.effect;
    },
  };
}

const faultShape = exactly({
  match: optional(exactly({ method: optional(string), path: optional(string) })),
  then: record,
  times: or(number, 1),
  probability: or(number, 1),
  seed: or(number, 1),
});

function parseFault(value: unknown): Fault {
  const { match, times, probability, seed, ...given } = faultShape(value, '');
  const method = match?.method?.toUpperCase();
  const path = match?.path === undefined ? undefined : expression(match.path);
  const random = randomFrom(seed);
  return {
    given: record(value, ''),
    fits: (givenMethod, givenPath) =>
      (method === undefined || method === givenMethod) && (path === undefined || path.test(givenPath)),
    happens: () => probability >= 1 || random() < probability,
    effect: effectOf(given.then),
    left: times,
  };
}

const headers: Check<Record<string, string>> = (value, where) =>
  Object.fromEntries(Object.entries(record(value, where)).map(([name, one]) => [name, String(one)]));

const flag = or(boolean, false);

function effectOf(then: Record<string, unknown>): Effect {
  if ('status' in then) {
    const shape = exactly({
      ...{ status: number, headers: or(headers, {}), body: or(anything, '') },
      when: or(oneOf('before', 'after'), 'before'),
    });
    const { status, headers: given, body, when } = shape(then, 'then');
    const answer =
      typeof body === 'string' ? text(status, 'text/plain; charset=UTF-8', body) : json(body, status);
    return { kind: 'answer', answer: withHeaders(withoutDefaults(answer, given), given), when };
  }
  if ('delayMs' in then) return { kind: 'delay', ...exactly({ delayMs: number })(then, 'then') };
  if ('reset' in then) {
    return { kind: 'reset', when: exactly({ reset: oneOf('before', 'after') })(then, 'then').reset };
  }
  const { truncate, endless } = exactly({ truncate: flag, endless: flag })(then, 'then');
  if (truncate !== endless) return { kind: truncate ? 'truncate' : 'endless' };
  throw badRequest(
    'then must be one of {status, headers?, body?, when?}, {delayMs}, {reset}, {truncate: true}, {endless: true}',
  );
}

/** Header names are case-insensitive: a given content-type takes the place of the default one. */
function withoutDefaults(answer: Answer, given: Record<string, string>): Answer {
  const names = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  const kept = Object.entries(answer.headers).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...answer, headers: Object.fromEntries(kept) };
}

function expression(source: string): RegExp {
  try {
    return new RegExp(source);
  } catch {
    throw badRequest('match.path must be a regular expression');
  }
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
