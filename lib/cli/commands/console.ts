import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { wholeNumber } from '../options.ts';

export const addConsole = (program: Command, cli: Cli): void => {
  program
    .command('console')
    .description('serves the desk to a browser on this machine, with your rights')
    .option(
      '--port <n>',
      'where it listens, on this machine alone; 0: any that is free',
      wholeNumber(0, 65_535),
      4747,
    )
    .option('--no-open', 'only print the address')
    .option('--read-only', 'show everything, change nothing', false)
    .addOption(
      new Option('--idle <minutes>', 'end after so long without use')
        .default(30)
        .argParser(wholeNumber(1, 1_440)),
    )
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/console.ts')));
};

const examples = `
Examples:
  sis-relay console --stage prod
  sis-relay console --local --read-only
  sis-relay console --local --port 0 --no-open --json

Every screen has a path of its own: a colleague opens it behind the address of their own console of the same stage.
It answers to this machine alone, and ends with Ctrl-C or when nobody uses it.`;
