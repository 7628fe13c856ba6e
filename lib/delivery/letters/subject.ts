import { eventIn } from '../../message/envelope.ts';
import { type PlatformIds, sisIdsIn } from '../../message/sis-ids.ts';
import { plain } from '../../runtime/privacy/printable.ts';

/** The user and the thing that a message is about, by the platform's ids; each undefined if the message has no usable one. */
export type Subject = {
  user: string | undefined;
  orgUnit: string | undefined;
  thing: string | undefined;
  /** The message's ids of the SIS, as in `s1234567 · MATH-101`; undefined if it gives none. */
  named: string | undefined;
  /** When the SIS sent it, by its own clock. */
  eventMs: number | undefined;
};

/** The fields that name the one thing of a course that a message changes, the most specific first. */
const things = ['gradeObjectId', 'folderId', 'topicId', 'moduleId', 'linkId', 'attributeId'];

/** `ids`: what its ids of the SIS stand for. */
export const subjectIn = (body: string, ids: PlatformIds = {}): Subject => {
  const { data: given, time } = partsIn(body);
  const data: Record<string, unknown> = { ...given, ...ids };
  const field = things.find((name) => idIn(data[name]) !== undefined);
  return {
    user: idIn(data.userId),
    orgUnit: idIn(data.orgUnitId),
    thing: field && `${wordsIn(field)} ${idIn(data[field])}`,
    named: namedIn(given),
    eventMs: typeof time === 'string' ? Date.parse(time) || undefined : undefined,
  };
};

const namedIn = (data: Record<string, unknown>): string | undefined => {
  const { sisIds } = sisIdsIn(data);
  const names = namesFirst.flatMap((field) => sisIds.find((each) => each.field === field)?.value ?? []);
  return names.map(plain).join(between) || undefined;
};

const between = ' · ';

/** A user, a course, or that user in that course; each as the platform's id or one of the SIS. */
export type SubjectFilter = { user?: string | undefined; orgUnit?: string | undefined };

export const isAbout = (
  { user, orgUnit }: SubjectFilter,
  subject: SubjectFilter & Partial<Pick<Subject, 'named'>>,
): boolean => {
  const named = subject.named?.split(between) ?? [];
  const has = (wanted: string | undefined, id: string | undefined): boolean =>
    wanted === undefined || wanted === id || named.includes(wanted);
  return has(user, subject.user) && has(orgUnit, subject.orgUnit);
};

/** In the order in which the platform's ids are shown: user, course, thing. */
const namesFirst = ['userName', 'orgDefinedId', 'orgUnitCode', 'gradeObjectName'];

const partsIn = (body: string): { data: Record<string, unknown>; time: unknown } => {
  const { data, time } = Object(eventIn(body)) as { data?: unknown; time?: unknown };
  return { data: Object(data) as Record<string, unknown>, time };
};

/**
 * What may be the message's id in this field, the likeliest first. `named` does not say which is which: a user's is the first, and an id
 * may contain what is between two.
 */
export const possibleNames = (field: string, named = ''): string[] => {
  const parts = named.split(between);
  if (named === '' || !namesFirst.includes(field) || parts.length > maxParts) return [];
  const beginnings = parts.slice(0, /^user|^orgDefined/.test(field) ? 1 : parts.length);
  return parts.flatMap((_, more) =>
    beginnings.flatMap((_, from) =>
      from + more < parts.length ? parts.slice(from, from + more + 1).join(between) : [],
    ),
  );
};

/** One of each field, and a few that are in the ids themselves. */
const maxParts = 8;

/** Any other value may be a name or a sentence. */
const idIn = (value: unknown): string | undefined =>
  (typeof value === 'number' || typeof value === 'string') && /^\d{1,16}$/.test(String(value))
    ? String(value)
    : undefined;

/** `gradeObjectId` becomes `grade object`. */
const wordsIn = (field: string): string =>
  field.replace(/Id$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
