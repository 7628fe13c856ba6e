import { hash } from 'node:crypto';
import { memoryDays } from '../../message/retention.ts';
import { asFirstGiven, identityDigest, isLater, isSameMessage, oldestOf } from '../../message/version.ts';

/** What the ledger knows of one resource. The write that removes its lock also stores the outcome of the lock's attempt. */
export type ResourceState = {
  /** Unique to the attempt that wrote it last. */
  lockId: string;
  /** The attempt that acts now. If the lock's time is over, the function crashed. */
  lock?: Lock | undefined;
  /** Until then, the holder of the lock, or a call without an answer, may still act. */
  busyUntilMs: number;
  /** A field of the message whose call without an answer may still act. */
  busyField?: string | undefined;
  fields: Record<string, FieldState>;
  /**
   * By subresource: digests of the last messages that changed something of it, the last first. Such a message is no newer if it comes
   * again with another time.
   */
  recentMessages: Record<string, readonly string[]>;
};

/** It is to fit into the item's last bytes, so the version and the id of the SQS message are short. */
export type Lock = {
  id: string;
  holder: string;
  replays: number;
  version: string;
  fields: readonly string[];
};

export type FieldState = { done?: DoneChange | undefined; open?: OpenChange | undefined };

/** The newest change that was done. */
export type DoneChange = {
  version: string;
  /** SQS' message id. */
  messageId: string;
  /** When its attempt began. */
  begunMs: number;
  /** Keyed digest of the value. */
  digest?: string | undefined;
};

/** The newest change that was begun and has no outcome. Its message is on its queue, or is a letter that a person decides on. */
export type OpenChange = {
  version: string;
  /** SQS' message id; of a message whose function crashed, a part of it. */
  messageId: string;
  replays: number;
  /** When its first and its last attempt began. */
  sinceMs: number;
  begunMs: number;
  /** How often the function crashed on it. */
  crashes: number;
  /** When the platform answered with a success whose effect it does not show; 0 if it did not. */
  acceptedMs: number;
  /** The platform's answer: JSON, bounded, without secrets. */
  refusal?: string | undefined;
  /** The change must not be done twice: its effect is looked up before it is sent again. */
  isNonRepeatable: boolean;
  /** It has become a letter, and comes back only as a replay. */
  isParked: boolean;
};

export const emptyItem: ResourceState = { lockId: '', busyUntilMs: 0, fields: {}, recentMessages: {} };

export const shortIdLength = 4;

/** Enough to distinguish the SQS messages of one event. */
export const shortId = (messageId: string): string =>
  hash('sha256', messageId, 'base64url').slice(0, shortIdLength);

export const isShortId = (kept: string): boolean => kept.length === shortIdLength;

export const isSameId = (kept: string, messageId: string): boolean =>
  kept === (isShortId(kept) ? shortId(messageId) : messageId);

/** Part of a resource that holds several: what precedes the last slash of a field, as in `object/5001/Name`. */
export const subresourceOf = (field: string): string => field.slice(0, Math.max(0, field.lastIndexOf('/')));

/**
 * The name of a field that contains text of the message: its first word and a digest. It becomes a JSON key, which Node 24 may
 * misread if it needs an escape (nodejs/node#63785), and each item holds it twice.
 */
export const digestedName = (field: string): string =>
  `${field.split('/', 1)[0]}/${hash('sha256', field, 'hex').slice(0, 32)}`;

type FirstVersion = { version: string; isRecent: boolean };

/**
 * Whether a newer message has set the field. A remembered message (`isRecent`) is superseded only if nothing is open: with an open change,
 * `done` may be older than the remembered message.
 */
export const isSuperseded = ({ done, open }: FieldState, { version, isRecent }: FirstVersion): boolean =>
  done !== undefined && (isLater(done.version, version) || (isRecent && open === undefined));

/**
 * The version of a message, with the time that it gave when it first came: a repeated message with a later time is not newer. `isRecent`: it
 * is remembered, but a newer one (open or done) has replaced it in each field.
 */
export const firstVersion = (
  { fields, recentMessages }: ResourceState,
  { version, field = '' }: { version: string; field: string | undefined },
): FirstVersion => {
  for (const { done, open } of Object.values(fields))
    for (const change of [done, open])
      if (change && isSameMessage(change.version, version))
        return { version: asFirstGiven(version, change.version), isRecent: false };
  const recent = recentMessages[subresourceOf(field)] ?? [];
  return { version, isRecent: recent.includes(identityDigest(version)) };
};

/** The item after its lock's time is over: the function crashed, and the changes that the lock's message began are open. */
export const withCrash = (item: ResourceState): ResourceState => {
  const { lock, busyUntilMs, fields } = item;
  if (lock === undefined) return item;
  const first = firstVersion(item, { version: lock.version, field: lock.fields[0] });
  const { version } = first;
  const opened = lock.fields.flatMap((name): [string, FieldState][] => {
    const { done, open } = fields[name] ?? {};
    const { holder: messageId, replays } = lock;
    const isDone = done && isSameMessage(done.version, version);
    if (isDone || isSuperseded({ done, open }, first)) return [];
    const times = { sinceMs: busyUntilMs, begunMs: busyUntilMs };
    const fresh = { ...times, crashes: 0, acceptedMs: 0, isNonRepeatable: false, isParked: false, version };
    const before = open && isSameMessage(open.version, version) ? open : fresh;
    return [[name, { done, open: { ...before, messageId, replays, crashes: before.crashes + 1 } }]];
  });
  const begun = opened.map(([name]) => name);
  const recentMessages = isOverruling(item, begun, version)
    ? { ...item.recentMessages, [subresourceOf(lock.fields[0] ?? '')]: [] }
    : item.recentMessages;
  return {
    ...item,
    lock: undefined,
    fields: { ...fields, ...Object.fromEntries(opened) },
    recentMessages,
  };
};

/** Whether a person has put the message over a newer one. Then it is unknown which earlier messages are older than it. */
export const isOverruling = ({ fields }: ResourceState, names: readonly string[], version: string): boolean =>
  names.some((name) => {
    const { open } = fields[name] ?? {};
    return (
      open !== undefined && !isSameMessage(open.version, version) && isLater(open.version, oldestOf(version))
    );
  });

/** Number of messages about one subresource that are remembered, including the last. */
export const rememberedMessages = 6;

type RecentMessage = { field: string; version: string; overrules: boolean };

export const remembering = (
  recent: ResourceState['recentMessages'],
  { field, version, overrules }: RecentMessage,
): ResourceState['recentMessages'] => {
  const name = subresourceOf(field);
  const digest = identityDigest(version);
  const before = overrules ? [] : (recent[name] ?? []);
  const after = before.includes(digest) ? before : [digest, ...before].slice(0, rememberedMessages);
  return { ...recent, [name]: after };
};

const dayMs = 24 * 3_600_000;

/** Without fields too old to matter: each write keeps the whole item from expiring, so it would grow without bound. */
export const withoutForgotten = (item: ResourceState, nowMs: number): ResourceState => {
  const names = Object.keys(item.fields).filter(
    (name) => newestAttemptMs(item.fields[name] ?? {}) > nowMs - memoryDays * dayMs,
  );
  if (names.length === Object.keys(item.fields).length) return item;
  const subresources = new Set(names.map(subresourceOf));
  return {
    ...item,
    fields: Object.fromEntries(names.map((name) => [name, item.fields[name] ?? {}])),
    recentMessages: Object.fromEntries(
      Object.entries(item.recentMessages).filter(([name]) => subresources.has(name)),
    ),
  };
};

export const newestAttemptMs = ({ done, open }: FieldState): number =>
  Math.max(done?.begunMs ?? 0, open?.begunMs ?? 0);

/** The last change of a field, for those who compare the platform with it. */
export type FieldChange = (DoneChange & { outcome: 'done' }) | (OpenChange & { outcome: 'open' });

/** Also what the lock's holder is about to change. */
export const changesIn = (item: ResourceState): Record<string, FieldChange> => {
  const changes: Record<string, FieldChange> = {};
  for (const [name, { done, open }] of Object.entries(withCrash(item).fields)) {
    if (open) changes[name] = { ...open, outcome: 'open' };
    else if (done) changes[name] = { ...done, outcome: 'done' };
  }
  return changes;
};
