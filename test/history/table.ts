import { rememberedMessages } from '../../lib/delivery/ledger/identity.ts';
import type { Change, Item, LedgerTable } from '../../lib/delivery/ledger/table.ts';

/** What the ledger's table does, at once and in memory. */
export type TableModel = {
  read(resource: string): Item | undefined;
  claim(
    resource: string,
    item: Item,
    options: { mustBeKnown: boolean },
  ): Awaited<ReturnType<LedgerTable['claim']>>;
  replace(resource: string, change: Change): boolean;
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
  const put = (resource: string, item: Item) =>
    void rows.set(resource, { item, expiresMs: nowMs() + keptMs });
  /** Fields that are not written stay; a message more is seen where there is one. */
  const update = (resource: string, { seen: more, ...item }: Item) => {
    const before = rows.get(resource)?.item;
    const heldMs = item.heldMs || (before?.heldMs ?? 0);
    const seen = { ...before?.seen };
    for (const [thing, digests] of Object.entries(more))
      seen[thing] = [...digests, ...(seen[thing] ?? [])].slice(0, rememberedMessages);
    put(resource, { ...item, heldMs, fields: { ...before?.fields, ...item.fields }, seen });
  };
  return {
    read: known,
    claim(resource, item, { mustBeKnown }) {
      const there = known(resource);
      const isFree = ([field, { version }]: [string, { version: string }]) => {
        const state = there?.fields[field];
        return state === undefined ? !mustBeKnown : isBefore(state.version, version);
      };
      const isSeen = Object.entries(item.seen).some(([thing, digests]) =>
        digests.some((digest) => there?.seen[thing]?.includes(digest)),
      );
      const won =
        there === undefined
          ? !mustBeKnown
          : there.graceEndsMs <= nowMs() &&
            (item.heldMs > 0 || there.heldMs <= nowMs()) &&
            !isSeen &&
            Object.entries(item.fields).every(isFree);
      if (won) update(resource, item);
      return { won, item: there };
    },
    replace(resource, { expected, next, partial }) {
      const there = rows.get(resource)?.item.claimId;
      const holds = there === expected.claimId || there === next.claimId;
      if (holds && partial) update(resource, { ...next, seen: {} });
      if (holds && !partial) put(resource, next);
      return holds;
    },
  };
}

/** DynamoDB compares text by its bytes in UTF-8. */
const isBefore = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
