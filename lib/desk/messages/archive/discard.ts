import { chunksOf } from '../../../runtime/aws/parallel.ts';
import { actorOf } from '../../../stage/actor.ts';
import { type Audit, archive } from '../../../stage/audit.ts';
import type { Target } from '../../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { goneBecause, withLetters } from '../letters/leased-letters.ts';
import type { Letter } from '../letters/letter.ts';
import { letterLine } from '../letters/letter-line.ts';
import { endRecords, letterIndexOf, type Selection, selectLetters } from '../letters/list.ts';
import type { QueueSession, ReadOptions } from '../letters/session.ts';
import { leaseEnded } from '../letters/visibility-lease.ts';

export type DiscardPlan = Omit<Selection, 'letters'> & { letters: number };

type DiscardOptions = ReadOptions & {
  filter: Filter;
  limit?: number | undefined;
  reason: string;
  dryRun: boolean;
  audit: Audit;
  /** `ids`: of the letters that would be discarded. */
  confirm(plan: DiscardPlan, ids: string[]): Promise<boolean>;
  onDiscarded?(discarded: number, of: number): void;
};

export type DiscardResult = {
  plan: DiscardPlan;
  discarded: number;
  failed: { id: string; reason: string }[];
  /** Planned letters that were left alone because the command was interrupted. */
  left: number;
  /** Addresses of the archives; `letters import` takes them back. */
  archives: string[];
  backLater: number;
};

/** Deletes letters from the queue. Each is written to the bucket first. */
export const discardLetters = async (
  target: Target,
  { reason, dryRun, audit, confirm, onDiscarded, ...options }: DiscardOptions,
): Promise<DiscardResult> => {
  const { filter, limit, signal } = options;
  const { letters, groups, ...summary } = await selectLetters(target, { filter, limit }, signal);
  const plan: DiscardPlan = { ...summary, groups, letters: letters.length };
  const nothing = { plan, discarded: 0, failed: [], left: 0, archives: [], backLater: 0 };
  const confirmed = await confirm(
    plan,
    letters.map(({ id }) => id),
  );
  if (dryRun || !confirmed || letters.length === 0) return nothing;
  if (signal.aborted) return { ...nothing, left: letters.length };

  const { id, end } = await audit.begin({
    command: 'letters discard',
    filter,
    reason,
    counts: { planned: letters.length },
    letters: letters.map(({ id }) => id),
  });
  const discarded: string[] = [];
  const failed: DiscardResult['failed'] = [];
  const archives: string[] = [];
  const letterIndex = letterIndexOf(target);
  const by = await actorOf(target);

  const discard = async (chunk: Letter[], { lease }: QueueSession, key: string): Promise<void> => {
    const current = chunk.filter(({ sqsId }) => lease.isCurrent(sqsId));
    if (current.length > 0) archives.push(await archive(target, key, current.map(letterLine).join('')));
    const failures = await lease.deleteLetters(current.flatMap(({ sqsId, copies }) => [sqsId, ...copies]));
    const gone: Letter[] = [];
    for (const letter of chunk) {
      const why = current.includes(letter) ? failures.get(letter.sqsId) : leaseEnded;
      if (why === undefined) gone.push(letter);
      else failed.push({ id: letter.id, reason: why });
    }
    discarded.push(...gone.map(({ id }) => id));
    await endRecords(letterIndex, gone, () => ({ state: 'discarded', by, why: reason }));
    onDiscarded?.(discarded.length, letters.length);
  };

  // Ends with the id of the audit log's entry: two operators may begin in the same millisecond.
  const folder = `discarded/${new Date().toISOString().replaceAll(':', '')}-${id}`;
  try {
    const { backLater } = await withLetters(target, { ...options, letters }, async (inHand) => {
      if (!signal.aborted)
        for (const { id } of inHand.gone) failed.push({ id, reason: goneBecause(inHand.held) });
      for (const [at, chunk] of chunksOf(inHand.letters, maxLetters).entries()) {
        if (signal.aborted) break;
        const whole = await Promise.all(chunk.map(inHand.read));
        await discard(whole, inHand.session, `${folder}/${String(at + 1).padStart(4, '0')}.jsonl`);
      }
      return {};
    });
    const left = signal.aborted ? letters.length - discarded.length - failed.length : 0;
    return { plan, discarded: discarded.length, failed, left, archives, backLater };
  } finally {
    await end({ discarded: discarded.length, failed: failed.length }, discarded);
  }
};

/** Bounds memory: this many letters are held at once. */
const maxLetters = 100;
