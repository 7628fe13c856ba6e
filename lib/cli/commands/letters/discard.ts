import type { Command } from 'commander';
import { discardLetters } from '../../../dead-letters/discard.ts';
import { UsageError } from '../../../deployment/command-errors.ts';
import { countOf } from '../../../wording/amounts.ts';
import { addFilterOptions, type Cli, contextOf, reasonText, wholeNumber } from '../../command-context.ts';
import { discardLines, discardPlanLines } from '../../print/changes.ts';

export const addDiscard = (letters: Command, cli: Cli): void => {
  addFilterOptions(letters.command('discard').description('deletes letters; each is archived first'))
    .requiredOption('--reason <text>', 'why, for the audit log', reasonText)
    .option('--all', 'every letter there is, where nothing else says which')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--dry-run', 'show which, and end there')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(async ({ reason, all, limit, dryRun }, command: Command) => {
      const context = contextOf(cli, command);
      const { target, filter, audit, terminal, signal, print, agreed, withProgress, finish } = context;
      if (!all && Object.keys(filter).length === 0)
        throw new UsageError(
          'Which letters? Give a condition, such as --kind unknown-source, or --all for every one.',
        );
      if (!dryRun) await context.checkAudit();
      const result = await withProgress('Letters', (show) =>
        discardLetters(target, {
          ...{ filter, limit, reason, dryRun, signal, audit },
          onProgress: show,
          onDiscarded: show,
          confirm: async (plan) => {
            print({ plan }, () => discardPlanLines(plan, { terminal, target }));
            if (dryRun || plan.letters === 0 || signal.aborted) return false;
            return agreed(`Discard ${countOf(plan.letters, 'letter')}?`);
          },
        }),
      );
      const { plan, ...discarded } = result;
      print({ result: discarded }, () => discardLines(result));
      finish(dryRun ? plan.letters > 0 : discarded.discarded > 0 && discarded.discarded === plan.letters);
    });
};

const examples = `
Examples:
  sis-relay letters discard --kind unknown-source --reason "another team's test" --dry-run
  sis-relay letters discard --id 3f0c91aa --reason "handed in on paper"

What was discarded lies under discarded/ in the bucket: letters import s3://… restores it.`;
