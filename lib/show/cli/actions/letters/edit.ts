import { changed, changedInEditor, changeFrom, removalOf } from '../../../../operate/messages/edit/change.ts';
import { editLetters } from '../../../../operate/messages/edit/edit.ts';
import { findLetter } from '../../../../operate/messages/letters/list.ts';
import { RefusedError, UsageError } from '../../../../operate/stage/command-errors.ts';
import { countOf } from '../../../views/amounts.ts';
import { editPlanView, originalNotes } from '../../../views/changes.ts';
import { canaryView, resultView } from '../../../views/plan.ts';
import type { CommandContext } from '../../command-context.ts';
import { createProgress } from '../../print/progress.ts';
import type { Terminal } from '../../print/terminal.ts';
import { type GivenRun, runOptionsOf } from './run-options.ts';

export const act = async (
  context: CommandContext,
  id: string | undefined,
  { set = [], unset = [], reason, includeUncertain, reveal, limit, ...options }: Given,
): Promise<void> => {
  const { target, audit, terminal, filter: given, isJson, print, agreed, finish } = context;
  const { signal } = terminal;
  const changes = [...set.map(changeFrom), ...unset.map(removalOf)];
  if (id === undefined && Object.keys(given).length === 0)
    throw new UsageError('Which letters? Pass the id of one, or a filter such as --kind invalid.');
  await context.checkAudit();
  const filter = id === undefined ? given : { id: [(await findLetter(target, id, signal)).id] };
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
      if (canary.letters > 1) print({ canary }, () => canaryView(canary));
    },
    confirm: async (plan) => {
      reading.end();
      print({ difference: plan.difference, plan }, () => editPlanView(plan));
      return agreed(
        plan.letters === 1 ? 'Send it like this?' : `Send ${countOf(plan.letters, 'letter')} like this?`,
      );
    },
  }).finally(() => {
    reading.end();
    sending.end();
  });
  print({ result: edited }, () => [...resultView(edited), ...originalNotes(edited)]);
  const { sent = 0, cameBack = 0, setAside = 0, notTried = 0 } = edited.counts ?? {};
  // Messages that wait, or whose outcome is unknown, were sent all the same.
  finish(edited.ended === 'done' && sent > 0 && cameBack + setAside + notTried === 0);
};

type Given = GivenRun & {
  reason: string;
  includeUncertain: boolean;
  reveal: boolean;
  set?: string[];
  unset?: string[];
  limit?: number;
};

/** Opens the message in the editor, and again with the typed text until it is valid. */
const inEditor = async (body: string, problem: string | undefined, terminal: Terminal): Promise<string> => {
  if (problem !== undefined) {
    terminal.err(`${problem}\n`);
    const answer = await terminal.ask('Open it again? [Y/n] ');
    if (answer === undefined || /^n/i.test(answer.trim()) || terminal.signal.aborted)
      throw new RefusedError('Nothing was changed.');
  }
  return changedInEditor(body, terminal.edit);
};
