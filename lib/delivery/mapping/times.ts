import { type SafeText, safe } from '../../message/safe-text.ts';
import { clockMs } from '../../message/time-zone.ts';
import type { FileRules } from './cell-rules.ts';
import { monthIn } from './months.ts';

type Rules = Pick<FileRules, 'dateOrder' | 'language' | 'timeZone'>;

/** As messages have it. */
const ofMessages = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

const form = new RegExp(
  [
    String.raw`^(?:(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)|(?<compact>\d{8})`,
    String.raw`|(?<first>\d{1,2})[./-](?<second>\d{1,2})[./-](?<lastYear>\d{4})`,
    String.raw`|(?<namedDay>\d{1,2})[-./\s]{1,3}(?<name>\p{L}[\p{L}\p{M}]{2,20})[-./\s]{1,3}(?<namedYear>\d{4}))`,
    String.raw`(?:(?:T|\s+|-)(?<hour>\d{1,2})[:.](?<minute>\d\d)(?:[:.](?<secondOf>\d\d)(?:[.,](?<fraction>\d+))?)?`,
    String.raw`(?:\s*(?<half>[AaPp])\.?[Mm]\.?)?\s*(?<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?$`,
  ].join(''),
  'u',
);

/** A time as messages have it, or why it is none. `isUnclear`: it is one, but says too little. */
export type TimeOrProblem =
  | { time: string; problem?: undefined; isUnclear?: undefined }
  | { problem: SafeText; isUnclear?: true; time?: undefined };

const noTime: TimeOrProblem = { problem: safe`must be a time such as 2026-01-31T09:30:00Z` };

const shortYear = /^\d{1,2}[-./\s]+(\d{1,2}|\p{L}[\p{L}\p{M}]{2,20})[-./\s]+\d\d(?!\d)/u;
const yearOfTwoDigits: TimeOrProblem = {
  isUnclear: true,
  problem: safe`has a year of two digits. Write it with four`,
};

/**
 * The time in a text as programs write it: with a space, with a short offset or none, as a day without a time, as digits only, or with the
 * day first. A day without a time means its beginning. A text that can be read in two ways is refused.
 */
export const timeIn = (text: string, rules: Rules): TimeOrProblem => {
  const whole = text.trim();
  if (ofMessages.test(whole)) return { time: whole };
  const found = form.exec(whole)?.groups;
  if (found === undefined) return shortYear.test(whole) ? yearOfTwoDigits : noTime;
  if (found.first !== undefined && rules.dateOrder === undefined)
    return {
      isUnclear: true,
      problem: safe`can be two days, as 1/05/2023 can. Set "dateOrder" under "cells"`,
    };
  if (found.name !== undefined && monthIn(found.name, rules.language) === undefined)
    return {
      isUnclear: true,
      problem: safe`has no month of English, or of "language" under "cells". Set that, as in "de"`,
    };
  const localMs = localMsIn(found, rules);
  if (localMs === undefined) return noTime;
  const { zone, fraction } = found;
  if (zone === undefined && rules.timeZone === undefined)
    return {
      isUnclear: true,
      problem: safe`has no offset from UTC. Set "timeZone" under "cells", as in "Europe/Berlin"`,
    };
  const ms = zone === undefined ? instantOf(localMs, rules.timeZone ?? 'UTC') : localMs - offsetIn(zone);
  const seconds = new Date(ms).toISOString().slice(0, 19);
  return { time: `${seconds}${fraction === undefined ? '' : `.${fraction}`}Z` };
};

/** In milliseconds, as a clock there shows it. */
const localMsIn = (found: Record<string, string | undefined>, rules: Rules): number | undefined => {
  const [year, month, day] = dayIn(found, rules);
  const { hour = '0', minute = '0', secondOf = '0', half } = found;
  const isTwelve = half !== undefined;
  const hours = isTwelve ? (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0) : Number(hour);
  if (hours > 23 || Number(minute) > 59 || Number(secondOf) > 59 || (isTwelve && Number(hour) > 12))
    return undefined;
  const ms = Date.UTC(year, month - 1, day, hours, Number(minute), Number(secondOf));
  const date = new Date(ms);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? ms : undefined;
};

const dayIn = (
  {
    year,
    month,
    day,
    compact,
    first,
    second,
    lastYear,
    namedDay,
    name,
    namedYear,
  }: Record<string, string | undefined>,
  { dateOrder: order, language }: Rules,
): [year: number, month: number, day: number] => {
  if (year !== undefined) return [Number(year), Number(month), Number(day)];
  if (compact !== undefined)
    return [Number(compact.slice(0, 4)), Number(compact.slice(4, 6)), Number(compact.slice(6))];
  if (name !== undefined) return [Number(namedYear), monthIn(name, language) ?? 0, Number(namedDay)];
  const [dayOf, monthOf] = order === 'day-month-year' ? [first, second] : [second, first];
  return [Number(lastYear), Number(monthOf), Number(dayOf)];
};

/** As in `+01`, `-0530`, `Z`. */
const offsetIn = (zone: string): number => {
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes ?? 0)) * 60_000;
};

/** When a clock of the time zone shows this. The second step is for a change of the clock in between. */
const instantOf = (localMs: number, timeZone: string): number => {
  const guessMs = localMs - (clockMs(localMs, timeZone) - localMs);
  return localMs - (clockMs(guessMs, timeZone) - guessMs);
};

/** The day in a time zone, as in `2026-09-01`. */
export const dayAt = (ms: number, timeZone = 'UTC'): string =>
  new Date(clockMs(ms, timeZone)).toISOString().slice(0, 10);
