import {
  decodeItem,
  encodeBegun,
  encodeItem,
  encodeLock,
  stateName,
  versionName,
} from '../../lib/delivery/ledger/codec.ts';
import { emptyItem, type ResourceState } from '../../lib/delivery/ledger/item.ts';
import type { LedgerTable, LockRequest } from '../../lib/delivery/ledger/table.ts';
import { type Attributes, attribute } from '../../lib/runtime/aws/dynamodb.ts';

/** What the ledger's table does, at once and in memory. */
export type TableModel = {
  take(resource: string, taking: LockRequest): Awaited<ReturnType<LedgerTable['take']>>;
  replace(resource: string, expectedLockId: string, item: ResourceState): boolean;
  release(resource: string, taking: LockRequest): void;
};

const keptMs = 35 * 24 * 3_600_000;

/** DynamoDB's rules as far as the ledger uses them; that they are is tested against an emulator. */
export function createTableModel(nowMs: () => number): TableModel {
  const rows = new Map<string, { raw: Attributes; expiresMs: number }>();
  const seconds = (ms: number) => Math.floor(ms / 1000);
  const known = (resource: string): Attributes | undefined => {
    const row = rows.get(resource);
    return row === undefined || seconds(row.expiresMs) < seconds(nowMs()) ? undefined : row.raw;
  };
  const put = (resource: string, raw: Attributes) =>
    void rows.set(resource, { raw, expiresMs: nowMs() + keptMs });
  const begunNames = ({ begun }: LockRequest) =>
    begun ? { version: versionName(begun.field), state: stateName(begun.field) } : undefined;

  return {
    take(resource, taking) {
      const { lock, untilMs, begun } = taking;
      const there = known(resource);
      const names = begunNames(taking);
      const isFree =
        there === undefined ||
        (Number(there.graceEndsMs?.N) <= nowMs() &&
          there.lock === undefined &&
          there.heldMs === undefined &&
          (names === undefined || there[names.version] === undefined));
      const item = there && decodeItem(there, nowMs());
      if (isFree) {
        put(resource, {
          ...rows.get(resource)?.raw,
          claimId: attribute(lock.id),
          graceEndsMs: attribute(untilMs),
          lock: attribute(encodeLock(lock)),
          ...(names &&
            begun && {
              [names.version]: attribute(begun.version),
              [names.state]: attribute(encodeBegun(begun.messageId, begun)),
            }),
        });
        return { isTaken: true, item: item ?? emptyItem };
      }
      if (item?.lock?.id !== lock.id) return { isTaken: false, item };
      const { [begun?.field ?? '']: _, ...fields } = item.fields;
      return { isTaken: true, item: { ...item, lock: undefined, busyUntilMs: 0, fields } };
    },
    replace(resource, expectedLockId, item) {
      const there = rows.get(resource)?.raw.claimId?.S;
      const isExpected = there === expectedLockId || there === item.lockId;
      if (isExpected) put(resource, encodeItem(item));
      return isExpected;
    },
    release(resource, taking) {
      const { lock: _, ...raw } = rows.get(resource)?.raw ?? {};
      if (raw.claimId?.S !== taking.lock.id) return;
      const names = begunNames(taking);
      if (names) {
        delete raw[names.version];
        delete raw[names.state];
      }
      put(resource, { ...raw, graceEndsMs: attribute(0) });
    },
  };
}
