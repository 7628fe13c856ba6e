import * as z from 'zod';
import { memoryDays } from '../../message/retention.ts';
import {
  type Attributes,
  attribute,
  type DynamoDb,
  tellingWhatWasThere,
  unlessRefused,
  whatWasThere,
} from '../../runtime/aws/dynamodb.ts';
import { ClockDiffersError, errorName } from '../../runtime/aws/error.ts';
import { boundedVersion, digestedName, rememberedMessages } from './identity.ts';

/** What became of the message that claimed a field last. Members with a default are written only where they differ from it. */
const writtenSchema = z.object({
  /** SQS' id. */
  messageId: z.string(),
  /**
   * `claimed`: no ending is written, as of a success that may be repeated. `undone`: it had no effect, and what stood there
   * before is not known.
   */
  outcome: z.enum(['claimed', 'done', 'undone', 'unknown']).default('claimed'),
  /** When it was claimed last. */
  claimedMs: z.number(),
  /** When the first attempt that left no outcome began; default: when it was claimed last. */
  attemptedMs: z.number().optional(),
  /** When the platform answered with a success whose effect it does not show; 0: it did not. */
  acceptedMs: z.number().default(0),
  crashes: z.number().default(0),
  replays: z.number().default(0),
  /** What the platform said when an attempt left no outcome: JSON, bounded, without secrets. */
  refusal: z.string().optional(),
  /** Keyed digest of the value that it was to set. */
  digest: z.string().optional(),
  /** The claim before it was to set the same value: to see that value proves nothing. */
  repeats: z.literal(true).optional(),
  /** It must not be done twice, so what was done is looked for where its attempt left no outcome. */
  once: z.literal(true).optional(),
});
const stateSchema = writtenSchema.transform((state) => ({
  ...state,
  attemptedMs: state.attemptedMs ?? state.claimedMs,
}));

/** The last claim of one field. */
export type Field = z.infer<typeof stateSchema> & { version: string };

/** What is known of one resource: the lock of the claim that stands, and the last claim of each field. */
export type Item = {
  /** Of the claim that wrote it: no two are the same. */
  claimId: string;
  /** Until when whoever claimed it may be at work. */
  leaseMs: number;
  /** Until when something that was sent may still act. */
  graceEndsMs: number;
  /** Until when no claim that holds nothing itself is won without a look at the fields: it may hide what is looked for. */
  heldMs: number;
  /** One of the fields that the claim took. */
  last: string;
  fields: Record<string, Field>;
  /**
   * By thing of the resource, digests of the last messages that have claimed something of it and were not seen to be undone, the last
   * one first. What time such a message gives when it comes again makes it no newer.
   */
  seen: Record<string, readonly string[]>;
};

/** The ledger's table. Each write is conditional, and every one of them can be sent twice without harm. */
export type LedgerTable = {
  read(resource: string): Promise<Item | undefined>;
  /**
   * Claims these fields where they are free: nothing known of them, or older versions of which nothing can act any more, the message
   * itself not seen before, and nothing held. Tells what was there before, or what is in the way. `mustBeKnown`: a field of which nothing is
   * known is not free. @throws where our clock differs from DynamoDB's; then the claim may have been written.
   */
  claim(
    resource: string,
    item: Item,
    options: { mustBeKnown: boolean },
  ): Promise<{ won: boolean; item: Item | undefined }>;
  /**
   * Puts an item in the place of the claim that is expected there; false: it is there no longer. `partial`: there may be more
   * fields than these, which stay, as do the messages that were seen, and what is held.
   */
  replace(resource: string, change: Change): Promise<boolean>;
};

export type Change = { expected: Item; next: Item; partial?: boolean };

export type LedgerTableOptions = {
  dynamodb: DynamoDb;
  table: string;
  nowMs(): number;
};

/**
 * Leases and grace periods are told by the clocks of those who claim. Two that differ from DynamoDB's by this much at most take a third
 * of a grace period from each other.
 */
const maxClockDifferenceMs = 10_000;

const lockNames = ['claimId', 'leaseMs', 'graceEndsMs', 'last'] as const;
/** It is written only where it is not 0: few resources have one. */
const heldName = 'heldMs';
/** Each field has two attributes: its version, for conditions, and the rest as JSON. */
const versionName = (field: string): string => `v_${field}`;
const stateName = (field: string): string => `s_${field}`;
/** Each message that was seen has an attribute, so that one write can move all of them on without knowing them. */
const seenName = (at: number, thing: string): string => (thing === '' ? `i${at}` : `i${at}_${thing}`);
const readSeenName = /^i(\d)(?:_(.+))?$/s;
/** In place of a message where there is none yet to be moved on. */
const nobody = '-';

/** The table in DynamoDB: its partition key is `resource`, its time to live is in `expires`. */
export const createLedgerTable = ({ dynamodb, table, nowMs }: LedgerTableOptions): LedgerTable => {
  const nowSeconds = () => Math.floor(nowMs() / 1000);

  type Write = {
    item: Item;
    condition: string;
    given: Record<string, string | number>;
    seen?: Seen | undefined;
  };

  const writtenOf = (item: Item) => [
    ...attributesOf(item),
    ['expires', nowSeconds() + memoryDays * 24 * 3600] as const,
  ];
  const valuesOf = (given: Write['given']): Attributes => {
    const values: Attributes = {};
    for (const [name, value] of Object.entries(given)) values[`:${name}`] = attribute(value);
    return values;
  };

  /** Leaves what it does not write as it is. `seen`: a message more, behind which the others move on. */
  const update = (resource: string, { item, condition, given, seen }: Write, more: object = {}) => {
    const names: Record<string, string> = {};
    const values = valuesOf(given);
    const settings: string[] = [];
    // By number, as a field's name may hold anything.
    for (const [name, value] of writtenOf(item)) {
      const at = settings.length;
      names[`#${at}`] = name;
      values[`:${at}`] = attribute(value);
      settings.push(`#${at} = :${at}`);
    }
    if (seen) {
      Object.assign(names, seenNames(seen.thing));
      Object.assign(values, { ':seen': attribute(seen.digest), ':nobody': attribute(nobody) });
      // DynamoDB evaluates each of these against the item as it was before the update.
      settings.push('#seen0 = :seen', ...movingOn);
    }
    return dynamodb.call('UpdateItem', {
      TableName: table,
      Key: { resource: { S: resource } },
      UpdateExpression: `SET ${settings.join(', ')}`,
      ConditionExpression: condition,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: values,
      ...more,
    });
  };

  /** The whole item, with all that was seen: an expression that names each of its fields may be of 4 KB at most, so of some 160 fields. */
  const put = (resource: string, { item, condition, given }: Write) => {
    const written = [...writtenOf(item), ...seenOf(item)].map(([name, value]) => [name, attribute(value)]);
    return dynamodb.call('PutItem', {
      TableName: table,
      Item: { ...Object.fromEntries(written), resource: { S: resource } },
      ConditionExpression: condition,
      ExpressionAttributeValues: valuesOf(given),
    });
  };

  /** By the last answer: where there was none yet, the claim's own tells. */
  const checkClock = (): void => {
    const differsByMs = dynamodb.clockDiffersByMs();
    if (differsByMs > maxClockDifferenceMs) throw new ClockDiffersError(differsByMs);
  };

  /** DynamoDB takes its time, up to days, to remove what has expired. */
  const known = (raw: Attributes | undefined): Item | undefined =>
    raw === undefined || Number(raw.expires?.N) < nowSeconds() ? undefined : itemIn(raw);

  const readRaw = async (resource: string): Promise<Attributes | undefined> => {
    const Key = { resource: { S: resource } };
    const { Item } = await dynamodb.call('GetItem', { TableName: table, Key, ConsistentRead: true });
    return Item;
  };

  return {
    read: async (resource) => known(await readRaw(resource)),
    claim: async (resource, item, { mustBeKnown }) => {
      const fields = Object.keys(item.fields);
      // The fields' attributes are written after the lock's, version first.
      const versionAt = (at: number): string => `${lockNames.length + 2 * at}`;
      const isOlder = (at: number): string => `#${versionAt(at)} < :${versionAt(at)}`;
      const isFree = fields.map((_, at) =>
        mustBeKnown ? isOlder(at) : `(attribute_not_exists(#${versionAt(at)}) OR ${isOlder(at)})`,
      );
      const seen = seenFirst(item);
      const overOlder = [
        'graceEndsMs <= :nowMs',
        ...(item.heldMs > 0 ? [] : [`NOT ${heldName} > :nowMs`]),
        ...isFree,
        ...(seen ? [isUnseen] : []),
      ].join(' AND ');
      const condition = mustBeKnown
        ? `expires >= :now AND ${overOlder}`
        : `attribute_not_exists(claimId) OR expires < :now OR (${overOlder})`;
      const given = { now: nowSeconds(), nowMs: nowMs() };
      const write = () => update(resource, { item, condition, given, seen }, tellingWhatWasThere);
      checkClock();
      const { done: won, before } = await whatWasThere(write).catch(async (error: unknown) => {
        if (!isTooLarge(error)) throw error;
        // As one may be that was written when nothing bounded it: whoever reads it makes room.
        return { done: false, before: await readRaw(resource) };
      });
      checkClock();
      return { won, item: known(before) };
    },
    // The second half is for a write that is sent again because its answer got lost.
    replace: async (resource, { expected, next, partial = false }) => {
      const write = partial ? update : put;
      const condition = 'claimId = :expected OR claimId = :next';
      const given = { expected: expected.claimId, next: next.claimId };
      const answer = await unlessRefused(() => write(resource, { item: next, condition, given }));
      return answer !== undefined;
    },
  };
};

const isTooLarge = (error: unknown): boolean =>
  errorName(error) === 'ValidationException' && /^Item size/.test((error as Error).message);

/** A message, and what of the resource it is about. */
type Seen = { thing: string; digest: string };

const seenFirst = ({ seen }: Item): Seen | undefined =>
  Object.entries(seen).flatMap(([thing, [digest]]) => (digest === undefined ? [] : { thing, digest }))[0];

/** Names of the seen messages' attributes in an expression. */
const seenKeys = Array.from({ length: rememberedMessages }, (_, at) => `#seen${at}`);
const isUnseen = `NOT (${seenKeys.map((key) => `${key} = :seen`).join(' OR ')})`;
const movingOn = seenKeys.slice(1).map((key, at) => `${key} = if_not_exists(${seenKeys[at]}, :nobody)`);

const seenNames = (thing: string): Record<string, string> =>
  Object.fromEntries(seenKeys.map((key, at) => [key, seenName(at, thing)]));

/** As DynamoDB counts them, the messages that were seen included. */
export const itemBytes = (item: Item): number => {
  let bytes = 0;
  for (const [name, value] of [...attributesOf(item), ...seenOf(item)])
    bytes += Buffer.byteLength(name) + Buffer.byteLength(String(value));
  return bytes;
};

const seenOf = ({ seen }: Item): (readonly [string, string])[] =>
  Object.entries(seen).flatMap(([thing, digests]) =>
    digests.map((digest, at) => [seenName(at, thing), digest] as const),
  );

const attributesOf = (item: Item): (readonly [string, string | number])[] => [
  ...lockNames.map((name) => [name, item[name]] as const),
  ...Object.entries(item.fields).flatMap(([field, { version, ...state }]) => [
    [versionName(field), version] as const,
    [stateName(field), JSON.stringify(withoutDefaults(state))] as const,
  ]),
  ...(item.heldMs > 0 ? [[heldName, item.heldMs] as const] : []),
];

/** A write is paid for by the KiB, which the three fields of a grade would fill. */
const withoutDefaults = ({ outcome, attemptedMs, ...state }: z.infer<typeof stateSchema>): object => ({
  ...Object.fromEntries(Object.entries(state).filter(([, value]) => value !== 0 && value !== undefined)),
  ...(outcome !== 'claimed' && { outcome }),
  ...(attemptedMs !== state.claimedMs && { attemptedMs }),
});

export const itemIn = (raw: Attributes): Item => ({
  claimId: raw.claimId?.S ?? '',
  leaseMs: Number(raw.leaseMs?.N ?? 0),
  graceEndsMs: Number(raw.graceEndsMs?.N ?? 0),
  heldMs: Number(raw[heldName]?.N ?? 0),
  last: nowNamed(raw.last?.S ?? ''),
  fields: fieldsIn(raw),
  seen: seenIn(raw),
});

/** Written before names were digests, of creations alone. */
const nowNamed = (field: string): string =>
  /^created\/(?:.*\/|[\w-]{43}$)/s.test(field) ? digestedName(field) : field;

/** Also of an item that was written when names and versions were as long as a message's: whoever claims them compares the short ones. */
const fieldsIn = (raw: Attributes): Item['fields'] => {
  const fields: Item['fields'] = {};
  for (const [name, version] of Object.entries(raw)) {
    if (!name.startsWith(versionName(''))) continue;
    const written = name.slice(versionName('').length);
    const field = nowNamed(written);
    // What was claimed since under the short name holds.
    if (field !== written && raw[versionName(field)] !== undefined) continue;
    const state = stateIn(raw, written);
    fields[field] = { ...state, version: boundedVersion(version.S ?? '') };
  }
  return fields;
};

const stateIn = (raw: Attributes, field: string): Omit<Field, 'version'> =>
  stateSchema.parse(JSON.parse(raw[stateName(field)]?.S ?? '{}'));

/** What the last claims of some fields have written. */
export type Written = { claimId: string; fields: Record<string, Omit<Field, 'version'>> };

/** The attributes of an item that `writtenIn` reads. */
export const attributesOfWritten = (fields: readonly string[]): string[] => [
  'resource',
  'expires',
  'claimId',
  ...fields.map(stateName),
];

export const writtenIn = (raw: Attributes, fields: readonly string[]): Written => ({
  claimId: raw.claimId?.S ?? '',
  fields: Object.fromEntries(
    fields.flatMap((field) => (stateName(field) in raw ? [[field, stateIn(raw, field)]] : [])),
  ),
});

const seenIn = (raw: Attributes): Item['seen'] => {
  const seen: Item['seen'] = {};
  // Their numbers sort them.
  for (const name of Object.keys(raw).sort()) {
    const [, at, thing = ''] = readSeenName.exec(name) ?? [];
    const digest = raw[name]?.S ?? nobody;
    if (at !== undefined && digest !== nobody) seen[thing] = [...(seen[thing] ?? []), digest];
  }
  return seen;
};
