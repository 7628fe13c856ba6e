import * as z from 'zod';
import { clockMs, isTimeZone } from '../message/time-zone.ts';

/** What the SIS is expected to send, and when nothing is expected. */
export type Expectation = {
  /** An integration, or what an option receives, as in `snapshots/grades.csv`. */
  name: string;
  /** Something must come within so many hours, of those in which something is expected. */
  hours: number;
  /** From 1, Monday, to 7. */
  days: number[];
  /** The first hour of a day, and the one after the last. */
  fromHour: number;
  toHour: number;
  /** First and last days on which nothing is expected, as in 2026-12-24. */
  pauses: [first: string, last: string][];
};

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const maxHours = 14 * 24;
const example = 'grade-push 24h mon-fri 07-19 not 2026-12-24..2027-01-06; snapshots/oneroster 26h';

/** Reads one part of an expectation behind its name; false: it is none. */
const readPart = (expectation: Expectation, part: string): boolean => {
  const [, hours] = /^(\d+)h$/.exec(part) ?? [];
  const [, from = '', to = from] = /^([a-z]{3})(?:-([a-z]{3}))?$/.exec(part) ?? [];
  const [, fromHour, toHour] = /^(\d\d?)-(\d\d?)$/.exec(part) ?? [];
  const [, first, last = first] = /^(\d{4}-\d\d-\d\d)(?:\.\.(\d{4}-\d\d-\d\d))?$/.exec(part) ?? [];
  if (hours !== undefined) {
    expectation.hours = Number(hours);
    return expectation.hours > 0 && expectation.hours <= maxHours;
  }
  if (from !== '') {
    const [begin, end] = [weekdays.indexOf(from), weekdays.indexOf(to)];
    if (expectation.days.length === weekdays.length) expectation.days = [];
    for (let at = begin; ; at = (at + 1) % weekdays.length) {
      expectation.days.push(at + 1);
      if (at === end || begin < 0 || end < 0) break;
    }
    return begin >= 0 && end >= 0;
  }
  if (fromHour !== undefined) {
    Object.assign(expectation, { fromHour: Number(fromHour), toHour: Number(toHour) });
    return expectation.fromHour < expectation.toHour && expectation.toHour <= 24;
  }
  if (first === undefined || last === undefined) return false;
  expectation.pauses.push([first, last]);
  return first <= last && !Number.isNaN(Date.parse(first)) && !Number.isNaN(Date.parse(last));
};

const expectationIn = (text: string): Expectation | { problem: string } => {
  const [name = '', ...parts] = text.split(/\s+/);
  const expectation: Expectation = {
    name,
    hours: 0,
    days: [1, 2, 3, 4, 5, 6, 7],
    fromHour: 0,
    toHour: 24,
    pauses: [],
  };
  const wrong = parts.find((part) => part !== 'not' && !readPart(expectation, part));
  if (wrong !== undefined) return { problem: `“${wrong}” of “${text}” is not understood` };
  // It is a dimension of a metric.
  if (!/^[\x21-\x7e]{1,200}$/.test(name)) return { problem: `“${name}” is no name` };
  return expectation.hours > 0 ? expectation : { problem: `“${text}” does not say within how many hours` };
};

/** What a stage expects, separated by semicolons. */
export const expectedSchema = z.string().transform((text, context): Expectation[] => {
  const read = text.split(';').flatMap((each) => (each.trim() === '' ? [] : [expectationIn(each.trim())]));
  const problems = read.flatMap((each) => ('problem' in each ? [each.problem] : []));
  const expectations = read.flatMap((each) => ('problem' in each ? [] : [each]));
  const names = expectations.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) problems.push(`${twice} is there twice`);
  for (const problem of problems) context.addIssue(`${problem}. Write it as in ${example}`);
  return expectations;
});

export const timeZoneSchema = z.string().refine(isTimeZone, 'must be a time zone such as Europe/Vienna');

/** The time at a place. */
export type LocalTime = {
  /** From 1, Monday, to 7. */
  weekday: number;
  hour: number;
  /** As in 2026-12-24. */
  day: string;
};

export const localTimeIn =
  (timeZone: string) =>
  (ms: number): LocalTime => {
    const clock = new Date(clockMs(ms, timeZone));
    return {
      weekday: clock.getUTCDay() || 7,
      hour: clock.getUTCHours(),
      day: clock.toISOString().slice(0, 10),
    };
  };

const isExpectedAt = ({ days, fromHour, toHour, pauses }: Expectation, at: LocalTime): boolean =>
  days.includes(at.weekday) &&
  at.hour >= fromHour &&
  at.hour < toHour &&
  !pauses.some(([first, last]) => at.day >= first && at.day <= last);

/** Time is looked at in such steps. */
const stepMs = 900_000;
/** What did not come for so long is overdue, however rarely it is expected. */
const longestMs = 400 * 24 * 3_600_000;

/** Whether nothing has come for too many of the hours in which something is expected. */
export const isOverdue = (
  expectation: Expectation,
  { lastMs, nowMs, timeAt }: { lastMs: number; nowMs: number; timeAt(ms: number): LocalTime },
): boolean => {
  let leftMs = expectation.hours * 3_600_000;
  for (let ms = nowMs - stepMs; ms >= lastMs; ms -= stepMs) {
    if (isExpectedAt(expectation, timeAt(ms))) leftMs -= stepMs;
    if (leftMs <= 0 || nowMs - ms > longestMs) return true;
  }
  return false;
};
