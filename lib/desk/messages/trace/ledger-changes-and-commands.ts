import { isShortId, type OpenChange, type ResourceState, withCrash } from '../../../delivery/ledger/item.ts';
import { createLedgerReader } from '../../../delivery/ledger/read.ts';
import { decodeVersion } from '../../../message/version.ts';
import { type AuditedCommand, type AuditLog, readAuditLog } from '../../../stage/audit-log.ts';
import type { Target } from '../../../stage/target.ts';
import type { TraceEvent } from './event.ts';

/** The message is not known while it is sent, and if its function crashed. */
export type LedgerChangeEvent = TraceEvent & { what: 'claimed'; outcome: LedgerOutcome };

/** Of a change: it was done; its attempt may be in progress; it has no outcome. */
export type LedgerOutcome = 'done' | 'sending' | 'open';

/** What the ledger knows of these resources: the newest changes of each field. @throws if it cannot be read. */
export const ledgerChangesOf = async (
  { dynamodb, ledgerTable }: Pick<Target, 'dynamodb' | 'ledgerTable'>,
  resources: readonly string[],
): Promise<LedgerChangeEvent[]> => {
  if (ledgerTable === undefined) return [];
  const read = createLedgerReader({ dynamodb, table: ledgerTable, nowMs: Date.now });
  const claims = await Promise.all(
    resources.map(async (resource) => {
      const item = await read(resource);
      return item === undefined ? [] : claimsIn(item, resource, Date.now());
    }),
  );
  return claims.flat();
};

type LedgerChange = Pick<OpenChange, 'version' | 'messageId' | 'begunMs'> & {
  field: string;
  replays: number | undefined;
  outcome: LedgerOutcome;
};

/** A message may change several fields at once. */
const claimsIn = (item: ResourceState, resource: string, nowMs: number): LedgerChangeEvent[] => {
  const isRunning = item.lock !== undefined && item.busyUntilMs > nowMs;
  const lockedFields = isRunning ? (item.lock?.fields ?? []) : [];
  const changes = Object.entries(withCrash(item).fields).flatMap(
    ([field, { done, open }]): LedgerChange[] => {
      const outcome = lockedFields.includes(field) ? 'sending' : 'open';
      return [
        ...(done ? [{ ...done, field, replays: undefined, outcome: 'done' as const }] : []),
        ...(open ? [{ ...open, field, outcome } as const] : []),
      ];
    },
  );
  const alike = Map.groupBy(changes, ({ version, outcome, begunMs }) =>
    [version, outcome, begunMs].join(' '),
  );
  return [...alike.values()].flatMap((each): LedgerChangeEvent[] => {
    const [first] = each;
    if (first === undefined) return [];
    const { messageId: message, version, begunMs, replays, outcome } = first;
    return [
      {
        at: new Date(Math.min(begunMs, nowMs)).toISOString(),
        what: 'claimed',
        message: isShortId(message) ? undefined : message,
        eventId: decodeVersion(version).eventId,
        resource,
        replays,
        outcome,
        fields: each.map(({ field }) => field),
      },
    ];
  });
};

/** What operators did to one of these messages since then, from the audit log. @throws if it cannot be read. */
export const commandsOn = async (
  target: Target,
  ids: ReadonlySet<string>,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<{ events: TraceEvent[] } & Omit<AuditLog, 'commands'>> => {
  const isWanted = (letter: string) => namedBy(letter, ids).length > 0;
  const { commands, ...log } = await readAuditLog(target, { sinceMs, signal, isWanted });
  return { events: commands.flatMap((command) => eventsOf(command, ids)), ...log };
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
    at,
    what: command === 'waiting wake' && did.has(message) ? 'woken' : 'command',
    message,
    command,
    by,
    why,
    done: endedAt === undefined ? undefined : did.has(message),
  }));
};
