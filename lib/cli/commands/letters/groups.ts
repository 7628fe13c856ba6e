import type { Command } from 'commander';
import { groupLetters } from '../../../dead-letters/reading/list.ts';
import { addFilterOptions, type Cli, contextOf } from '../../command-context.ts';
import { groupsLines } from '../../print/letters.ts';

export const addGroups = (letters: Command, cli: Cli): void => {
  addFilterOptions(
    letters.command('groups').description('counts letters by cause, and says what to do about each'),
  )
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const { target, filter, terminal, signal, print, finish } = contextOf(cli, command);
      const found = await groupLetters(target, filter, { signal });
      print(found, () => groupsLines(found, { target, terminal }));
      finish(found.matching > 0);
    });
};

const examples = `
Examples:
  sis-relay letters groups
  sis-relay letters groups --since 24h
  sis-relay letters groups --function grade-push --status 403`;
