import type { Json } from './released.ts';

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A key that is a name of ours; others are data, such as ids. */
const isName = (key: string): boolean => /^[A-Za-z][A-Za-z_]*\d?$/.test(key);

/** Which members a value has, and of what types; of a list and of what is keyed by data, those of all together. */
export const shapeOf = (value: unknown): Json => {
  if (Array.isArray(value)) return { '[]': value.map(shapeOf).reduce(joined, {}) };
  if (!isRecord(value)) return value === null ? 'null' : typeof value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const data = entries.filter(([key]) => !isName(key));
  const named = entries.filter(([key]) => isName(key)).map(([key, each]) => [key, shapeOf(each)]);
  const others = data.length === 0 ? {} : { '*': data.map(([, each]) => shapeOf(each)).reduce(joined, {}) };
  return { ...Object.fromEntries(named), ...others };
};

/** What either of the two may be. */
export const joined = (one: Json, other: Json): Json => {
  if (isRecord(one) && isRecord(other)) {
    const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
    return Object.fromEntries(
      keys.map((key) => {
        const [a, b] = [one[key], other[key]] as [Json | undefined, Json | undefined];
        return [key, a === undefined ? (b as Json) : b === undefined ? a : joined(a, b)];
      }),
    );
  }
  if (isRecord(one) && Object.keys(one).length === 0) return other;
  if (isRecord(other) && Object.keys(other).length === 0) return one;
  if (isRecord(one) || isRecord(other)) return isRecord(one) ? one : other;
  return [...new Set(`${one}|${other}`.split('|'))].sort().join('|');
};
