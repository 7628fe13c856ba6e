import { withoutSource } from '../../message/version.ts';
import { type Attributes, attribute } from '../../runtime/aws/dynamodb.ts';
import {
  type DoneChange,
  type FieldState,
  type Lock,
  type OpenChange,
  type ResourceState,
  rememberedMessages,
  shortIdLength,
} from './item.ts';

// How an item is kept: in the attributes of 1.0.0, so that a deployment can go back to it.

/** The attributes that belong to no field. */
export const stored = {
  lockId: 'claimId',
  busyUntilMs: 'graceEndsMs',
  /** Of 1.0.0, which must look at the fields until then. Here it marks that something is open. */
  openUntilMs: 'heldMs',
  /** Of 1.0.0. */
  leaseMs: 'leaseMs',
} as const;

/**
 * Each field has two attributes: its version, and the rest as JSON. A done change has its version without the source, because a write is
 * billed by the KiB: 1.0.0 recognizes such a message by the remembered messages. An open change has the whole version, because 1.0.0 needs
 * it to try the message again.
 */
export const versionName = (field: string): string => `v_${field}`;
export const stateName = (field: string): string => `s_${field}`;
/** Each remembered message has an attribute. */
const recentName = (at: number, subresource: string): string =>
  subresource === '' ? `i${at}` : `i${at}_${subresource}`;
const readRecentName = /^i(\d)(?:_(.+))?$/s;
/** Of 1.0.0: in the place of a message that does not exist yet. */
const nobody = '-';

/** Of the newest change of a field. Members with a default are written only if they differ from it. */
type State = {
  /** Empty: as in another field that the same message has changed. */
  messageId: string;
  /** Missing: of a lock's holder that must not be sent twice, or of a claim of 1.0.0. `undone`: of 1.0.0; it had no effect. */
  outcome?: 'done' | 'unknown' | 'undone';
  claimedMs: number;
  attemptedMs?: number | undefined;
  acceptedMs?: number | undefined;
  crashes?: number | undefined;
  replays?: number | undefined;
  refusal?: string | undefined;
  digest?: string | undefined;
  once?: true | undefined;
  parked?: true | undefined;
  /** The change that was done before this open one. 1.0.0 writes no version and no id. */
  stands?: { claimedMs: number; digest: string; version?: string; messageId?: string } | null;
};

export const encodeItem = (item: ResourceState): Attributes => {
  const [only, ...others] = Object.keys(item.fields);
  const values: Record<string, string | number> = {
    [stored.lockId]: item.lockId,
    [stored.busyUntilMs]: item.busyUntilMs,
    // 1.0.0 reads these.
    [stored.leaseMs]: 0,
    ...(only !== undefined && others.length === 0 && { last: only }),
    ...(item.lock && { lock: encodeLock(item.lock) }),
    ...(item.busyField !== undefined && { last: item.busyField }),
  };
  const written = new Set<string>();
  for (const [name, { done, open }] of Object.entries(item.fields)) {
    const version = open?.version ?? (done && withoutSource(done.version));
    if (version === undefined) continue;
    values[versionName(name)] = version;
    values[stateName(name)] = JSON.stringify(
      open ? openState(open, done) : doneState(done, written.has(version)),
    );
    written.add(version);
    if (open)
      values[stored.openUntilMs] = Math.max(
        Number(values[stored.openUntilMs] ?? 0),
        open.begunMs + 3_600_000,
      );
  }
  for (const [subresource, digests] of Object.entries(item.recentMessages))
    for (let at = 0; at < rememberedMessages; at += 1)
      values[recentName(at, subresource)] = digests[at] ?? nobody;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, attribute(value)]));
};

const doneState = (done: DoneChange | undefined, isWritten: boolean): State => ({
  messageId: done === undefined || isWritten ? '' : done.messageId,
  outcome: 'done',
  claimedMs: done?.begunMs ?? 0,
  digest: done?.digest,
});

const openState = (open: OpenChange, done: DoneChange | undefined): State => ({
  messageId: open.messageId,
  outcome: 'unknown',
  claimedMs: open.begunMs,
  attemptedMs: open.sinceMs === open.begunMs ? undefined : open.sinceMs,
  acceptedMs: open.acceptedMs || undefined,
  crashes: open.crashes || undefined,
  replays: open.replays || undefined,
  refusal: open.refusal,
  ...(open.isNonRepeatable && { once: true }),
  ...(open.isParked && { parked: true }),
  stands: done
    ? {
        claimedMs: done.begunMs,
        digest: done.digest ?? '',
        version: done.version,
        messageId: done.messageId,
      }
    : null,
});

/** For 1.0.0: the change that the lock's holder is about to make, if it must not be made twice. */
export const encodeBegun = (messageId: string, { begunMs, replays }: { begunMs: number; replays: number }) =>
  JSON.stringify({
    messageId,
    claimedMs: begunMs,
    replays: replays || undefined,
    once: true,
  } satisfies State);

/** As in `x7Qe1 grade comments`, and the version in a line of its own, as that may hold any character. */
export const encodeLock = ({ holder, replays, fields, version }: Omit<Lock, 'id'>): string =>
  `${holder}${replays || ''} ${fields.join(' ')}\n${packed(version)}`;

/** The time without what all times have, as in `20260131093000123`: a write is billed by the KiB. */
const packed = (version: string): string =>
  version.replace(/^\d{4}-.{24}/, (time) => time.replace(/\D/g, '').replace(/0{1,9}$/, ''));

const unpacked = (version: string): string =>
  version.replace(/^\d+/, (digits) =>
    digits.padEnd(23, '0').replace(/^(.{4})(..)(..)(..)(..)(..)(.{9})$/, '$1-$2-$3T$4:$5:$6.$7'),
  );

const decodeLock = (id: string, text: string): Lock => {
  const end = text.indexOf('\n');
  const [by = '', ...fields] = text.slice(0, end).split(' ');
  const [holder, replays] = [by.slice(0, shortIdLength), Number(by.slice(shortIdLength))];
  return { id, holder, replays, fields, version: unpacked(text.slice(end + 1)) };
};

/** Those of 1.0.0 are longer. It leaves a lock where it is when it writes a claim of its own. */
export const lockIdLength = 6;

/** Undefined if it has expired: DynamoDB may take days to remove it. */
export const decodeItem = (raw: Attributes | undefined, nowMs: number): ResourceState | undefined => {
  if (raw === undefined || Number(raw.expires?.N) < Math.floor(nowMs / 1000)) return undefined;
  const lockId = raw[stored.lockId]?.S ?? '';
  const busyUntilMs = Number(raw[stored.busyUntilMs]?.N ?? 0);
  const isOurs = raw.lock?.S !== undefined && lockId.length === lockIdLength;
  return {
    lockId,
    lock: isOurs ? decodeLock(lockId, raw.lock?.S ?? '') : undefined,
    busyUntilMs,
    busyField: busyUntilMs > nowMs ? raw.last?.S : undefined,
    fields: fieldsIn(raw, nowMs),
    recentMessages: recentIn(raw),
  };
};

const fieldsIn = (raw: Attributes, nowMs: number): ResourceState['fields'] => {
  const fields: ResourceState['fields'] = {};
  const ids = new Map<string, string>();
  for (const [name, { S: version = '' }] of Object.entries(raw)) {
    if (!name.startsWith('v_')) continue;
    const field = name.slice(2);
    const state: State = JSON.parse(raw[stateName(field)]?.S ?? '{}');
    if (state.messageId) ids.set(version, state.messageId);
    fields[field] = fieldOf(version, state, nowMs);
  }
  for (const { done } of Object.values(fields)) if (done) done.messageId ||= ids.get(done.version) ?? '';
  return fields;
};

/**
 * A claim of 1.0.0 without an ending counts as done an hour after it was made: 1.0.0 wrote none for a success that may be repeated.
 * Can go with the first version that does not update from 1.0.0.
 */
const countsAsDoneAfterMs = 3_600_000;

const fieldOf = (version: string, state: State, nowMs: number): FieldState => {
  const { messageId, claimedMs, digest, once = false, stands, outcome } = state;
  const countsAsDone = outcome === undefined && !once && nowMs - claimedMs >= countsAsDoneAfterMs;
  if (outcome === 'done' || countsAsDone) return { done: { version, messageId, begunMs: claimedMs, digest } };
  const { version: before = '', messageId: by = '', ...last } = stands ?? { claimedMs: 0, digest: '' };
  const done = stands
    ? { version: before, messageId: by, begunMs: last.claimedMs, digest: last.digest || undefined }
    : undefined;
  if (outcome === 'undone') return { done };
  const {
    attemptedMs = claimedMs,
    acceptedMs = 0,
    crashes = 0,
    replays = 0,
    refusal,
    parked = false,
  } = state;
  return {
    done,
    open: {
      version,
      messageId,
      replays,
      sinceMs: attemptedMs,
      begunMs: claimedMs,
      crashes,
      acceptedMs,
      refusal,
      isNonRepeatable: once,
      isParked: parked,
    },
  };
};

const recentIn = (raw: Attributes): ResourceState['recentMessages'] => {
  const recent: Record<string, string[]> = {};
  // The names contain numbers, which sort them.
  for (const name of Object.keys(raw).sort()) {
    const [, at, subresource = ''] = readRecentName.exec(name) ?? [];
    const digest = raw[name]?.S ?? nobody;
    if (at === undefined || digest === nobody) continue;
    recent[subresource] ??= [];
    recent[subresource].push(digest);
  }
  return recent;
};
