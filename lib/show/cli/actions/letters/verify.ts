import { discardLetters } from '../../../../operate/messages/archive/discard.ts';
import { type ReplayResult, replayLetters } from '../../../../operate/messages/replay/replay.ts';
import { runDefaults } from '../../../../operate/messages/replay/run-defaults.ts';
import { verifyLetters } from '../../../../operate/messages/verify/verify.ts';
import { countOf } from '../../../views/amounts.ts';
import { discardedView } from '../../../views/changes.ts';
import { canaryView, resultView } from '../../../views/plan.ts';
import { goneNotes, verifiedView } from '../../../views/verify.ts';
import { text } from '../../../views/view.ts';
import { type CommandContext, isYes } from '../../command-context.ts';
import { createProgress } from '../../print/progress.ts';

export const act = async (
  context: CommandContext,
  { limit, yes = false, ...given }: Given,
): Promise<void> => {
  const { discardFound = yes, replayAbsent = yes } = given;
  const { target, filter, terminal, signal, isJson, print, withProgress, finish } = context;
  if (discardFound || replayAbsent) await context.checkAudit();
  const verified = await withProgress('Looked up', (show) =>
    verifyLetters(target, { filter, limit, signal, onLooked: show }),
  );
  print(verified, () => verifiedView(verified, target.prefix.slice(0, -1)));
  let mayAsk = !isJson && !signal.aborted;
  const agreed = async (isGiven: boolean, question: string): Promise<boolean> => {
    if (isGiven || !mayAsk) return isGiven && !signal.aborted;
    const answer = await terminal.ask(`${question} [y/N] `);
    mayAsk = answer !== undefined;
    return isYes(answer ?? '');
  };
  const idsOf = (wanted: 'found' | 'absent') =>
    verified.letters.flatMap(({ id, found }) => (found === wanted ? [id] : []));
  const found = countOf(verified.found, 'letter that was', 'letters that were');
  const absent = countOf(verified.absent, 'letter that was', 'letters that were');
  let isDone = verified.letters.length > 0;
  if (verified.found > 0 && (await agreed(discardFound, `Discard ${found} found on the platform?`)))
    isDone = (await discardFoundOnes(idsOf('found'), context)) && isDone;
  if (verified.absent > 0 && (await agreed(replayAbsent, `Replay ${absent} not found there?`)))
    isDone = (await replayAbsentOnes(idsOf('absent'), context)) && isDone;
  finish(isDone);
};

type Given = { limit?: number; discardFound?: boolean; replayAbsent?: boolean; yes?: boolean };

const discardFoundOnes = async (
  ids: string[],
  { target, audit, signal, print, withProgress }: CommandContext,
): Promise<boolean> => {
  const result = await withProgress('Letters', (show) =>
    discardLetters(target, {
      ...{ filter: { id: ids, kind: ['uncertain'] }, reason: 'verify: found on the platform' },
      ...{ dryRun: false, audit, signal, onProgress: show, onDiscarded: show },
      confirm: async () => true,
    }),
  );
  const { discarded, plan, failed, archives } = result;
  print({ discarded, archives, notDiscarded: failed }, () => [
    ...discardedView(result),
    ...goneNotes(ids.length - plan.letters),
  ]);
  return discarded === ids.length;
};

const replayAbsentOnes = async (
  ids: string[],
  { target, audit, terminal, signal, print }: CommandContext,
): Promise<boolean> => {
  const sending = createProgress(terminal, 'Sent');
  const options = {
    ...{ filter: { id: ids, kind: ['uncertain' as const] }, reason: 'verify: not found on the platform' },
    ...{ includeUncertain: true, dryRun: false, probe: true },
    ...runDefaults,
  };
  const result: ReplayResult = await replayLetters(target, options, {
    ...{ audit, signal, onSent: sending.show },
    confirm: async () => true,
    onCanary: (canary) => {
      sending.end();
      if (canary.letters < ids.length) print({}, () => canaryView(canary));
    },
  }).finally(sending.end);
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
