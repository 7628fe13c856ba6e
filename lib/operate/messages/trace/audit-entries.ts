import { type AuditedCommand, readAuditLog } from '../../stage/audit-log.ts';
import type { Target } from '../../stage/target.ts';
import type { TraceEvent } from './event.ts';

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
