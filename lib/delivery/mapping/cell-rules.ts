import * as z from 'zod';
import { isTimeZone } from '../../message/time-zone.ts';
import { delimiters } from '../../runtime/files/tables/delimiter.ts';
import { isLanguage } from './months.ts';

/** What programs put around a value, so that a spreadsheet or a person leaves it as it is. */
const protections = ['spaces', 'quotes', 'hash', 'formula'] as const;
type Protection = (typeof protections)[number];

const strip = z.array(z.enum(protections)).min(1).optional();
const decimal = z.enum(['.', ',']).optional();

/** How the value of one column is read, in a mapping and in the settings of OneRoster. */
export const valueRules = {
  /** `spaces` and `quotes` around it, a `#` before it (`hash`), and `="…"` (`formula`) are no part of it. */
  strip,
  case: z.enum(['lower', 'upper']).optional(),
  /** A number with fewer digits gets zeros in front: a spreadsheet has dropped them. */
  digits: z.int().min(1).max(30).optional(),
};

/** How all cells of a file, or all values of a notice, are read. */
export const fileRules = z.strictObject({
  strip,
  /** The sign before the decimals of a number. */
  decimal,
  /** Which number comes first in a date such as 1/05/2023. Without it, such a date is not read. */
  dateOrder: z.enum(['day-month-year', 'month-day-year']).optional(),
  /** That of the names of months, as in 17-MÄR-2026; default: English. */
  language: z.string().refine(isLanguage, 'must be the code of a language, such as de').optional(),
  /** Where days and times without an offset from UTC are meant. */
  timeZone: z
    .string()
    .refine((name) => isTimeZone(name) && /^[A-Za-z]/.test(name), 'must be a time zone such as Europe/Berlin')
    .optional(),
  /** Values that stand for nothing, beside an empty cell. Without it, an id must not be one of the usual words. */
  empty: z.array(z.string().min(1)).optional(),
  /** What separates cells. Without it, the first row shows it. */
  separator: z.enum(delimiters).optional(),
});

export type ValueRules = { [Name in keyof typeof valueRules]?: z.output<(typeof valueRules)[Name]> };
export type FileRules = z.output<typeof fileRules>;

/** What programs write where there is no value. Somebody may have such a name: then `empty` says which words stand for nothing. */
export const usualBlanks: readonly string[] = [
  ...['NULL', 'null', '(null)', '<null>', '\\N', 'N/A', '#N/A', 'n/a', 'NaN', 'None', 'undefined'],
];

/** Whether it stands for nothing where an id is expected. */
export const isNoId = (
  text = '',
  { empty = usualBlanks }: { empty?: readonly string[] | undefined },
): boolean => empty.includes(text);

/** An expression for a cell that may stand for nothing. */
export const blankedSql = (cell: string, words: readonly string[]): string =>
  words.length === 0
    ? cell
    : `CASE WHEN ${cell} IN (${words.map((word) => `'${word.replaceAll("'", "''")}'`).join(', ')}) THEN '' ELSE ${cell} END`;

const blanks = ' \t\n\v\f\r\u00a0\u200b\u202f\u3000\ufeff';
const quotes = '"\'„“”‚‘’«»';

/** Signs may lie within one another, as in `'#0012`. */
const order: readonly Protection[] = ['spaces', 'formula', 'quotes', 'hash', 'quotes', 'spaces'];

const trimmed = (text: string, signs: string, end = text.length): string => {
  let [from, to] = [0, end];
  while (from < to && signs.includes(text[from] ?? '')) from += 1;
  while (to > from && signs.includes(text[to - 1] ?? '')) to -= 1;
  return text.slice(from, to);
};

const strippers: Record<Protection, { text(text: string): string; sql(cell: string): string }> = {
  spaces: {
    text: (text) => trimmed(text, blanks),
    sql: (cell) => `trim(${cell}, ${signsIn(blanks)})`,
  },
  quotes: {
    text: (text) => trimmed(text, quotes),
    sql: (cell) => `trim(${cell}, ${signsIn(quotes)})`,
  },
  hash: {
    text: (text) => text.replace(/^#+/, ''),
    sql: (cell) => `ltrim(${cell}, '#')`,
  },
  formula: {
    text: (text) => (/^="[\s\S]*"$/.test(text) ? text.slice(2, -1).replaceAll('""', '"') : text),
    sql: (cell) =>
      `CASE WHEN starts_with(${cell}, '="') AND ends_with(${cell}, '"') AND length(${cell}) > 2
         THEN replace(substr(${cell}, 3, length(${cell}) - 3), '""', '"') ELSE ${cell} END`,
  },
};

/** The signs as SQL. */
const signsIn = (signs: string): string =>
  [...signs].map((sign) => `chr(${sign.codePointAt(0)})`).join(' || ');

/** The text within what protects it. */
export const stripped = (text: string, { strip = [] }: Pick<ValueRules, 'strip'>): string =>
  order.reduce((rest, each) => (strip.includes(each) ? strippers[each].text(rest) : rest), text);

/** A value of the SIS, as it is meant. */
export const ruled = (text: string, rules: ValueRules): string => {
  const rest = stripped(text, rules);
  const cased = rules.case === 'lower' ? rest.toLowerCase() : rest;
  const whole = rules.case === 'upper' ? cased.toUpperCase() : cased;
  return rules.digits !== undefined && /^\d+$/.test(whole) ? whole.padStart(rules.digits, '0') : whole;
};

/** The same as statements: a macro for each step, so that a cell is not written out many times. */
export const ruleMacros = order
  .filter((each, at) => order.indexOf(each) === at)
  .map((each) => `CREATE MACRO without_${each}(x) AS ${strippers[each].sql('x')};`)
  .join('\n');

/** An expression for a cell that is `cell` as it is written. */
export const ruledSql = (cell: string, rules: ValueRules): string => {
  const rest = order.reduce(
    (sql, each) => (rules.strip?.includes(each) ? `without_${each}(${sql})` : sql),
    cell,
  );
  const cased = rules.case === undefined ? rest : `${rules.case}(${rest})`;
  return rules.digits === undefined
    ? cased
    : `CASE WHEN regexp_full_match(${cased}, '[0-9]+') THEN lpad(${cased}, greatest(${rules.digits}, length(${cased})), '0') ELSE ${cased} END`;
};

/** All that seems to protect a value that is used as it is: a part of it would leave the rest around the value. */
export const protectionsOf = (text: string): Protection[] => {
  const found = new Set<Protection>();
  let rest = text;
  for (const each of order) {
    const within = strippers[each].text(rest);
    if (within !== rest) found.add(each);
    rest = within;
  }
  return [...found];
};
