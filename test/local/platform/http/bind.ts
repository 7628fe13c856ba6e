import { bindingError } from './refusal.ts';

/** Turns a parsed JSON value into a typed one, or refuses with a JSON Binding Error that names the place. */
export type Check<T> = (value: unknown, where: string) => T;
type Shape = Record<string, Check<unknown>>;
type Bound<S extends Shape> = { [Name in keyof S]: ReturnType<S[Name]> };

export const anything: Check<unknown> = (value) => value;

export const number: Check<number> = (value, where) =>
  typeof value === 'number' && Number.isFinite(value) ? value : refuse(where, 'a number');

export const id: Check<number> = (value, where) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0
    ? value
    : refuse(where, 'a positive integer');

export const string: Check<string> = (value, where) =>
  typeof value === 'string' ? value : refuse(where, 'a string');

export const boolean: Check<boolean> = (value, where) =>
  typeof value === 'boolean' ? value : refuse(where, 'true or false');

const dateForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** `yyyy-MM-ddTHH:mm:ss.fffZ`: the platform takes no date without milliseconds. */
export const date: Check<string> = (value, where) =>
  typeof value === 'string' && dateForm.test(value) && !Number.isNaN(Date.parse(value))
    ? value
    : refuse(where, 'a date like 2026-01-31T08:00:00.000Z');

export function oneOf<const T extends string | number>(...allowed: T[]): Check<T> {
  return (value, where) =>
    allowed.find((one) => one === value) ?? refuse(where, `one of ${allowed.join(', ')}`);
}

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, where) => (value === null ? null : check(value, where));
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, where) => (value === undefined ? undefined : check(value, where));
}

export function or<T>(check: Check<T>, fallback: T): Check<T> {
  return (value, where) => (value === undefined ? fallback : check(value, where));
}

export function list<T>(check: Check<T>): Check<T[]> {
  return (value, where) =>
    Array.isArray(value)
      ? value.map((item, index) => check(item, `${where}[${index}]`))
      : refuse(where, 'an array');
}

/** Fields that the shape does not name are ignored, as the platform does. */
export function object<S extends Shape>(shape: S): Check<Bound<S>> {
  return (value, where) => {
    const given = record(value, where);
    const bound = Object.entries(shape).map(([name, check]) => [
      name,
      check(given[name], place(where, name)),
    ]);
    return Object.fromEntries(bound) as Bound<S>;
  };
}

/** For the control API: a misspelt field must not pass in silence. */
export function exactly<S extends Shape>(shape: S): Check<Bound<S>> {
  return (value, where) => {
    const unknown = Object.keys(record(value, where)).filter((name) => !Object.hasOwn(shape, name));
    if (unknown.length > 0) throw bindingError(`${place(where, unknown.join(', '))} is not a known field`);
    return object(shape)(value, where);
  };
}

export const record: Check<Record<string, unknown>> = (value, where) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : refuse(where, 'an object');

function place(where: string, name: string) {
  return where === '' ? name : `${where}.${name}`;
}

function refuse(where: string, expected: string): never {
  throw bindingError(`${where === '' ? 'the body' : where} must be ${expected}`);
}
