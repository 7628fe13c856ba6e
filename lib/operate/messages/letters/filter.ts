import * as z from 'zod';
import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { isAbout } from '../../../delivery/letters/subject.ts';
import { type LetterKind, letterKinds } from '../../../message/letter-kinds.ts';

const isoTime = /^\d{4}-\d\d-\d\d/;
const minutes = { m: 1, h: 60, d: 1_440 } as const;

/** A moment: a time, or how long ago, as in `90m`, `36h`, `3d`. */
const moment = z.string().transform((text, context) => {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const agoMs = Number(count) * minutes[unit as keyof typeof minutes] * 60_000;
  // `Date.parse` reads `3` as a year: where `3d` was meant, every letter would match.
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
/** Of the platform, or of the SIS where messages give those. A name of a person, which has a space, is none. */
const id = z.coerce
  .string()
  .max(256, 'must be an id of at most 256 characters')
  .regex(/^\S+$/, 'must be an id, without spaces');

/** Which letters: every condition that is given must hold; of a list, at least one. */
export const filterSchema = z
  .strictObject({
    function: z.array(z.string()).optional(),
    /** Of a group; letters of one cause are told from others by `lettersMatching`. */
    cause: z
      .string()
      .regex(/^[0-9a-f]{8}$/, 'must be 8 hex digits: the `cause` of a group in `letters groups --json`')
      .optional(),
    kind: z
      .array(z.enum(letterKinds as [LetterKind, ...LetterKind[]], `must be one of ${letterKinds.join(', ')}`))
      .optional(),
    /** HTTP status: `403`, or `5xx`. */
    status: z.array(z.string().regex(/^[1-5](\d\d|xx)$/, 'must be a status such as 403, or 5xx')).optional(),
    /** A piece of the error's text, in any case. */
    error: z.string().min(1, 'must not be empty').optional(),
    orgUnit: id.optional(),
    user: id.optional(),
    since: moment.optional(),
    until: moment.optional(),
    minReplays: count.optional(),
    maxReplays: count.optional(),
    /** Of the letter, or the beginning of it, or the whole id of its message. */
    id: z.array(z.string().min(4, 'must have at least 4 characters')).optional(),
  })
  .refine(({ since = 0, until = Number.POSITIVE_INFINITY }) => since <= until, {
    path: ['until'],
    message: 'must not be before since, because then no letter can match',
  });

export type Filter = z.infer<typeof filterSchema>;

/** All conditions but the cause, which shows only beside other letters: `lettersMatching`. */
export const matches = (filter: Filter, letter: DeskRecord): boolean =>
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

const errorText = ({ error, words, required, operation }: DeskRecord): string =>
  [error, words, required, operation].join('\n').toLowerCase();
