import { type Command, InvalidArgumentError } from 'commander';
import { type ReplayOptions, replayLetters } from '../../../dead-letters/replay/replay.ts';
import {
  addFilterOptions,
  type Cli,
  contextOf,
  isYes,
  reasonText,
  wholeNumber,
} from '../../command-context.ts';
import { canaryLines, paceLine, planLines, resultLines } from '../../print/plan.ts';
import { createProgress } from '../../print/progress.ts';
import { wrapped } from '../../print/table.ts';

type Given = Omit<ReplayOptions, 'filter' | 'waitSeconds'> & {
  canaryWait: number;
  continueUndecided?: boolean;
};

export const addReplay = (letters: Command, cli: Cli): void => {
  addFilterOptions(
    letters
      .command('replay')
      .description('sends letters back to their queues: a plan, a canary, then the rest'),
  )
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--dry-run', 'show the plan and end there')
    .option('--yes', 'do not ask whether the plan is right')
    .option(
      '--include-uncertain',
      'also letters that are uncertain or outdated: you have looked what the platform holds',
    )
    .option(
      '--canary <n>',
      'send n letters first and wait for their outcome; 0: none',
      wholeNumber(0, 100),
      5,
    )
    .option('--canary-wait <seconds>', 'wait n seconds for that outcome', wholeNumber(1, 3_600), 60)
    .option('--continue-undecided', 'continue where the outcome of the canary is not known by then')
    .option('--rate <n>', 'messages a second, at most 500', rate, 5)
    .option(
      '--stop-after <n>',
      'stop when n letters in a row come back with the same error',
      wholeNumber(1, 1_000),
      5,
    )
    .option('--no-probe', 'do not ask the platform first what cannot succeed yet')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .addHelpText('after', examples)
    .action(async ({ canaryWait, continueUndecided, ...given }: Given, command: Command) => {
      const context = contextOf(cli, command);
      const { target, filter, audit, terminal, signal, isJson, print, agreed, finish } = context;
      const options = { ...given, filter, waitSeconds: canaryWait };
      const name = target.prefix.slice(0, -1);
      if (!options.dryRun) await context.checkAudit();
      const reading = createProgress(terminal, 'Reading letters');
      const sending = createProgress(terminal, 'Sent');
      const replayed = await replayLetters(target, options, {
        audit,
        signal,
        onProgress: reading.show,
        onSent: sending.show,
        confirm: async (plan, report) => {
          reading.end();
          const count = plan.send.reduce((sum, { letters: each }) => sum + each, 0);
          const isOver = options.dryRun || count === 0 || signal.aborted;
          print({ plan, connection: report }, () => [
            ...planLines(plan, report, { terminal, name }),
            ...(isOver ? [] : wrapped(paceLine(count, options), terminal.width)),
          ]);
          return !isOver && agreed(`Send ${count}?`);
        },
        onCanary: (canary) => {
          sending.end();
          print({ canary }, () => ['', ...canaryLines(canary, terminal)]);
        },
        continueUndecided: async () => {
          if (continueUndecided) return true;
          const answer = isJson ? undefined : await terminal.ask('Continue without knowing? [y/N] ');
          return isYes(answer ?? '');
        },
      }).finally(() => {
        reading.end();
        sending.end();
      });
      const { plan, report: _, ...result } = replayed;
      print({ result }, () => resultLines(replayed, terminal));
      const { failed = [], undeleted = [], setAside, cameBack } = result.counts ?? {};
      const isClean = failed.length + undeleted.length === 0 && setAside === 0 && cameBack === 0;
      finish((result.ended === 'planned' && plan.send.length > 0) || (result.ended === 'done' && isClean));
    });
};

function rate(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= 500) return number;
  throw new InvalidArgumentError('It must be a number above 0, up to 500.');
}

const examples = `
Examples:
  sis-relay letters replay --kind unavailable --dry-run
  sis-relay letters replay --function grade-push --kind missing-scope --reason "scope granted"
  sis-relay letters replay --until 2026-01-31T09:30Z --rate 50 --yes
  sis-relay letters replay --id 3f0c91aa --include-uncertain

Only letters that were there when the plan was made are touched. Each is deleted after its message
was sent: a crash between the two leaves a second copy, which the ledger knows, and never a loss.
Ctrl-C stops after what is under way.`;
