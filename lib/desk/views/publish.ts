import { problemsText, type ShownProblem } from '../../message/failure.ts';
import { outdatedAfterDays } from '../../message/retention.ts';
import type { CheckResult } from '../messages/publish/check.ts';
import type { PublishOutcomes } from '../messages/publish/outcomes.ts';
import type { PublishResult } from '../messages/publish/publish.ts';
import { problemView } from './changes.ts';
import { countOf, numberOf } from './format.ts';
import { letterLink } from './letters.ts';
import { table, text, type View } from './view.ts';

/** `remedy`: what to do about messages that are too old. */
export const publishedNotes = ({ sent, ...checked }: PublishResult, remedy?: string): View => {
  const { valid, invalid, same } = checked;
  const notes = checkedNotes(checked, `; ${sent} sent`, remedy);
  if (sent === 0 && invalid > 0) return notes;
  return [
    ...notes,
    valid > same &&
      text(
        `${countOf(valid - same, 'message has', 'messages have')} the time of publishing, and so ${valid - same === 1 ? 'replaces' : 'replace'} what was sent before.`,
      ),
    same > 0 &&
      text(
        `${countOf(same, 'message is the same', 'messages are the same')} each time that you publish this file. What was done before is not done again.`,
      ),
  ];
};

const checkedNotes = (
  { valid, invalid, skipped, functions, outdated }: CheckResult,
  more = '',
  remedy = '',
): View => {
  const each = Object.entries(functions).map(([of, count]) => `${numberOf(count)} for ${of}`);
  return [
    outdated > 0 && {
      tone: 'warn',
      text: `${countOf(outdated, 'message is', 'messages are')} older than ${outdatedAfterDays} days. Such a message is parked as outdated if the ledger does not know its resource.${remedy}`,
    },
    skipped > 0 && {
      tone: 'plain',
      text: `${countOf(skipped, 'row makes', 'rows make')} no message, according to the mapping.`,
    },
    {
      tone: 'plain',
      text: `${countOf(valid, 'valid message')}${each.length > 0 ? ` (${each.join(', ')})` : ''}, ${invalid} not valid${more}.`,
    },
  ];
};

export type FieldProblem = ShownProblem & { line: number };

type CheckedMessages = Omit<CheckResult, 'skipped' | 'same'> & { problems: FieldProblem[] };

/** What the functions would say of messages that are not sent, field by field. */
export const checkedMessagesView = ({ problems, ...checked }: CheckedMessages, name: string): View => [
  checked.valid + checked.invalid === 0 && { tone: 'warn', text: `${name} holds no message.` },
  ...problemView(problems.map(({ line, ...each }) => ({ line, problem: problemsText([each]) }))),
  ...checkedNotes({ ...checked, skipped: 0, same: 0 }),
];

/** `3 done, 1 waiting.` */
const outcomesText = (outcomes: PublishOutcomes['outcomes']): string => {
  const counts = Object.entries(outcomes).flatMap(([outcome, count]) =>
    count > 0 ? `${numberOf(count)} ${outcome}` : [],
  );
  return `${counts.join(', ')}.`;
};

const maxShown = 200;

/** The outcomes, with a row for each message that is not done. */
export const outcomesView = ({ messages, outcomes, unread }: PublishOutcomes): View => {
  const open = messages.filter(({ outcome }) => !['done', 'duplicate', 'superseded'].includes(outcome));
  return [
    text(outcomesText(outcomes)),
    outcomes.duplicate > 0 && text('Duplicate: this very message was done before, and was not done again.'),
    outcomes.superseded > 0 &&
      text(
        'Superseded: a newer message about the same resource was done, and the platform keeps its values.',
      ),
    table(
      'What was not done',
      open.slice(0, maxShown),
      {
        Line: ({ line }) => line,
        Function: ({ function: name }) => name,
        Event: ({ eventId }) => eventId,
        Outcome: ({ outcome, kind = '' }) => `${outcome} ${kind}`.trim(),
        Letter: ({ messageId, outcome }) => (outcome === 'letter' ? letterLink(messageId) : ''),
      },
      // Shown whole: two causes that are cut may look the same.
      { under: ({ error }) => (error === undefined ? [] : [text(error)]) },
    ),
    open.length > maxShown && text(`These are the first ${maxShown} of ${numberOf(open.length)}.`),
    unread && { tone: 'warn', text: 'The outcomes of the others could not be read.' },
  ];
};
