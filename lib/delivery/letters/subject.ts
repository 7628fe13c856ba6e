import { eventIn } from '../../message/envelope.ts';
import { type PlatformIds, sisIdsIn } from '../../message/sis-ids.ts';
import { plain } from '../../runtime/privacy/printable.ts';

/** Whom and what a message is about, by the platform's ids; each undefined where the message has none that is usable. */
export type Subject = {
  user: string | undefined;
  orgUnit: string | undefined;
  thing: string | undefined;
  /** The SIS' ids that the message gives, as in `s1234567 · MATH-101`; undefined: it gives none. */
  named: string | undefined;
};

/** The fields that name the one thing of a course that a message changes, the most telling first. */
const things = ['gradeObjectId', 'folderId', 'topicId', 'moduleId', 'linkId', 'attributeId'];

/** `ids`: what the SIS' ids in it stand for. */
export const subjectIn = (body: string, ids: PlatformIds = {}): Subject => {
  const given = dataIn(body);
  const data: Record<string, unknown> = { ...given, ...ids };
  const field = things.find((name) => idIn(data[name]) !== undefined);
  return {
    user: idIn(data.userId),
    orgUnit: idIn(data.orgUnitId),
    thing: field && `${wordsIn(field)} ${idIn(data[field])}`,
    named: namedIn(given),
  };
};

const namedIn = (data: Record<string, unknown>): string | undefined => {
  const { sisIds } = sisIdsIn(data);
  const names = namesFirst.flatMap((field) => sisIds.find((each) => each.field === field)?.value ?? []);
  return names.map(plain).join(between) || undefined;
};

const between = ' · ';

/** A user, a course, or that user in that course; of each either the platform's id or one of the SIS. */
export type About = { user?: string | undefined; orgUnit?: string | undefined };

/** Whether what is told of a message has these ids. */
export const isAbout = ({ user, orgUnit }: About, told: About & Partial<Pick<Subject, 'named'>>): boolean => {
  const named = told.named?.split(between) ?? [];
  const has = (wanted: string | undefined, id: string | undefined): boolean =>
    wanted === undefined || wanted === id || named.includes(wanted);
  return has(user, told.user) && has(orgUnit, told.orgUnit);
};

/** As the platform's ids are shown: the user, the course, the thing. */
const namesFirst = ['userName', 'orgDefinedId', 'orgUnitCode', 'gradeObjectName'];

const dataIn = (body: string): Record<string, unknown> => {
  const data = (eventIn(body) as { data?: unknown } | null | undefined)?.data;
  return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
};

/** Anything else may be a name, or a sentence. */
const idIn = (value: unknown): string | undefined =>
  (typeof value === 'number' || typeof value === 'string') && /^\d{1,16}$/.test(String(value))
    ? String(value)
    : undefined;

/** `gradeObjectId` as `grade object`. */
const wordsIn = (field: string): string =>
  field.replace(/Id$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
