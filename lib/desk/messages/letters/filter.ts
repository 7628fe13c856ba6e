import * as z from 'zod';
import type { IndexRecord } from '../../../delivery/letters/record.ts';
import { isAbout } from '../../../delivery/letters/subject.ts';
import { type LetterKind, letterKinds } from '../../../message/failure-kinds.ts';

/** A list of values, of which a request may give one by itself. */
const severalOf = <Each extends z.ZodType>(each: Each) =>
  z.preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(each).optional());

const isoTime = /^\d{4}-\d\d-\d\d/;
const minutes = { m: 1, h: 60, d: 1_440 } as const;

/** A moment: a time, or an age such as `90m`, `36h`, `3d`. */
const moment = z.string().transform((text, context) => {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const agoMs = Number(count) * minutes[unit as keyof typeof minutes] * 60_000;
  // `Date.parse` reads `3` as a year: if `3d` was meant, every letter would match.
  const timeMs =
    count !== undefined ? Date.now() - agoMs : isoTime.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(timeMs)) return timeMs;
  context.addIssue('must be a time such as 2026-01-31T09:30Z, or an age such as 90m, 36h or 3d');
  return z.NEVER;
});

const count = z.coerce
  .number('must be a whole number')
  .int('must be a whole number')
  .nonnegative('must be 0 or more');
/** The platform's id, or the SIS' if messages contain it. A person's name, which has a space, is not accepted. */
const id = z.coerce
  .string()
  .max(256, 'must be an id of at most 256 characters')
  .regex(/^\S+$/, 'must be an id, without spaces');

/** Every given condition must hold; of a list, at least one value. */
export const filterSchema = z
  .strictObject({
    function: z.array(z.string()).optional(),
    /** The ids of groups. `lettersMatching` distinguishes causes. */
    cause: severalOf(
      z.string().regex(/^[0-9a-f]{8}$/, 'must be 8 hex digits: the id of a cause in `letters groups`'),
    ),
    kind: z
      .array(z.enum(letterKinds as [LetterKind, ...LetterKind[]], `must be one of ${letterKinds.join(', ')}`))
      .optional(),
    /** HTTP status: `403`, or `5xx`. */
    status: z.array(z.string().regex(/^[1-5](\d\d|xx)$/, 'must be a status such as 403, or 5xx')).optional(),
    /** A part of the error's text, case-insensitive. */
    error: z.string().min(1, 'must not be empty').optional(),
    orgUnit: id.optional(),
    user: id.optional(),
    since: moment.optional(),
    until: moment.optional(),
    minReplays: count.optional(),
    maxReplays: count.optional(),
    /** The id of the letter or its beginning, or the whole id of its message. */
    id: z.array(z.string().min(4, 'must have at least 4 characters')).optional(),
  })
  .refine(({ since = 0, until = Number.POSITIVE_INFINITY }) => since <= until, {
    path: ['until'],
    message: 'must not be before since, because then no letter can match',
  });

export type Filter = z.infer<typeof filterSchema>;

/** Checks all conditions except the cause, which only `lettersMatching` can check. */
export const matches = (filter: Filter, letter: IndexRecord): boolean =>
  oneOf(filter.function, (each) => each === letter.function) &&
  oneOf(filter.kind, (each) => each === letter.kind) &&
  oneOf(filter.status, (each) => statusMatches(each, letter.status)) &&
  (filter.error === undefined || errorText(letter).includes(filter.error.toLowerCase())) &&
  (filter.since ?? 0) <= letter.atMs &&
  letter.atMs <= (filter.until ?? Number.POSITIVE_INFINITY) &&
  (filter.minReplays ?? 0) <= letter.replays &&
  letter.replays <= (filter.maxReplays ?? Number.POSITIVE_INFINITY) &&
  isAbout(filter, letter) &&
  oneOf(filter.id, (each) => letter.message.startsWith(each) || letter.eventId === each);

const oneOf = <Each>(wanted: Each[] | undefined, holds: (each: Each) => boolean): boolean =>
  wanted === undefined || wanted.some(holds);

const statusMatches = (wanted: string, status: number | undefined): boolean =>
  status !== undefined &&
  (wanted.endsWith('xx') ? wanted[0] === String(status)[0] : wanted === String(status));

const errorText = ({ error, words, required, operation }: IndexRecord): string =>
  [error, words, required, operation].join('\n').toLowerCase();
