import type { Command } from 'commander';
import { memoryDays, outdatedAfterDays } from '../../../../message/retention.ts';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';

export const addImport = (letters: Command, cli: Cli): void => {
  letters
    .command('import')
    .description('puts letters from a file of `export` or `discard` back into the dead-letter queue')
    .argument('<file>', 'a file, or s3://bucket/key; -: standard input, which needs --yes')
    .option('--dry-run', 'check every line, and import nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/import.ts')));
};

const examples = `
Examples:
  sis-relay letters import letters.jsonl --dry-run
  zcat letters.jsonl.gz | sis-relay letters import - --yes
  sis-relay letters import s3://sis-relay-uploads/discarded/2026-01-31T093000.000Z/0001.jsonl

Letters that are in the queue already are left out, so no message becomes two letters.
The ledger remembers for ${memoryDays} days what was done. You can import a letter whose message is older than
${outdatedAfterDays} days. But a replay of it comes back as outdated, unless the ledger still knows its resource.
To send it all the same, replay it with --include-uncertain.`;
