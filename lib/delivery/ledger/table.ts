import { memoryDays } from '../../message/retention.ts';
import {
  attribute,
  returningOldItem,
  undefinedIfConditionFails,
  writeReturningOldItem,
} from '../../runtime/aws/dynamodb.ts';
import type { QuickDynamoDb } from '../../runtime/aws/dynamodb-quick.ts';
import { ClockDiffersError } from '../../runtime/aws/error.ts';
import { decodeItem, encodeBegun, encodeItem, encodeLock, stateName, stored, versionName } from './codec.ts';
import { emptyItem, type Lock, type ResourceState } from './item.ts';

/** The ledger's table, as it is written. Each write is conditional and can be sent twice without harm. */
export type LedgerTable = {
  /**
   * Locks the resource if it is free and nothing of it is open. Returns what stood there; undefined: it expired meanwhile.
   * @throws if our clock differs from DynamoDB's; then the lock may have been written.
   */
  take(resource: string, taking: LockRequest): Promise<{ isTaken: boolean; item: ResourceState | undefined }>;
  /** Writes the item if the expected lock, or its own, was written last. False: another attempt has written since. */
  replace(resource: string, expectedLockId: string, item: ResourceState): Promise<boolean>;
  /** Gives a lock back that `take` has written. Nothing was done. */
  release(resource: string, taking: LockRequest): Promise<void>;
};

export type LockRequest = {
  lock: Lock;
  untilMs: number;
  /** If the message must not be sent twice, the lock records that its attempt has begun: 1.0.0 needs that after a deployment goes back to it. */
  begun?: { field: string; version: string; messageId: string; begunMs: number; replays: number } | undefined;
};

/**
 * Locks are measured by the clocks of the containers. Two containers' clocks may each differ from DynamoDB's by this much.
 * Together that is a third of the minute in which an unanswered call may still take effect.
 */
const maxClockDifferenceMs = 10_000;

type Options = { dynamodb: QuickDynamoDb; table: string; nowMs(): number };

const { lockId, busyUntilMs, openUntilMs, leaseMs } = stored;

export const keyOf = (resource: string) => ({ resource: { S: resource } });

/** The partition key is `resource`, the time to live is `expires`. */
export const createLedgerTable = ({ dynamodb, table: TableName, nowMs }: Options): LedgerTable => {
  const nowSeconds = () => Math.floor(nowMs() / 1000);
  const expires = () => attribute(nowSeconds() + memoryDays * 24 * 3600);

  /** By the last answer; if there was none yet, the write's own answer shows the difference. */
  const checkClock = (): void => {
    const differsByMs = dynamodb.clockDiffersByMs();
    if (differsByMs > maxClockDifferenceMs) throw new ClockDiffersError(differsByMs);
  };

  return {
    take: async (resource, { lock, untilMs, begun }) => {
      const update = {
        TableName,
        Key: keyOf(resource),
        UpdateExpression: `SET ${lockId} = :id, ${busyUntilMs} = :until, #lock = :lock, expires = :expires${begun ? `, ${leaseMs} = :until, #version = :version, #state = :state` : ''}`,
        ConditionExpression: `attribute_not_exists(${lockId}) OR expires < :now OR (${busyUntilMs} <= :nowMs AND attribute_not_exists(#lock) AND attribute_not_exists(${openUntilMs})${begun ? ' AND attribute_not_exists(#version)' : ''})`,
        ExpressionAttributeNames: namesOf(begun),
        ExpressionAttributeValues: {
          ':id': attribute(lock.id),
          ':until': attribute(untilMs),
          ':lock': attribute(encodeLock(lock)),
          ':expires': expires(),
          ':now': attribute(nowSeconds()),
          ':nowMs': attribute(nowMs()),
          ...(begun && {
            ':version': attribute(begun.version),
            ':state': attribute(encodeBegun(begun.messageId, begun)),
          }),
        },
        ...returningOldItem,
      };
      checkClock();
      const { done, before } = await writeReturningOldItem(() => dynamodb.call('UpdateItem', update));
      checkClock();
      const item = decodeItem(before, nowMs());
      if (done) return { isTaken: true, item: item ?? emptyItem };
      // A write whose answer was lost is sent again: then the first write is in the way of the second.
      if (item?.lock?.id === lock.id) return { isTaken: true, item: beforeTaking(item, begun?.field) };
      return { isTaken: false, item };
    },
    replace: async (resource, expectedLockId, item) => {
      const put = {
        TableName,
        Item: { ...encodeItem(item), ...keyOf(resource), expires: expires() },
        // The second half is for a write that is sent again because its answer was lost.
        ConditionExpression: `${lockId} = :expected OR ${lockId} = :own`,
        ExpressionAttributeValues: {
          ':expected': attribute(expectedLockId),
          ':own': attribute(item.lockId),
        },
      };
      return (await undefinedIfConditionFails(() => dynamodb.call('PutItem', put))) !== undefined;
    },
    release: async (resource, { lock, begun }) => {
      const update = {
        TableName,
        Key: keyOf(resource),
        UpdateExpression: `SET ${busyUntilMs} = :until REMOVE #lock${begun ? ', #version, #state' : ''}`,
        ConditionExpression: `${lockId} = :id`,
        ExpressionAttributeNames: namesOf(begun),
        ExpressionAttributeValues: { ':id': attribute(lock.id), ':until': attribute(0) },
      };
      await undefinedIfConditionFails(() => dynamodb.call('UpdateItem', update));
    },
  };
};

/** `lock` is a reserved word, and a field's name may hold any character. */
const namesOf = (begun: LockRequest['begun']) => ({
  '#lock': 'lock',
  ...(begun && { '#version': versionName(begun.field), '#state': stateName(begun.field) }),
});

const beforeTaking = (item: ResourceState, begun: string | undefined): ResourceState => {
  const { [begun ?? '']: _, ...fields } = item.fields;
  return { ...item, lock: undefined, busyUntilMs: 0, fields };
};
