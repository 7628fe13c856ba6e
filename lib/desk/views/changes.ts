import { outdatedAfterDays } from '../../message/retention.ts';
import { plain } from '../../runtime/privacy/printable.ts';
import type { DiscardPlan, DiscardResult } from '../messages/archive/discard.ts';
import type { ExportResult } from '../messages/archive/export.ts';
import type { ImportResult, OutdatedLine } from '../messages/archive/import.ts';
import type { Difference } from '../messages/edit/change.ts';
import type { EditPlan, EditResult, MergeResult } from '../messages/edit/edit.ts';
import type { ReindexResult } from '../messages/letters/reindex.ts';
import { countOf, numberOf } from './format.ts';
import { groupTable, matchText, remarksOnLetters } from './letters.ts';
import { list, type Note, type Piece, part, text, type View } from './view.ts';

export const discardPlanView = (plan: DiscardPlan): View => [
  { heading: matchText(plan.letters) },
  part(groupTable('What is discarded', plan.groups)),
  ...remarksOnLetters(plan),
];

export const discardedView = ({ discarded, failed, left, archives, backLater }: DiscardResult): View => [
  ...(archives.length === 0
    ? []
    : [
        {
          tone: 'good' as const,
          text: `${countOf(discarded, 'letter was', 'letters were')} discarded.`,
        },
        text('Archived in:'),
        list(foldersOf(archives)),
        ...foldersOf(archives).map((folder) => ({
          lead: discarded === 1 ? 'To restore it' : 'To restore them',
          command: `letters import ${folder}`,
        })),
      ]),
  failed.length > 0 && {
    tone: 'bad',
    text: `${countOf(failed.length, 'letter')} could not be discarded (${failed[0]?.reason}).`,
  },
  left > 0 && {
    tone: 'warn',
    text: `Stopped: it was interrupted. ${countOf(left, 'letter was', 'letters were')} not discarded.`,
  },
  backLater > 0 && {
    tone: 'plain',
    text: `${countOf(backLater, 'letter becomes', 'letters become')} visible again when the lease ends.`,
  },
];

/** One discard writes many files into its folder. */
const foldersOf = (addresses: readonly string[]): string[] => [
  ...new Set(addresses.map((address) => address.slice(0, address.lastIndexOf('/') + 1))),
];

export const reindexedView = ({ letters, added, removed, kept, copies, whole }: ReindexResult): View => [
  text(
    `${countOf(letters, 'letter was', 'letters were')} read from the queue: ${numberOf(added)} added to the lists, ${numberOf(removed)} removed from them.`,
  ),
  copies > 0 &&
    text(
      `${countOf(copies, 'further copy', 'further copies')} of these letters ${copies === 1 ? 'was' : 'were'} deleted.`,
    ),
  !whole && {
    tone: 'warn',
    text: 'Letters are in hand: another operator is at work, or a command ended without putting them back. Run this again later.',
  },
  kept > 0 &&
    text(
      `${countOf(kept, 'entry of a letter that could not be read stays', 'entries of letters that could not be read stay')}.`,
    ),
];

export const exportedView = ({ exported, gone, limitReached }: ExportResult, file: string): View => [
  ...(exported > 0
    ? [
        text(
          `${countOf(exported, 'letter was', 'letters were')} written to ${file}. ${exported === 1 ? 'It holds' : 'They hold'} personal data, unmasked.`,
        ),
      ]
    : [text(`${gone === 0 ? 'No letter matches, so nothing' : 'Nothing'} was written to ${file}.`)]),
  ...exportRemarks({ gone, limitReached }),
];

/** What an export left out. */
export const exportRemarks = ({ gone, limitReached }: Pick<ExportResult, 'gone' | 'limitReached'>): View => [
  gone > 0 && { tone: 'warn', text: `${goneText(gone)} Run the same command again later.` },
  limitReached && { more: 'These are as many as were asked for' },
];

/** Listed letters that were not received from the queue. */
export const goneText = (gone: number): string =>
  gone === 1
    ? '1 letter that matches could not be read: it is no longer in the queue, or another operator has it in hand.'
    : `${numberOf(gone)} letters that match could not be read: they are no longer in the queue, or another operator has them in hand.`;

const maxShown = 50;

/** The problems in lines of a file. */
export const problemView = (problems: readonly { line: number; problem: string }[]): View => [
  ...problems.slice(0, maxShown).map(({ line, problem }) => text(`line ${line}: ${problem}`)),
  problems.length > maxShown && text(`… and ${countOf(problems.length - maxShown, 'line')} more`),
];

/** The number of letters of a file that can be imported. */
export const importableIn = ({ letters, stillLetters = 0, repeated = [] }: ImportResult): number =>
  letters - stillLetters - repeated.length;

/** Letters of a file that are not imported, or not as they were. */
export const leftOutView = ({
  letters,
  stillLetters = 0,
  repeated = [],
  foreign = {},
}: ImportResult): View => [
  ...Object.entries(foreign).map(
    ([queue, count]): Note => ({
      tone: 'warn',
      text: `${countOf(count, 'letter is', 'letters are')} of the queue ${plain(queue)}, of another stage. A replay calls the platform of this stage.`,
    }),
  ),
  ...problemView(
    repeated.map((line) => ({ line, problem: 'repeats the letter of an earlier line, and is left out' })),
  ),
  stillLetters > 0 &&
    text(
      `${numberOf(stillLetters)} of ${countOf(letters, 'letter')} are in the dead-letter queue already, and are left out.`,
    ),
];

/** A warning before letters are imported that could overwrite something newer. */
export const outdatedView = (outdated: readonly OutdatedLine[]): View =>
  outdated.length === 0
    ? []
    : [
        ...problemView(outdated.map(({ line, time }) => ({ line, problem: `its message is from ${time}` }))),
        {
          tone: 'warn',
          text: `${countOf(outdated.length, 'message is', 'messages are')} older than ${outdatedAfterDays} days: the ledger may have forgotten what was done since, and a replay may then overwrite newer data. Check the platform before you replay them.`,
        },
      ];

/** The effect of an edit on all letters; the first is shown field by field. */
const editPlanNotes = ({ letters, fields, merged, unchanged, refused, gone }: EditPlan): View => {
  const differing = Object.entries(fields).map(([field, count]) => `${plain(field)} in ${numberOf(count)}`);
  return [
    letters > 1 && {
      tone: 'plain',
      text: `This is the first of ${countOf(letters, 'letter')}. Fields that change: ${differing.join(', ')}.`,
    },
    ...mergedNotes(merged),
    unchanged > 0 && {
      tone: 'plain',
      text: `${countOf(unchanged, 'letter is', 'letters are')} left unchanged.`,
    },
    refused.length > 0 && {
      tone: 'warn',
      text: `${countOf(refused.length, 'letter')} would still be refused, and will not be changed: ${plain(refused[0]?.problem ?? '')}`,
    },
    gone > 0 && { tone: 'warn', text: goneText(gone) },
  ];
};

export const mergedText = (merged: readonly MergeResult[]): string =>
  merged
    .map(
      ({ field, values, into }) =>
        `${numberOf(values)} different values of ${plain(field)} become ${into === 1 ? 'one' : numberOf(into)}`,
    )
    .join('; ');

const mergedNotes = (merged: readonly MergeResult[]): View =>
  merged.length === 0
    ? []
    : [
        {
          tone: 'bad',
          text: `${mergedText(merged)}. If each letter must have its own value, edit the letters one by one.`,
        },
      ];

/** The value of a field before or after an edit. */
const valueText = (value: unknown): string => plain(JSON.stringify(value) ?? 'nothing');

export const originalNotes = ({ originals }: Pick<EditResult, 'originals'>): View => {
  const [first, ...others] = Object.values(originals);
  const more = others.length > 0 ? `, and ${others.length} more beside it` : '';
  return [first !== undefined && { tone: 'plain', text: `The original is kept in ${first}${more}` }];
};

const fieldValue = (mark: string, value: unknown, tone: 'bad' | 'good'): Piece =>
  value === undefined ? '' : { text: `${mark} ${valueText(value)}`, tone };

export const editPlanView = (plan: EditPlan): View => [
  ...differenceView(plan.difference),
  part(...editPlanNotes(plan)),
];

export const differenceView = (difference: readonly Difference[]): View =>
  difference.flatMap(({ field, before, after }) => [
    text({ text: field, code: true }),
    list([fieldValue('-', before, 'bad'), fieldValue('+', after, 'good')].filter((each) => each !== '')),
  ]);
