import type { Command } from 'commander';
import { changed, changedInEditor, changeFrom, removalOf } from '../../../dead-letters/edit/change.ts';
import { type EditOptions, editLetter } from '../../../dead-letters/edit/edit.ts';
import { RefusedError } from '../../../deployment/command-errors.ts';
import { type Cli, contextOf, reasonText, wholeNumber } from '../../command-context.ts';
import { differenceLines, editedLines } from '../../print/changes.ts';
import type { Terminal } from '../../print/terminal.ts';

type Given = Pick<EditOptions, 'reason' | 'includeUncertain' | 'reveal'> & {
  set?: string[];
  unset?: string[];
  wait: number;
};

const collect = (text: string, before: string[] = []): string[] => [...before, text];

export const addEdit = (letters: Command, cli: Cli): void => {
  letters
    .command('edit')
    .description('corrects the message of a letter and sends it; the original is kept')
    .argument('<id>', 'of the letter, or its beginning, or the id of its message')
    .requiredOption('--reason <text>', 'why, kept with the message and in the audit log', reasonText)
    .option('--set <field=value>', 'instead of opening an editor; can be given more than once', collect)
    .option('--unset <field>', 'takes a field away; can be given more than once', collect)
    .option(
      '--include-uncertain',
      'also a letter that is uncertain or outdated: you have looked what the platform holds',
      false,
    )
    .option('--reveal', 'show old values unmasked; this is written to the audit log', false)
    .option('--yes', 'do not ask whether the difference is right')
    .option('--wait <seconds>', 'wait n seconds for the outcome', wholeNumber(1, 3_600), 30)
    .addHelpText('after', examples)
    .action(async (id: string, { set = [], unset = [], wait, ...options }: Given, command: Command) => {
      const { target, audit, terminal, print, agreed, finish, checkAudit } = contextOf(cli, command);
      const changes = [...set.map(changeFrom), ...unset.map(removalOf)];
      await checkAudit();
      const { difference: _, ...edited } = await editLetter(target, {
        ...{ id, ...options, waitSeconds: wait, signal: terminal.signal, audit },
        isOpened: changes.length === 0,
        change: async (body, problem) => {
          if (changes.length === 0) return inEditor(body, problem, terminal);
          if (problem !== undefined) throw new RefusedError(`Nothing was sent. ${problem}`);
          return changed(body, changes);
        },
        confirm: async (difference) => {
          print({ difference }, () => differenceLines(difference, terminal));
          return agreed('Send it so?');
        },
      });
      print({ result: { ...edited, cameBackAs: edited.cameBackAs?.error } }, () =>
        editedLines(edited, terminal),
      );
      finish(edited.ended === 'through');
    });
};

/** Opens the message, and opens it again where it is not valid yet, with what was typed. */
const inEditor = async (body: string, problem: string | undefined, terminal: Terminal): Promise<string> => {
  if (problem !== undefined) {
    terminal.err(`${problem}\n`);
    const answer = await terminal.ask('Open it again? [Y/n] ');
    if (answer === undefined || /^n/i.test(answer.trim()) || terminal.signal.aborted)
      throw new RefusedError('Nothing was changed.');
  }
  return changedInEditor(body, terminal.edit);
};

const examples = `
Examples:
  sis-relay letters edit 3f0c91aa --reason "too many points" --set data.grade.points=7
  sis-relay letters edit 3f0c91aa --reason typo --unset data.coment --set data.comments="Well done"
  sis-relay letters edit 3f0c91aa --reason "wrong course"        opens $VISUAL or $EDITOR

An editor shows the message whole, and the audit log says so.
A value is JSON where it reads as such (7, true, "7"), else text.`;
