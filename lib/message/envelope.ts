import { readMessageJson } from './json.ts';
import { type SafeText, safe } from './safe-text.ts';

export type NamedObject = { bucket: string; key: string; versionId: string | undefined };

/**
 * S3 names one file in each notice. A notice with more comes from another sender, and each file may hold half a million events.
 */
const maxObjects = 20;

/** The service that put the event into its own message. */
export type Envelope = 'SNS' | 'EventBridge';

export type UnwrapResult =
  /** The event; `envelopes` from the outside in, empty for a plain event. */
  | { event: unknown; envelopes: readonly Envelope[] }
  /** A notice of S3 about files that were written. */
  | { objects: NamedObject[] }
  /** A test message of S3. */
  | { test: string }
  /** An envelope without a readable event. */
  | { problem: SafeText };

/** SNS within EventBridge within SNS is deeper than services can nest. */
const maxEnvelopes = 3;

/** Parses a message's JSON. An event of our own is never treated as an envelope, whatever it holds. */
export const unwrapped = (json: unknown): UnwrapResult => {
  const envelopes: Envelope[] = [];
  for (let inner = json; ; ) {
    const object = objectIn(inner);
    if (object === undefined || 'specversion' in object) return { event: inner, envelopes };
    const notice = noticeIn(object);
    if (notice) return notice;
    const wrapped = wrappedIn(object);
    if (wrapped === undefined) return { event: inner, envelopes };
    if ('problem' in wrapped) return wrapped;
    if (envelopes.length === maxEnvelopes)
      return { problem: safe`is wrapped in more than ${maxEnvelopes} envelopes` };
    envelopes.push(wrapped.envelope);
    inner = wrapped.json;
  }
};

/** The event's JSON; undefined if the text is no JSON, or holds no event. */
export const eventIn = (body: string): unknown => {
  const read = readMessageJson(body);
  const unwrappedEvent = 'json' in read ? unwrapped(read.json) : read;
  return 'event' in unwrappedEvent ? unwrappedEvent.event : undefined;
};

type Fields = Record<string, unknown>;

const objectIn = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

type EnvelopeOrProblem = { envelope: Envelope; json: unknown } | { problem: SafeText };

const wrappedIn = (object: Fields): EnvelopeOrProblem | undefined => {
  if (isOfTopic(object)) {
    if (object.Type === 'SubscriptionConfirmation')
      return {
        problem: safe`is a request of SNS to confirm a subscription: the owner of the topic must confirm it with its SubscribeURL`,
      };
    const read = readMessageJson(object.Message);
    return 'json' in read
      ? { envelope: 'SNS', json: read.json }
      : { problem: safe`is a notification of SNS whose Message ${read.problem}` };
  }
  const detail = objectIn(object.detail);
  return detail && isOfBus(object) ? { envelope: 'EventBridge', json: detail } : undefined;
};

type Notification = { Type: string; Message: string };

const isOfTopic = (object: Fields): object is Notification =>
  (object.Type === 'Notification' || object.Type === 'SubscriptionConfirmation') &&
  [object.Message, object.MessageId, object.TopicArn].every((field) => typeof field === 'string');

const isOfBus = (object: Fields): boolean =>
  [object['detail-type'], object.source, object.account].every((field) => typeof field === 'string');

/** Reads a notice in the form that S3 sends to queues and topics, or to EventBridge. */
const noticeIn = (object: Fields): UnwrapResult | undefined => {
  if (object.Service === 'Amazon S3' && object.Event === 's3:TestEvent') return { test: 's3:TestEvent' };
  const { Records } = object;
  if (Array.isArray(Records) && Records.length > 0 && Records.every(isOfBucket))
    return noticeOf(Records.map(({ eventName, s3 }) => ({ name: eventName, file: s3, isEncoded: true })));
  if (object.source === 'aws.s3' && isOfBus(object) && objectIn(object.detail))
    return noticeOf([{ name: object['detail-type'], file: object.detail, isEncoded: false }]);
  return undefined;
};

type Entry = { name: unknown; file: unknown; isEncoded: boolean };

const isOfBucket = (record: unknown): record is { eventName: unknown; s3: unknown } => {
  const { eventSource, s3 } = objectIn(record) ?? {};
  return eventSource === 'aws:s3' && objectIn(s3) !== undefined;
};

const noticeOf = (entries: Entry[]): UnwrapResult => {
  // A file that is named twice is read once.
  const objects = new Map<string, NamedObject>();
  for (const { name, file, isEncoded } of entries) {
    if (typeof name !== 'string' || !/^(ObjectCreated:|Object Created$)/.test(name))
      return { problem: safe`is a notice of S3 that names no new object` };
    const { bucket, object } = objectIn(file) ?? {};
    const bucketName = objectIn(bucket)?.name;
    const { key, versionId, 'version-id': version = versionId } = objectIn(object) ?? {};
    const read = typeof key === 'string' ? (isEncoded ? decoded(key) : key) : undefined;
    if (typeof bucketName !== 'string' || !read)
      return { problem: safe`is a notice of S3 that names no bucket and key` };
    const isVersion = typeof version === 'string' && version !== '' && version !== 'null';
    const named = { bucket: bucketName, key: read, versionId: isVersion ? version : undefined };
    objects.set(JSON.stringify(named), named);
    if (objects.size > maxObjects)
      return {
        problem: safe`is a notice of S3 that names more than ${maxObjects} files in Records. Send several notices`,
      };
  }
  return { objects: [...objects.values()] };
};

/** S3 encodes a key as in a form. */
const decoded = (key: string): string | undefined => {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};
