import * as z from 'zod';
import { type NamedObject, unwrapped } from './envelope.ts';
import { InvalidMessage, MessageFailure, type MessageProblem } from './failure.ts';
import { fieldName } from './hidden.ts';
import { readMessageJson, topTextIn } from './json.ts';
import { id, privacy } from './privacy.ts';
import { ownText, type SafeText, safe, safeList } from './safe-text.ts';
import { type PlatformIds, type SisId, sisIdsIn, withPlatformIds } from './sis-ids.ts';

/** A CloudEvents 1.0 event of the SIS whose data has the shape that its integration declares. */
export type Message<Data> = {
  id: string;
  source: string;
  /** The event's time, as the SIS gives it: with `sequence` and `id`, the message's version. */
  time: string;
  sequence: string | undefined;
  data: Data;
};

/** An id of the platform: org unit, user, grade object, … */
export const platformId = z
  .int('must be a positive whole number')
  .positive('must be a positive whole number')
  .register(privacy, id);

/** The SQS attribute with which a producer marks a message of a large load as `bulk`: it gives way to others. */
export const priorityAttribute = 'priority';
export const bulkAttributes = { [priorityAttribute]: { DataType: 'String', StringValue: 'bulk' } };

/** How far ahead of our clock a producer's may be, in milliseconds. */
const aheadMs = 3_600_000;

/** No database stores half of a surrogate pair: two such ids would become one. */
const wellFormed = z.string().refine((text) => text.isWellFormed(), 'must be well-formed Unicode');

const eventId = wellFormed.min(1).max(256);

/** The attributes that every message needs around its data; the descriptions are for the producers' contract. */
const envelope = z.looseObject({
  specversion: z.literal('1.0'),
  id: eventId.describe('Identifies the message, together with source.'),
  source: wellFormed.min(1).max(2048).describe('Who sends it.'),
  type: z.string(),
  time: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2026-01-31T09:30:00Z' })
    .max(64, 'must be at most 64 characters')
    .describe('When it happened. Of two messages about the same resource, the later one counts.'),
  // CloudEvents allows null for an attribute that is left out.
  sequence: z
    .string()
    .max(256)
    .nullish()
    .describe('Orders messages with the same time: numbers by their value, all else as text.'),
  // Without a flag for the case of letters, which JSON Schema cannot express.
  datacontenttype: z
    .string()
    .max(255)
    .regex(/^[\w.-]+\/([\w.+-]+\+)?[jJ][sS][oO][nN][ \t]*(;|$)/, 'must be application/json')
    .nullish()
    .describe('The content type of JSON, if given.'),
});

/** The names of its attributes, and of its data. */
export const eventFields: ReadonlySet<string> = new Set([...Object.keys(envelope.shape), 'data']);

export const messageType = (integration: string): string => `sis.${integration}.v1`;

type Kind<Data> = { name: string; data: z.ZodType<Data> };

/** The complete schema of an integration's messages: its function and the producers' contract use the same. */
export const messageSchema = <Data>({ name, data }: Kind<Data>) => {
  const type = messageType(name);
  return envelope.extend({ type: z.literal(type, `must be ${type} on this queue`), data });
};

const schemas = new WeakMap<Kind<unknown>, ReturnType<typeof messageSchema>>();

/** Cached: creating it costs as much as reading fifty messages. */
const schemaOf = <Data>(integration: Kind<Data>): ReturnType<typeof messageSchema<Data>> => {
  const schema = schemas.get(integration) ?? messageSchema(integration);
  schemas.set(integration, schema);
  return schema as ReturnType<typeof messageSchema<Data>>;
};

/** A message that is valid apart from its ids of the SIS, which are not looked up yet. */
export type Draft<Data> = {
  id: string;
  source: string;
  time: string;
  /** Empty if it gives ids of the platform. */
  sisIds: readonly SisId[];
  /** The platform's id of the org unit, if the message gives it. */
  orgUnitId: number | undefined;
  /** @throws MessageFailure of kind `unknown-id` if an id is missing, of kind `invalid` if they do not fit together. */
  message(ids?: PlatformIds): Message<Data>;
};

/** The body holds no event, but S3's notice of files that do; none for a test message of S3. */
export class FileNotice extends MessageFailure {
  override name = 'FileNotice';
  readonly objects: readonly NamedObject[];

  constructor(objects: readonly NamedObject[]) {
    super('rejected', safe`The message is a notice of S3, not an event`, {
      remedy: 'Only a function can handle it, from its queue. Replay this letter.',
    });
    this.objects = objects;
  }
}

/**
 * Reads the body of an SQS message: an event, or an envelope of one.
 * @throws InvalidMessage; `FileNotice` for a notice of files.
 */
export const draftOf = <Data>(body: string, integration: Kind<Data>, nowMs: number): Draft<Data> => {
  const read = readMessageJson(body);
  if ('problem' in read) throw new InvalidMessage([{ problem: safe`the body ${read.problem}` }]);
  const unwrappedEvent = unwrapped(read.json);
  if ('problem' in unwrappedEvent)
    throw new InvalidMessage([{ problem: safe`the body ${unwrappedEvent.problem}` }]);
  if (!('event' in unwrappedEvent))
    throw new FileNotice('objects' in unwrappedEvent ? unwrappedEvent.objects : []);
  const { event } = unwrappedEvent;
  const { data } = (event ?? {}) as { data?: object };
  const { sisIds, problems } = sisIdsIn(data);
  if (problems.length > 0)
    throw new InvalidMessage(problems.map(([field, problem]) => ({ field: safe`data.${field}`, problem })));
  // Distinct ids, because problems of their combination are known only later.
  const standIn = (sisId: SisId): number => sisIds.indexOf(sisId) + standInFrom;
  const given = (idOf: (sisId: SisId) => number): unknown =>
    sisIds.length === 0 ? event : { ...(event as object), data: withPlatformIds(data ?? {}, sisIds, idOf) };
  const parsed = schemaOf(integration).safeParse(given(standIn), reporting);
  if (!parsed.success) throw new InvalidMessage(problemsOf(parsed.error, sisIds));
  const { id, source, time, sequence } = parsed.data;
  if (Date.parse(time) > nowMs + aheadMs)
    throw new InvalidMessage([
      { field: safe`time`, problem: safe`must not be more than an hour in the future` },
    ]);
  const envelope = { id, source, time, sequence: sequence ?? undefined };
  return {
    id,
    source,
    time,
    sisIds,
    orgUnitId: orgUnitIdIn(data),
    message: (ids) => {
      const [first] = sisIds;
      if (first === undefined) return { ...envelope, data: parsed.data.data };
      const missing = sisIds.find(({ platformField }) => ids?.[platformField] === undefined);
      if (ids === undefined || missing !== undefined) throw unknownId(missing ?? first);
      const resolved = schemaOf(integration).safeParse(
        given(({ platformField }) => ids[platformField] ?? 0),
        reporting,
      );
      if (!resolved.success) throw new InvalidMessage(problemsOf(resolved.error, sisIds));
      return { ...envelope, data: resolved.data.data };
    },
  };
};

const orgUnitIdIn = (data: unknown): number | undefined => {
  const { orgUnitId } = (data ?? {}) as { orgUnitId?: unknown };
  return typeof orgUnitId === 'number' ? orgUnitId : undefined;
};

/** Far from the platform's ids, so that a stand-in is recognizable. */
const standInFrom = Number.MAX_SAFE_INTEGER - 100;

const unknownId = ({ field }: SisId): MessageFailure =>
  new MessageFailure('unknown-id', safe`It is not known here what data.${field} stands for`);

/**
 * Reads the body of an SQS message that gives only ids of the platform.
 * @throws MessageFailure of kind `invalid`, or `unknown-id` if it gives an id of the SIS.
 */
export const parseMessage = <Data>(body: string, integration: Kind<Data>, nowMs: number): Message<Data> =>
  draftOf(body, integration, nowMs).message();

/** An event that is not valid may hold a sentence here, or the text of another object. */
const shownId = eventId.regex(/^[^\s"]+$/);
const identified = z.object({ id: shownId });

/** The id of any message, as lists and logs may show it; undefined if it has none. */
export const eventIdIn = (body: string): string | undefined => {
  // Lambda's event may hold anything: a record without a body is reported, too.
  if (typeof body !== 'string') return undefined;
  const read = readMessageJson(body);
  if ('flaw' in read) {
    const isReadable = read.flaw === 'too deep' || read.flaw === 'too many';
    return isReadable ? shownId.safeParse(topTextIn(body, 'id')).data : undefined;
  }
  const unwrappedEvent = unwrapped(read.json);
  return 'event' in unwrappedEvent ? identified.safeParse(unwrappedEvent.event).data?.id : undefined;
};

/** Only its input shows whether an issue is about a missing field or a wrong one. */
const reporting = { reportInput: true };

const maxProblems = 10;

const problemsOf = ({ issues }: z.ZodError, sisIds: readonly SisId[]): MessageProblem[] => {
  const named = ([top, field, ...deeper]: PropertyKey[]): PropertyKey[] => {
    const sisId = sisIds.find(({ platformField }) => top === 'data' && platformField === field);
    return [top, sisId?.field ?? field, ...deeper].flatMap((part) => part ?? []);
  };
  // If the message is of another kind, problems of its data mean nothing.
  const isOfAnother = issues.some(({ path, input }) => path[0] === 'type' && input !== undefined);
  const ownIssues = isOfAnother ? issues.filter(({ path }) => path[0] !== 'data') : issues;
  const problems: MessageProblem[] = [];
  let count = 0;
  for (const issue of ownIssues) {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [key]) : [[]];
    count += keys.length;
    // Problems that are not reported are not built either.
    for (const key of keys.slice(0, maxProblems - problems.length))
      problems.push({ field: fieldOf(named([...issue.path, ...key])), problem: sentenceFor(issue) });
  }
  const last = count > maxProblems && problems.at(-1);
  if (last) last.problem = safe`${last.problem}; and ${count - maxProblems} more`;
  return problems;
};

const sentenceFor = (issue: z.core.$ZodIssue): SafeText => {
  if (issue.code === 'unrecognized_keys') return safe`is not a known field`;
  return safe`${issue.input === undefined ? 'is missing: ' : ''}${sentenceOf(issue.message)}`;
};

/** The path of a field, as in `data.files[0].uri`. */
export const fieldOf = (path: PropertyKey[]): SafeText =>
  path.length === 0
    ? safe`the body`
    : safeList(
        path.map((part, at) =>
          typeof part === 'number' ? safe`[${part}]` : safe`${at > 0 ? '.' : ''}${fieldName(String(part))}`,
        ),
        '',
      );

/** Made of the schema and of the type of the value: the only part of a message that zod repeats is an unknown field's name. */
const sentenceOf = (message: string): SafeText =>
  ownText(
    message
      .slice(0, 300)
      .toWellFormed()
      .replace(/^Invalid input: /, '')
      .replace(/, received undefined$/, '')
      .replace(/^./, (first) => first.toLowerCase()),
  );
