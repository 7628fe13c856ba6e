import { eventIdIn } from '../../../delivery/ledger/identity.ts';
import { createLedgerTable, type Item } from '../../../delivery/ledger/table.ts';
import type { Target } from '../../stage/target.ts';
import type { TraceEvent } from './event.ts';

export type Claim = TraceEvent & { what: 'claimed'; message: string; outcome: string; presumed: boolean };

/** What the ledger knows of these resources: the message that claimed each field last. @throws if it cannot be read. */
export const claimsOf = async (
  { dynamodb, ledgerTable }: Pick<Target, 'dynamodb' | 'ledgerTable'>,
  resources: readonly string[],
): Promise<Claim[]> => {
  if (ledgerTable === undefined) return [];
  const table = createLedgerTable({ dynamodb, table: ledgerTable, nowMs: Date.now });
  const claims = await Promise.all(
    resources.map(async (resource) => {
      const item = await table.read(resource);
      return item === undefined ? [] : claimsIn(item, resource, Date.now());
    }),
  );
  return claims.flat();
};

/** A message may claim several fields at once. */
const claimsIn = ({ fields, leaseMs }: Item, resource: string, nowMs: number): Claim[] => {
  const alike = Map.groupBy(Object.entries(fields), ([, { messageId, outcome, claimedMs }]) =>
    [messageId, outcome, claimedMs].join(' '),
  );
  return [...alike.values()].flatMap((each): Claim[] => {
    const [first] = each;
    if (first === undefined) return [];
    const [, { messageId, outcome, claimedMs, replays, version }] = first;
    return [
      {
        at: new Date(claimedMs).toISOString(),
        ...{ what: 'claimed', message: messageId, eventId: eventIdIn(version), resource, replays, outcome },
        fields: each.map(([field]) => field),
        // For a repeatable success no outcome is written; while the lease runs, it may be in progress.
        presumed: outcome === 'claimed' && leaseMs <= nowMs,
      },
    ];
  });
};
