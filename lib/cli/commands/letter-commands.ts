import type { Command } from 'commander';
import { showLetter } from '../../dead-letters/reading/find.ts';
import { groupLetters } from '../../dead-letters/reading/groups.ts';
import type { Letter } from '../../dead-letters/reading/letter.ts';
import { listLetters } from '../../dead-letters/reading/list.ts';
import {
  type Around,
  addFilterOptions,
  auditOf,
  filterOf,
  isJson,
  printJson,
  printLines,
  targetOf,
  wholeNumber,
  withProgress,
} from '../command-context.ts';
import { storyLines, storyOf } from '../print/letter-details.ts';
import { groupsLines, listLines } from '../print/letters.ts';

const reading = 'Reading letters';

/** The commands that only look. */
export const addLetterCommands = (letters: Command, around: Around): void => {
  const { signal } = around.terminal;

  addFilterOptions(
    letters.command('groups').description('counts letters by cause, and says what to do about each'),
  )
    .addHelpText('after', groupsExamples)
    .action(async (_options, command: Command) => {
      const target = targetOf(command);
      const filter = filterOf(command);
      const found = await withProgress(around, reading, (onProgress) =>
        groupLetters(target, filter, { signal, onProgress }),
      );
      if (isJson(command)) printJson(around, found);
      else printLines(around, groupsLines(found, { target, terminal: around.terminal }));
      around.finish(found.matching > 0);
    });

  addFilterOptions(letters.command('list').description('lists letters, the oldest first'))
    .option('--limit <n>', 'no more than so many', wholeNumber(1, 10_000), 50)
    .addHelpText('after', listExamples)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const target = targetOf(command);
      const filter = filterOf(command);
      const found = await withProgress(around, reading, (onProgress) =>
        listLetters(target, { filter, limit }, { signal, onProgress }),
      );
      if (isJson(command)) for (const letter of found.letters) printJson(around, letter);
      else printLines(around, listLines(found, { target, terminal: around.terminal }));
      around.finish(found.matching > 0);
    });

  letters
    .command('show')
    .description('tells the whole story of one letter')
    .argument('<id>', 'of the letter, or its beginning, or the id of its message')
    .option('--reveal', 'show names, grades, comments and free text too; this is written to the audit log')
    .addHelpText('after', showExamples)
    .action(async (id: string, { reveal = false }: { reveal?: boolean }, command: Command) => {
      const target = targetOf(command);
      const audit = reveal
        ? await auditOf(around, target, command).begin({ command: 'letters show --reveal', letters: [id] })
        : undefined;
      let revealed = 0;
      let letter: Letter;
      try {
        letter = await withProgress(around, reading, (onProgress) =>
          showLetter(target, { id, signal, onProgress }),
        );
        revealed = 1;
      } finally {
        await audit?.end({ revealed });
      }
      const story = storyOf(letter, { reveal });
      if (isJson(command)) printJson(around, story);
      else printLines(around, storyLines(story, around.terminal));
    });
};

const groupsExamples = `
Examples:
  sis-relay letters groups
  sis-relay letters groups --since 24h
  sis-relay letters groups --function grade-push --status 403`;

const listExamples = `
Examples:
  sis-relay letters list --kind rejected
  sis-relay letters list --user 301 --org-unit 2001
  sis-relay letters list --min-replays 5`;

const showExamples = `
Examples:
  sis-relay letters show 3f0c91aa
  sis-relay letters show 3f0c91aa --reveal`;
