import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';

export const addCheckMessage = (program: Command, cli: Cli): void => {
  program
    .command('check-message')
    .description('says what the function of its queue would say of a message, and sends nothing')
    .argument('[file]', 'JSON (a message, a list, an event of Lambda) or JSON Lines; -: standard input', '-')
    .addOption(
      new Option('--format <format>', 'format, if neither name nor content shows it').choices([
        'json',
        'jsonl',
      ]),
    )
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/check-message.ts')));
};

const examples = `
Examples:
  sis-relay check-message events/grade-push.json
  ./next-events | sis-relay check-message
  sis-relay check-message outbox.jsonl --json

It needs no stage and no network, and shows no value of a message. It checks the envelope, the
fields and the limits of SQS by the functions’ own code. It does not know what the platform and the
ledger hold: whether an id exists, a file can be read, or a newer message was done.
Exit status: 0 all messages are valid, 1 one is not, or there is none, 2 the file cannot be read.`;
