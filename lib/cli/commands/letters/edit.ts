import type { Command } from 'commander';
import { changed, changedInEditor, changeFrom, removalOf } from '../../../dead-letters/edit/change.ts';
import { editLetters } from '../../../dead-letters/edit/edit.ts';
import { findLetter } from '../../../dead-letters/reading/find.ts';
import { RefusedError, UsageError } from '../../../deployment/command-errors.ts';
import { countOf } from '../../../wording/amounts.ts';
import { addFilterOptions, type Cli, contextOf, reasonText, wholeNumber } from '../../command-context.ts';
import { editPlanLines, originalLines } from '../../print/changes.ts';
import { canaryLines, resultLines } from '../../print/plan.ts';
import { createProgress } from '../../print/progress.ts';
import type { Terminal } from '../../print/terminal.ts';
import { addRunOptions, type GivenRun, runOptionsOf } from './run-options.ts';

type Given = GivenRun & {
  reason: string;
  includeUncertain: boolean;
  reveal: boolean;
  set?: string[];
  unset?: string[];
  limit?: number;
};

const collect = (text: string, before: string[] = []): string[] => [...before, text];

export const addEdit = (letters: Command, cli: Cli): void => {
  const command = letters
    .command('edit')
    .description('corrects the messages of letters and sends them; the originals are kept')
    .argument('[id]', 'of one letter, or its beginning, or the id of its message; else give a filter')
    .requiredOption('--reason <text>', 'why, kept with the message and in the audit log', reasonText)
    .option('--set <field=value>', 'instead of opening an editor; can be given more than once', collect)
    .option('--unset <field>', 'takes a field away; can be given more than once', collect)
    .option(
      '--include-uncertain',
      'also letters that are uncertain or outdated: you have looked what the platform holds',
      false,
    )
    .option('--reveal', 'show old values unmasked; this is written to the audit log', false)
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--yes', 'do not ask whether the difference is right');
  addFilterOptions(addRunOptions(command, { rate: 20, wait: '--wait' }))
    .addHelpText('after', examples)
    .action(
      async (
        id: string | undefined,
        { set = [], unset = [], reason, includeUncertain, reveal, limit, ...options }: Given,
        command: Command,
      ) => {
        const { target, audit, terminal, isJson, print, agreed, finish, ...context } = contextOf(
          cli,
          command,
        );
        const { signal } = terminal;
        const changes = [...set.map(changeFrom), ...unset.map(removalOf)];
        if (id === undefined && Object.keys(context.filter).length === 0)
          throw new UsageError('Which letters? Give the id of one, or a filter as in --kind invalid.');
        await context.checkAudit();
        const filter =
          id === undefined ? context.filter : { id: [(await findLetter(target, id, signal)).id] };
        const reading = createProgress(terminal, 'Reading letters');
        const sending = createProgress(terminal, 'Sent');
        const { plan: _, ...edited } = await editLetters(target, {
          ...{ reason, includeUncertain, reveal, limit, filter, signal, audit },
          ...runOptionsOf(options, { terminal, isJson }),
          isOpened: changes.length === 0,
          change: async (body, problem) => {
            reading.end();
            if (changes.length === 0) return inEditor(body, problem, terminal);
            if (problem !== undefined) throw new RefusedError(problem);
            return changed(body, changes);
          },
          onProgress: reading.show,
          onSent: sending.show,
          onCanary: (canary) => {
            sending.end();
            if (canary.letters > 1) print({ canary }, () => ['', ...canaryLines(canary, terminal)]);
          },
          confirm: async (plan) => {
            reading.end();
            print({ difference: plan.difference, plan }, () => editPlanLines(plan, terminal));
            return agreed(plan.letters === 1 ? 'Send it so?' : `Send ${countOf(plan.letters, 'letter')} so?`);
          },
        }).finally(() => {
          reading.end();
          sending.end();
        });
        print({ result: edited }, () => [...resultLines(edited, terminal), ...originalLines(edited)]);
        const { sent = 0, cameBack = 0, setAside = 0, notTried = 0 } = edited.counts ?? {};
        // What waits, or is not known yet, was sent all the same.
        finish(edited.ended === 'done' && sent > 0 && cameBack + setAside + notTried === 0);
      },
    );
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
  sis-relay letters edit --kind invalid --reason "no points" --set data.grade.points=0

An editor shows the message whole, and the audit log says so.
A value is JSON where it reads as such (7, true, "7"), else text.`;
