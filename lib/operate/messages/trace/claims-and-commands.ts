import { eventIdIn } from '../../../delivery/ledger/identity.ts';
import { createLedgerTable, type Item } from '../../../delivery/ledger/table.ts';
import { type AuditedCommand, readAuditLog } from '../../stage/audit-log.ts';
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

/** What operators did to one of these messages since then, from the audit log. @throws if it cannot be read. */
export const commandsOn = async (
  target: Target,
  ids: ReadonlySet<string>,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<{ events: TraceEvent[]; isWhole: boolean }> => {
  const isWanted = (letter: string) => namedBy(letter, ids).length > 0;
  const { commands, isWhole } = await readAuditLog(target, { sinceMs, signal, isWanted });
  return { events: commands.flatMap((command) => eventsOf(command, ids)), isWhole };
};

/** `letters show` records the id as it was typed. */
const namedBy = (letter: string, ids: ReadonlySet<string>): string[] =>
  ids.has(letter) ? [letter] : letter.length < 4 ? [] : [...ids].filter((id) => id.startsWith(letter));

const eventsOf = (
  { command, who: by, why, at, endedAt, ...letters }: AuditedCommand,
  ids: ReadonlySet<string>,
): TraceEvent[] => {
  const named = (those: Set<string>) => new Set([...those].flatMap((letter) => namedBy(letter, ids)));
  const [meant, did] = [named(letters.meant), named(letters.did)];
  return [...meant.union(did)].map((message) => ({
    ...{ at, what: command === 'waiting wake' && did.has(message) ? 'woken' : 'command', message },
    ...{ command, by, why, done: endedAt === undefined ? undefined : did.has(message) },
  }));
};
