import { functionsIn } from '../../../../operate/messages/replay/plan.ts';
import { type ReplayOptions, replayLetters } from '../../../../operate/messages/replay/replay.ts';
import { pausedFunctions } from '../../../../operate/stage/pause.ts';
import { canaryView, planView, resultView, runSentence } from '../../../views/plan.ts';
import { text } from '../../../views/view.ts';
import type { CommandContext } from '../../command-context.ts';
import { createProgress } from '../../print/progress.ts';
import { type GivenRun, runOptionsOf } from './run-options.ts';

export const act = async (context: CommandContext, given: Given): Promise<void> => {
  const { target, filter, audit, terminal, signal, isJson, print, agreed, finish } = context;
  const { limit, dryRun, includeUncertain, probe, reason } = given;
  const { continueUndecided, ...run } = runOptionsOf(given, { terminal, isJson });
  const options = { ...run, filter, limit, dryRun, includeUncertain, probe, reason };
  if (!options.dryRun) await context.checkAudit();
  const reading = createProgress(terminal, 'Taking letters');
  const sending = createProgress(terminal, 'Sent');
  const replayed = await replayLetters(target, options, {
    audit,
    signal,
    onProgress: reading.show,
    onSent: (sent, of) => {
      reading.end();
      sending.show(sent, of);
    },
    confirm: async (plan, report) => {
      const count = plan.send.reduce((sum, { letters: each }) => sum + each, 0);
      const isOver = options.dryRun || count === 0 || signal.aborted;
      const paused = await pausedFunctions(target, functionsIn(plan));
      print({ plan, connection: report, paused }, () => [
        ...planView(plan, report, paused),
        ...(isOver ? [] : [text(runSentence(plan, options))]),
      ]);
      return !isOver && agreed(`Send ${count}?`);
    },
    onCanary: (canary) => {
      sending.end();
      print({ canary }, () => canaryView(canary));
    },
    continueUndecided,
  }).finally(() => {
    reading.end();
    sending.end();
  });
  const { plan, report: _, ...result } = replayed;
  print({ result }, () => resultView(replayed));
  const {
    sent = 0,
    through,
    gone,
    failed = [],
    undeleted = [],
    setAside = 0,
    notTried = 0,
  } = result.counts ?? {};
  const isClean =
    sent > 0 &&
    through === sent &&
    gone === 0 &&
    failed.length + undeleted.length + setAside + notTried === 0;
  finish((result.ended === 'planned' && plan.send.length > 0) || (result.ended === 'done' && isClean));
};

type Given = GivenRun & Pick<ReplayOptions, 'limit' | 'dryRun' | 'includeUncertain' | 'probe' | 'reason'>;
