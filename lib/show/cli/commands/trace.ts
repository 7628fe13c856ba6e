import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { wholeNumber } from '../options.ts';

export const addTrace = (program: Command, cli: Cli): void => {
  program
    .command('trace')
    .description(
      'shows all that is known about a message (its waits, its letter, who did what to it, its outcome), or the messages about a user or a course',
    )
    .argument(
      '[id]',
      'id of the message, letter or event, or its beginning; or a resource, as in grade/2001/5001/301',
    )
    .option('--log', 'also search the functions’ log: it has messages that were done at once', false)
    .option(
      '--user <id>',
      'instead of an id: messages about this user, by its id or the SIS’ name for the user',
    )
    .option('--org-unit <id>', 'and of this org unit, by its id or the SIS’ code')
    .option('--limit <n>', 'with --user or --org-unit: at most n messages', wholeNumber(1, 100_000), 50)
    .option('--since <time>', 'how far back logs are read, as in 2026-01-31T09:30Z, 90m, 36h, 3d')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/trace.ts')));
};

const examples = `
Examples:
  sis-relay trace 3f0c91aa-7d4e-4f0e-9d53-0c2f8a1b6e57
  sis-relay trace grade/2001/5001/301
  sis-relay trace --user 301 --org-unit 2001
  sis-relay trace 3f0c91aa --log --json

It changes nothing. It follows a message through its replays, forwards and backwards.
Without --log, a message that was done at its first try is found only by its resource.
The log is read from when the message was first received, or for the last day; the audit log, for the last 7 days.`;
