import type { Command } from 'commander';
import { type ReplayOptions, replayLetters } from '../../../dead-letters/replay/replay.ts';
import { runSentence } from '../../../wording/plan.ts';
import { addFilterOptions, type Cli, contextOf, reasonText, wholeNumber } from '../../command-context.ts';
import { canaryLines, planLines, resultLines } from '../../print/plan.ts';
import { createProgress } from '../../print/progress.ts';
import { wrapped } from '../../print/table.ts';
import { addRunOptions, type GivenRun, runOptionsOf } from './run-options.ts';

type Given = GivenRun & Pick<ReplayOptions, 'limit' | 'dryRun' | 'includeUncertain' | 'probe' | 'reason'>;

export const addReplay = (letters: Command, cli: Cli): void => {
  const command = letters
    .command('replay')
    .description('sends letters back to their queues: a plan, a canary of each cause, then the rest')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--dry-run', 'show the plan and end there')
    .option('--yes', 'do not ask whether the plan is right')
    .option(
      '--include-uncertain',
      'also letters that are uncertain or outdated: you have looked what the platform holds',
    )
    .option('--no-probe', 'do not ask the platform first what cannot succeed yet')
    .option('--reason <text>', 'why, kept with the message and in the audit log', reasonText);
  addFilterOptions(addRunOptions(command, { rate: 5, wait: '--canary-wait' }))
    .addHelpText('after', examples)
    .action(async (given: Given, command: Command) => {
      const context = contextOf(cli, command);
      const { target, filter, audit, terminal, signal, isJson, print, agreed, finish } = context;
      const { limit, dryRun, includeUncertain, probe, reason } = given;
      const { continueUndecided, ...run } = runOptionsOf(given, { terminal, isJson });
      const options = { ...run, filter, limit, dryRun, includeUncertain, probe, reason };
      const name = target.prefix.slice(0, -1);
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
          print({ plan, connection: report }, () => [
            ...planLines(plan, report, { terminal, name }),
            ...(isOver ? [] : wrapped(runSentence(plan, options), terminal.width)),
          ]);
          return !isOver && agreed(`Send ${count}?`);
        },
        onCanary: (canary) => {
          sending.end();
          print({ canary }, () => ['', ...canaryLines(canary, terminal)]);
        },
        continueUndecided,
      }).finally(() => {
        reading.end();
        sending.end();
      });
      const { plan, report: _, ...result } = replayed;
      print({ result }, () => resultLines(replayed, terminal));
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
    });
};

const examples = `
Examples:
  sis-relay letters replay --kind unavailable --dry-run
  sis-relay letters replay --function grade-push --kind missing-scope --reason "scope granted"
  sis-relay letters replay --until 2026-01-31T09:30Z --rate 50 --yes
  sis-relay letters replay --id 3f0c91aa --include-uncertain

Nothing is taken from the queue before you agree, and no letter that came later. A letter is deleted
after its message was sent: a crash between the two leaves a second copy, which the ledger knows,
and never a loss.
Ctrl-C stops after what is under way.`;
