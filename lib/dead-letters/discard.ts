import { randomUUID } from 'node:crypto';
import { type Audit, archive } from '../deployment/audit.ts';
import type { Target } from '../deployment/target.ts';
import type { Filter } from './reading/filter.ts';
import type { Group } from './reading/groups.ts';
import { letterLine } from './reading/letter-line.ts';
import { type Selected, withSelection } from './reading/selection.ts';
import type { ReadOptions, ReadSummary } from './reading/session.ts';
import { leaseEnded } from './reading/visibility-lease.ts';

export type DiscardPlan = ReadSummary & { letters: number; groups: Group[] };

type DiscardOptions = ReadOptions & {
  filter: Filter;
  limit?: number | undefined;
  reason: string;
  dryRun: boolean;
  audit: Audit;
  confirm(plan: DiscardPlan): Promise<boolean>;
  onDiscarded?(discarded: number, of: number): void;
};

export type Discarded = {
  plan: DiscardPlan;
  discarded: number;
  failed: { id: string; reason: string }[];
  /** How many of those planned were left alone because the command was interrupted. */
  left: number;
  /** Addresses of what was archived; `letters import` takes them back. */
  archives: string[];
  backLater: number;
};

/** Takes letters out of the queue for good, each written into the bucket before it is deleted. */
export const discardLetters = (
  target: Target,
  { reason, dryRun, audit, confirm, onDiscarded, ...options }: DiscardOptions,
): Promise<Discarded> =>
  withSelection(target, options, async ({ session, letters, groups, summary, read }) => {
    const { filter, signal } = options;
    const plan: DiscardPlan = { ...summary, groups, letters: letters.length };
    const discarded: string[] = [];
    const failed: Discarded['failed'] = [];
    const archives: string[] = [];
    const resultWith = (left: number) => ({ plan, discarded: discarded.length, failed, archives, left });

    const discard = async (chunk: Selected[], key: string): Promise<void> => {
      const current = chunk.filter(({ id }) => session.lease.isCurrent(id));
      const lines = await Promise.all(current.map(async (letter) => letterLine(await read(letter))));
      if (lines.length > 0) archives.push(await archive(target, key, lines.join('')));
      const failures = await session.lease.deleteLetters(current.map(({ id }) => id));
      for (const letter of chunk) {
        const why = current.includes(letter) ? failures.get(letter.id) : leaseEnded;
        if (why === undefined) discarded.push(letter.id);
        else failed.push({ id: letter.id, reason: why });
      }
      onDiscarded?.(discarded.length, letters.length);
    };

    const confirmed = await confirm(plan);
    if (dryRun) return resultWith(0);
    if (confirmed && letters.length > 0 && !signal.aborted) {
      const { end } = await audit.begin({
        command: 'letters discard',
        filter,
        reason,
        counts: { planned: letters.length },
        letters: letters.map(({ id }) => id),
      });
      // Two operators may begin in the same millisecond, and one archive must not replace the other.
      const folder = `discarded/${new Date().toISOString().replaceAll(':', '')}-${randomUUID().slice(0, 8)}`;
      try {
        for (const [at, chunk] of chunksOf(letters).entries()) {
          if (signal.aborted) break;
          await discard(chunk, `${folder}/${String(at + 1).padStart(4, '0')}.jsonl`);
        }
      } finally {
        await end({ discarded: discarded.length, failed: failed.length }, discarded);
      }
    }
    return resultWith(signal.aborted ? letters.length - discarded.length - failed.length : 0);
  });

const maxLetters = 500;
const maxBytes = 4 * 1024 ** 2;

/** Each small enough to be in memory at once. */
const chunksOf = (letters: Selected[]): Selected[][] => {
  const chunks: Selected[][] = [];
  let bytes = 0;
  for (const letter of letters) {
    const chunk = chunks.at(-1);
    if (chunk === undefined || chunk.length === maxLetters || bytes + letter.place.bytes > maxBytes) {
      chunks.push([letter]);
      bytes = 0;
    } else chunk.push(letter);
    bytes += letter.place.bytes;
  }
  return chunks;
};
