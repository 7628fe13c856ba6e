import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { wholeNumber } from '../options.ts';

export const addConsole = (program: Command, cli: Cli): void => {
  program
    .command('console')
    .description('opens the console in a browser on this machine; it has your rights on AWS')
    .option('--port <n>', 'port on this machine; 0: any free port', wholeNumber(0, 65_535), 4747)
    .option('--no-open', 'print the address, and open no browser')
    .option('--read-only', 'show everything, and allow no changes', false)
    .addOption(
      new Option('--idle <minutes>', 'end after this many minutes without use')
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

Every screen has a path of its own, so a colleague can open it in their own console of the same stage.
The console answers only this machine. It ends with Ctrl-C, or when it is not used.`;
