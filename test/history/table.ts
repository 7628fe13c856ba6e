import type { Item, LedgerTable } from '../../lib/ledger-table.ts';

/** What the ledger's table does, at once and in memory. */
export type TableModel = {
  claim(
    resource: string,
    item: Item,
    options: { mustBeKnown: boolean },
  ): Awaited<ReturnType<LedgerTable['claim']>>;
  replace(resource: string, change: { expected: Item; next: Item }): boolean;
};

const keptMs = 35 * 24 * 3_600_000;

/** DynamoDB's rules as far as the ledger uses them; that they are is tested against an emulator. */
export function createTableModel(nowMs: () => number): TableModel {
  const rows = new Map<string, { item: Item; expiresMs: number }>();
  const seconds = (ms: number) => Math.floor(ms / 1000);
  const known = (resource: string): Item | undefined => {
    const row = rows.get(resource);
    return row === undefined || seconds(row.expiresMs) < seconds(nowMs()) ? undefined : row.item;
  };
  /** Fields that are neither written nor removed stay. */
  const put = (resource: string, item: Item, removed: string[] = []) => {
    const before = rows.get(resource)?.item.fields ?? {};
    const left = Object.entries({ ...before, ...item.fields }).filter(([field]) => !removed.includes(field));
    rows.set(resource, {
      item: { ...item, fields: Object.fromEntries(left) },
      expiresMs: nowMs() + keptMs,
    });
  };
  return {
    claim(resource, item, { mustBeKnown }) {
      const there = known(resource);
      const isFree = ([field, { version }]: [string, { version: string }]) => {
        const state = there?.fields[field];
        return state === undefined ? !mustBeKnown : isBefore(state.version, version);
      };
      const won =
        there === undefined
          ? !mustBeKnown
          : there.settledMs <= nowMs() && Object.entries(item.fields).every(isFree);
      if (won) put(resource, item);
      return { won, item: there };
    },
    replace(resource, { expected, next }) {
      const there = rows.get(resource)?.item.claimId;
      const holds = there === expected.claimId || there === next.claimId;
      const removed = Object.keys(expected.fields).filter((field) => !(field in next.fields));
      if (holds) put(resource, next, removed);
      return holds;
    },
  };
}

/** DynamoDB compares text by its bytes in UTF-8. */
const isBefore = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
