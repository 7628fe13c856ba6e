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

/** The outcome of the message that claimed a field last. Members with a default are written only if they differ from it. */
const writtenSchema = z.object({
  /** SQS' message id. */
  messageId: z.string(),
  /**
   * `claimed`: no ending is written, as for a success that may be repeated. `undone`: it had no effect, and the earlier content is
   * not known.
   */
  outcome: z.enum(['claimed', 'done', 'undone', 'unknown']).default('claimed'),
  claimedMs: z.number(),
  /** When the first attempt that left no outcome began; default: `claimedMs`. */
  attemptedMs: z.number().optional(),
  /** When the platform answered with a success whose effect it does not show; 0 if it did not. */
  acceptedMs: z.number().default(0),
  crashes: z.number().default(0),
  replays: z.number().default(0),
  /** The platform's answer to an attempt that left no outcome: JSON, bounded, without secrets. */
  refusal: z.string().optional(),
  /** Keyed digest of the intended value. */
  digest: z.string().optional(),
  /** The claim before it intended the same value: seeing that value proves nothing. */
  repeats: z.literal(true).optional(),
  /** It must not be done twice: its effect is looked up if its attempt left no outcome. */
  once: z.literal(true).optional(),
  /**
   * Of a claim that left no outcome or had no effect: the last claim before it that was done, or is presumed done. Null: there was
   * none, or it has no digest. Undefined: not known, as the function died on a claim that was written without reading the item.
   */
  stands: z.object({ claimedMs: z.number(), digest: z.string() }).nullable().optional(),
});
const stateSchema = writtenSchema.transform((state) => ({
  ...state,
  attemptedMs: state.attemptedMs ?? state.claimedMs,
}));

export type Field = z.infer<typeof stateSchema> & { version: string };

/** The known state of one resource: the lock of the claim that stands, and the last claim of each field. */
export type Item = {
  /** Unique to the claim that wrote it. */
  claimId: string;
  /** End of the time in which the claiming attempt may be running. */
  leaseMs: number;
  /** End of the time in which something that was sent may still act. */
  graceEndsMs: number;
  /** Until then, a claim that holds nothing itself needs a look at the fields: it may hide an effect that is looked up. */
  heldMs: number;
  /** One of the fields that the claim took. */
  last: string;
  fields: Record<string, Field>;
  /**
   * By thing of the resource: digests of the last messages that claimed something of it and are not known to be undone, the last
   * first. Such a message is no newer if it comes again with another time.
   */
  seen: Record<string, readonly string[]>;
};

/** The ledger's table. Each write is conditional and can be sent twice without harm. */
export type LedgerTable = {
  read(resource: string): Promise<Item | undefined>;
  /**
   * Claims the fields if they are free: nothing is known of them, or only older versions that can no longer act; the message was
   * not seen before; and nothing is held. Returns what was there before, or what is in the way. `mustBeKnown`: a field of which
   * nothing is known is not free.
   * @throws if our clock differs from DynamoDB's; then the claim may have been written.
   */
  claim(
    resource: string,
    item: Item,
    options: { mustBeKnown: boolean },
  ): Promise<{ won: boolean; item: Item | undefined }>;
  /**
   * Replaces the expected claim with an item; false: that claim is no longer there. `partial`: other fields may exist, which stay,
   * as do the messages that were seen, and what is held.
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
 * Leases and grace periods are measured by the clocks of the containers that claim. Two clocks that differ from DynamoDB's by this
 * much at most take a third of a grace period from each other.
 */
const maxClockDifferenceMs = 10_000;

const lockNames = ['claimId', 'leaseMs', 'graceEndsMs', 'last'] as const;
/** Written only if it is not 0: few resources have one. */
const heldName = 'heldMs';
/** Each field has two attributes: its version, for conditions, and the rest as JSON. */
const versionName = (field: string): string => `v_${field}`;
const stateName = (field: string): string => `s_${field}`;
/** Each seen message has its own attribute, so that one write can shift all of them without knowing them. */
const seenName = (at: number, thing: string): string => (thing === '' ? `i${at}` : `i${at}_${thing}`);
const readSeenName = /^i(\d)(?:_(.+))?$/s;
/** Placeholder for a message that does not exist yet. */
const nobody = '-';

/** The partition key is `resource`, the time to live is `expires`. */
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

  /** Leaves other attributes as they are. `seen`: a further message, behind which the others are shifted. */
  const update = (resource: string, { item, condition, given, seen }: Write, more: object = {}) => {
    const names: Record<string, string> = {};
    const values = valuesOf(given);
    const settings: string[] = [];
    // By number, because a field's name may hold any character.
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

  /**
   * Writes the whole item, with all that was seen: an expression that names each field is limited to 4 KB, which is about 160
   * fields.
   */
  const put = (resource: string, { item, condition, given }: Write) => {
    const written = [...writtenOf(item), ...seenOf(item)].map(([name, value]) => [name, attribute(value)]);
    return dynamodb.call('PutItem', {
      TableName: table,
      Item: { ...Object.fromEntries(written), resource: { S: resource } },
      ConditionExpression: condition,
      ExpressionAttributeValues: valuesOf(given),
    });
  };

  /** By the last answer; if there was none yet, the claim's own answer shows the difference. */
  const checkClock = (): void => {
    const differsByMs = dynamodb.clockDiffersByMs();
    if (differsByMs > maxClockDifferenceMs) throw new ClockDiffersError(differsByMs);
  };

  /** DynamoDB may take days to remove what has expired. */
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
        // An item may be full that was written before its size was bounded: its reader makes room.
        return { done: false, before: await readRaw(resource) };
      });
      checkClock();
      return { won, item: known(before) };
    },
    // The second half is for a write that is sent again because its answer was lost.
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

type Seen = { thing: string; digest: string };

const seenFirst = ({ seen }: Item): Seen | undefined =>
  Object.entries(seen).flatMap(([thing, [digest]]) => (digest === undefined ? [] : { thing, digest }))[0];

/** Names of the seen messages' attributes in an expression. */
const seenKeys = Array.from({ length: rememberedMessages }, (_, at) => `#seen${at}`);
const isUnseen = `NOT (${seenKeys.map((key) => `${key} = :seen`).join(' OR ')})`;
const movingOn = seenKeys.slice(1).map((key, at) => `${key} = if_not_exists(${seenKeys[at]}, :nobody)`);

const seenNames = (thing: string): Record<string, string> =>
  Object.fromEntries(seenKeys.map((key, at) => [key, seenName(at, thing)]));

/** As DynamoDB counts them, including the messages that were seen. */
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

/** A write is billed by the KiB, which the three fields of a grade would fill. */
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

/** Written before names were digests; only for creations. */
const nowNamed = (field: string): string =>
  /^created\/(?:.*\/|[\w-]{43}$)/s.test(field) ? digestedName(field) : field;

/** Also reads items that were written when names and versions were not shortened: claims compare the short ones. */
const fieldsIn = (raw: Attributes): Item['fields'] => {
  const fields: Item['fields'] = {};
  for (const [name, version] of Object.entries(raw)) {
    if (!name.startsWith(versionName(''))) continue;
    const written = name.slice(versionName('').length);
    const field = nowNamed(written);
    // A later claim under the short name holds.
    if (field !== written && raw[versionName(field)] !== undefined) continue;
    const state = stateIn(raw, written);
    fields[field] = { ...state, version: boundedVersion(version.S ?? '') };
  }
  return fields;
};

const stateIn = (raw: Attributes, field: string): Omit<Field, 'version'> =>
  stateSchema.parse(JSON.parse(raw[stateName(field)]?.S ?? '{}'));

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
  // The names contain numbers, which sort them.
  for (const name of Object.keys(raw).sort()) {
    const [, at, thing = ''] = readSeenName.exec(name) ?? [];
    const digest = raw[name]?.S ?? nobody;
    if (at !== undefined && digest !== nobody) seen[thing] = [...(seen[thing] ?? []), digest];
  }
  return seen;
};
