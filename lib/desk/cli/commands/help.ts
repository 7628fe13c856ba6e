import type { Command } from 'commander';
import { nearest } from '../../../stage/nearest.ts';

/** Commander's own help command does not support nested commands such as `help letters replay`. */
export const addHelp = (program: Command): void => {
  program
    .command('help')
    .description('shows how a command is used, as --help does')
    .argument('[command...]', 'the command, as in letters replay')
    .addHelpText('after', examples)
    .action((names: string[]) => {
      let at = program;
      for (const name of names) {
        const next = at.commands.find((each) => each.name() === name);
        if (next === undefined) {
          const near = nearest(
            name,
            at.commands.map((each) => each.name()),
          );
          return at.error(
            `error: unknown command '${name}'${near === undefined ? '' : `\n(Did you mean ${near}?)`}`,
          );
        }
        at = next;
      }
      at.outputHelp();
    });
};

const examples = `
Examples:
  sis-relay help
  sis-relay help letters replay`;
