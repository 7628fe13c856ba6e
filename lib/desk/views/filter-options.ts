import { quoted } from './quoted.ts';

/** A filter as the options that select the same letters, as in `--kind rejected --cause 1f2e3d4c,5a6b7c8d`. */
export const filterOptions = (filter: object): string =>
  Object.entries(filter)
    .flatMap(([name, value]) =>
      value === undefined ? [] : `${optionOf(name)} ${quoted(valueText(name, value))}`,
    )
    .join(' ');

const times = new Set(['since', 'until']);

export const valueText = (name: string, value: unknown): string =>
  times.has(name) ? new Date(Number(value)).toISOString() : [value].flat().join(',');

/** `--dead-letters` of `deadLetters`. */
export const optionOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
