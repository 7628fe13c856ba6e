import { discardLetters } from '../../../../operate/messages/archive/discard.ts';
import { revealLetters } from '../../../../operate/messages/letters/show.ts';
import { replayLetters } from '../../../../operate/messages/replay/replay.ts';
import { runDefaults } from '../../../../operate/messages/replay/run-defaults.ts';
import { verifyLetters } from '../../../../operate/messages/verify/verify.ts';
import { countOf } from '../../../views/amounts.ts';
import { discardedView } from '../../../views/changes.ts';
import { canaryView, resultView } from '../../../views/plan.ts';
import { goneNotes, maxRevealed, revealedView, verifiedView } from '../../../views/verify.ts';
import { text } from '../../../views/view.ts';
import { type CommandContext, isYes } from '../../command-context.ts';

export const verify = async (
  context: CommandContext,
  { limit, yes = false, reveal = false, reason, ...given }: Given,
): Promise<void> => {
  const { discardFound = yes, replayAbsent = yes } = given;
  const { target, name, filter, audit, terminal, signal, isJson, print, progress, finish } = context;
  if (discardFound || replayAbsent || reveal) await context.checkAudit();
  const onLooked = progress('Looked up');
  const verified = await verifyLetters(target, { filter, limit, signal, onLooked });
  print(verified, () => verifiedView(verified, name));
  const unclear = verified.letters.flatMap(({ id, found }) => (found === 'unclear' ? [id] : []));
  if (reveal && unclear.length > 0) {
    const ids = unclear.slice(0, maxRevealed);
    const revealed = await revealLetters(target, { ids, reason, audit, signal });
    print({ revealed }, () => revealedView(revealed, reason));
  }
  let mayAsk = !isJson && !signal.aborted;
  const agreed = async (isGiven: boolean, question: string): Promise<boolean> => {
    if (isGiven || !mayAsk) return isGiven && !signal.aborted;
    const answer = await terminal.ask(`${question} [y/N] `);
    mayAsk = answer !== undefined;
    return isYes(answer ?? '');
  };
  const idsOf = (wanted: 'found' | 'absent') =>
    verified.letters.flatMap(({ id, found }) => (found === wanted ? [id] : []));
  const lettersText = (count: number): string => countOf(count, 'letter that was', 'letters that were');
  let isDone = verified.letters.length > 0;
  const discarding = `Discard ${lettersText(verified.found)} found on the platform?`;
  if (verified.found > 0 && (await agreed(discardFound, discarding)))
    isDone = (await discardFoundOnes(idsOf('found'), context)) && isDone;
  const replaying = `Replay ${lettersText(verified.absent)} not found there?`;
  if (verified.absent > 0 && (await agreed(replayAbsent, replaying)))
    isDone = (await replayAbsentOnes(idsOf('absent'), context)) && isDone;
  finish(isDone);
};

type Given = {
  limit?: number;
  discardFound?: boolean;
  replayAbsent?: boolean;
  yes?: boolean;
  reveal?: boolean;
  reason?: string;
};

const discardFoundOnes = async (
  ids: string[],
  { target, audit, signal, print, progress }: CommandContext,
): Promise<boolean> => {
  const result = await discardLetters(target, {
    ...{ filter: { id: ids, kind: ['uncertain'] }, reason: 'verify: found on the platform' },
    ...{ dryRun: false, audit, signal },
    onProgress: progress('Taking letters'),
    onDiscarded: progress('Discarded'),
    confirm: async () => true,
  });
  const { discarded, plan, failed, archives } = result;
  print({ discarded, archives, notDiscarded: failed }, () => [
    ...discardedView(result),
    ...goneNotes(ids.length - plan.letters),
  ]);
  return discarded === ids.length;
};

const replayAbsentOnes = async (
  ids: string[],
  { target, audit, signal, print, progress }: CommandContext,
): Promise<boolean> => {
  const options = {
    ...{ filter: { id: ids, kind: ['uncertain' as const] }, reason: 'verify: not found on the platform' },
    ...{ ...runDefaults, includeUncertain: true, dryRun: false, probe: true },
  };
  const result = await replayLetters(target, options, {
    ...{ audit, signal, onSent: progress('Sent') },
    confirm: async () => true,
    onCanary: (canary) => {
      if (canary.letters < ids.length) print({}, () => canaryView(canary));
    },
  });
  const { plan, counts } = result;
  const { sent = 0, through = 0 } = counts ?? {};
  print({ replayed: sent, through }, () => [
    ...resultView(result),
    ...plan.notYet.map(({ letters, why, todo }) =>
      text(`${countOf(letters, 'letter')} cannot succeed yet: ${why}. ${todo}`),
    ),
    ...goneNotes(ids.length - plan.matching),
  ]);
  return through === ids.length;
};
