import { discardLetters } from '../messages/archive/discard.ts';
import { replayLetters } from '../messages/replay/replay.ts';
import { runDefaults } from '../messages/replay/run-defaults.ts';
import { revealAndCompare } from '../messages/verify/compare.ts';
import { decidable, verifyLetters } from '../messages/verify/verify.ts';
import { discardedView } from '../views/changes.ts';
import { countOf } from '../views/format.ts';
import { canaryView, resultView } from '../views/plan.ts';
import { goneNotes, maxRevealed, revealedView, verifiedView, verifyReasons } from '../views/verify.ts';
import { text } from '../views/view.ts';
import type { OperatorContext, Question } from './operator-context.ts';
import { sendingHooks } from './send.ts';

type VerifyRequest = Pick<Parameters<typeof verifyLetters>[1], 'filter' | 'limit'> & {
  name: string;
  /** Undefined: the operator is asked. False: it is not done. */
  discardFound?: boolean | undefined;
  replayAbsent?: boolean | undefined;
  /** Also shows what is unclear unmasked, for this reason. */
  reveal?: boolean;
  reason?: string | undefined;
};

/** Looks letters up, then discards those whose effect is there, and sends those whose effect is not. Answers whether no letter is left. */
export const verify = async (
  operator: OperatorContext,
  { name, filter, limit, reveal = false, reason, ...given }: VerifyRequest,
): Promise<boolean> => {
  const { target, audit, signal, show, progress } = operator;
  const verified = await verifyLetters(target, { filter, limit, signal, onLooked: progress('Looked up') });
  show('What is there', verifiedView(verified, name, { isRevealed: reveal }), verified);
  const unclear = verified.letters.flatMap(({ id, found }) => (found === 'unclear' ? [id] : []));
  if (reveal && unclear.length > 0) {
    const ids = unclear.slice(0, maxRevealed);
    const revealed = await revealAndCompare(target, { ids, reason, audit, signal });
    const more = unclear.length - ids.length;
    show('Revealed', revealedView(revealed, { reason, more, filter: decidable(filter) }), { revealed });
  }
  const agreed = async (isGiven: boolean | undefined, question: Question): Promise<boolean> => {
    if (signal.aborted) return false;
    return isGiven ?? (await operator.ask({ isOptional: true, ...question })) !== undefined;
  };
  const idsOf = (wanted: 'found' | 'absent') =>
    verified.letters.flatMap(({ id, found }) => (found === wanted ? [id] : []));
  const left = new Set(['found', 'absent', 'unclear']);
  /** Decisions on letters that are gone are not offered. */
  const decided = (found: 'found' | 'absent'): void => {
    left.delete(found);
    const letters = verified.letters.filter((each) => left.has(each.found));
    const view = verifiedView({ ...verified, [found]: 0, letters }, name, { isRevealed: reveal });
    operator.renew('What is there', letters.length === 0 ? [text('All are decided.')] : view);
  };
  const lettersText = (count: number): string => countOf(count, 'letter that was', 'letters that were');
  let isDone = verified.letters.length > 0;
  const discarding = {
    act: `Discard ${lettersText(verified.found)} found on the platform`,
    ownOption: '--discard-found',
    letters: idsOf('found'),
  };
  if (verified.found > 0 && (await agreed(given.discardFound, discarding))) {
    decided('found');
    isDone = (await discardFoundOnes(idsOf('found'), operator)) && isDone;
  }
  const replaying = {
    act: `Replay ${lettersText(verified.absent)} not found there`,
    ownOption: '--replay-absent',
    letters: idsOf('absent'),
  };
  if (verified.absent > 0 && (await agreed(given.replayAbsent, replaying))) {
    decided('absent');
    isDone = (await replayAbsentOnes(idsOf('absent'), operator)) && isDone;
  }
  return isDone && !verified.letters.some(({ found }) => left.has(found));
};

const discardFoundOnes = async (
  ids: string[],
  { target, audit, signal, show, progress }: OperatorContext,
): Promise<boolean> => {
  const result = await discardLetters(target, {
    filter: { id: ids, kind: ['uncertain'] },
    reason: verifyReasons.found,
    dryRun: false,
    audit,
    signal,
    onProgress: progress('Taking letters'),
    onDiscarded: progress('Discarded'),
    confirm: async () => true,
  });
  const { discarded, plan, failed, archives } = result;
  const view = [...discardedView(result), ...goneNotes(ids.length - plan.letters)];
  show('Discarded', view, { discarded, archives, notDiscarded: failed });
  return discarded === ids.length;
};

const replayAbsentOnes = async (ids: string[], operator: OperatorContext): Promise<boolean> => {
  const { target, audit, show } = operator;
  const options = {
    filter: { id: ids, kind: ['uncertain' as const] },
    reason: verifyReasons.absent,
    ...runDefaults,
    includeUncertain: true,
    dryRun: false,
    probe: true,
  };
  const result = await replayLetters(target, options, {
    ...sendingHooks(operator, options, { leastCanary: Number.POSITIVE_INFINITY }),
    audit,
    confirm: async () => true,
    onCanary: (canary) => {
      if (canary.letters < ids.length) show('Canary', canaryView(canary));
    },
    continueUndecided: async () => false,
  });
  const { plan, counts } = result;
  const { sent = 0, through = 0 } = counts ?? {};
  const view = [
    ...resultView(result),
    ...plan.notYet.map(({ letters, why, todo }) =>
      text(`${countOf(letters, 'letter')} cannot succeed yet: ${why}. ${todo}`),
    ),
    ...goneNotes(ids.length - plan.matching),
  ];
  show('Result', view, { replayed: sent, through });
  return through === ids.length;
};
