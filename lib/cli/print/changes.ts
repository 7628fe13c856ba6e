import type { Discarded, DiscardPlan } from '../../dead-letters/discard.ts';
import type { Difference } from '../../dead-letters/edit/change.ts';
import type { Edited, EditPlan } from '../../dead-letters/edit/edit.ts';
import type { Exported } from '../../dead-letters/export.ts';
import type { Outdated } from '../../dead-letters/import.ts';
import type { Target } from '../../deployment/target.ts';
import { outdatedAfterDays } from '../../ledger/memory.ts';
import { plain } from '../../redaction/printable.ts';
import { countOf } from '../../views/amounts.ts';
import { discardNotes, editPlanNotes, originalNotes, valueText } from '../../views/changes.ts';
import { matchText } from '../../views/letters.ts';
import { groupTable, remarks } from './letters.ts';
import { wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

export const discardPlanLines = (
  plan: DiscardPlan,
  { terminal, target }: { terminal: Terminal; target: Target },
): string[] => {
  const { groups, letters } = plan;
  const { header, rows } = groupTable(groups, terminal);
  return [
    terminal.style('bold', `${target.prefix.slice(0, -1)}: ${matchText(letters)}`),
    ...(letters === 0 ? [] : ['', terminal.style('dim', header)]),
    ...rows.values(),
    ...(letters === 0 ? [] : ['']),
    ...remarks(plan, terminal),
  ];
};

export const discardLines = (result: Discarded): string[] =>
  discardNotes(result).map(({ text }) => (result.archives.includes(text) ? `  ${text}` : text));

export const exportLines = (result: Exported, file: string): string[] =>
  result.exported === 0
    ? [`No letter matches, so ${file} was not written.`]
    : [
        `${countOf(result.exported, 'letter was', 'letters were')} written to ${file}. They hold personal data, unmasked.`,
        ...(result.gone > 0
          ? [
              `${countOf(result.gone, 'letter')} could not be read: they are no longer in the queue, or another operator has them in hand.`,
            ]
          : []),
        ...(result.limitReached ? ['These are as many as --limit allows. There are more.'] : []),
      ];

/** What an edit changes: of the first letter, and of all. */
export const editPlanLines = (plan: EditPlan, terminal: Terminal): string[] => [
  ...differenceLines(plan.difference, terminal),
  ...(plan.letters > 1 ? [''] : []),
  ...editPlanNotes(plan).map(({ text }) => text),
];

export const differenceLines = (difference: Difference[], { style }: Terminal): string[] =>
  difference.flatMap(({ field, before, after }) => [
    style('bold', plain(field)),
    ...(before === undefined ? [] : [style('red', `  - ${valueText(before)}`)]),
    ...(after === undefined ? [] : [style('green', `  + ${valueText(after)}`)]),
  ]);

export const originalLines = (edited: Pick<Edited, 'originals'>): string[] =>
  originalNotes(edited).map(({ text }) => text);

/** Before letters are imported that could undo what is newer. */
export const outdatedLines = (outdated: Outdated[], { width }: Terminal): string[] => [
  ...problemLines(outdated.map(({ line, time }) => ({ line, problem: `its message is from ${time}` }))),
  ...wrapped(
    `${countOf(outdated.length, 'message is', 'messages are')} older than ${outdatedAfterDays} days: the ledger may have forgotten what was done since, and a replay may then overwrite newer data. Check the platform before you replay them.`,
    width,
  ),
];

const maxShown = 50;

export const problemLines = (problems: { line: number; problem: string }[]): string[] => [
  ...problems.slice(0, maxShown).map(({ line, problem }) => `line ${line}: ${plain(problem)}`),
  ...(problems.length > maxShown ? [`… and ${countOf(problems.length - maxShown, 'line')} more`] : []),
];
