import type { Item, LedgerTable } from '../../lib/ledger-table.ts';

/** What the ledger's table does, at once and in memory. */
export type TableModel = {
  claim(thing: string, item: Item): Awaited<ReturnType<LedgerTable['claim']>>;
  replace(thing: string, change: { expected: string; next: Item }): boolean;
};

const keptMs = 35 * 24 * 3_600_000;

/** DynamoDB's rules as far as the ledger uses them; that they are is tested against an emulator. */
export function createTableModel(nowMs: () => number): TableModel {
  const rows = new Map<string, { item: Item; expiresMs: number }>();
  const seconds = (ms: number) => Math.floor(ms / 1000);
  const known = (thing: string): Item | undefined => {
    const row = rows.get(thing);
    return row === undefined || seconds(row.expiresMs) < seconds(nowMs()) ? undefined : row.item;
  };
  const put = (thing: string, item: Item) => rows.set(thing, { item, expiresMs: nowMs() + keptMs });
  return {
    claim(thing, item) {
      const there = known(thing);
      const free =
        there === undefined || (isBefore(there.version, item.version) && there.settledMs <= nowMs());
      if (free) put(thing, item);
      return { won: free, item: there };
    },
    replace(thing, { expected, next }) {
      const there = rows.get(thing)?.item.claimId;
      const holds = there === expected || there === next.claimId;
      if (holds) put(thing, next);
      return holds;
    },
  };
}

/** DynamoDB compares text by its bytes in UTF-8. */
const isBefore = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
