import type { Discarded } from '../dead-letters/discard.ts';
import type { Edited, EditPlan } from '../dead-letters/edit/edit.ts';
import { plain } from '../redaction/printable.ts';
import { countOf, numberOf } from './amounts.ts';
import { type Note, noteIf } from './view.ts';

/** The addresses of the archives are notes of their own, after the first. */
export const discardNotes = ({ discarded, failed, left, archives, backLater }: Discarded): Note[] => [
  ...noteIf(
    archives.length > 0,
    'good',
    `${countOf(discarded, 'letter was', 'letters were')} discarded. Archived in:`,
  ),
  ...archives.map((text): Note => ({ tone: 'plain', text })),
  ...noteIf(
    failed.length > 0,
    'bad',
    `${countOf(failed.length, 'letter')} could not be discarded (${failed[0]?.reason}).`,
  ),
  ...noteIf(
    left > 0,
    'warn',
    `Stopped: it was interrupted. ${countOf(left, 'letter was', 'letters were')} not discarded.`,
  ),
  ...noteIf(
    backLater > 0,
    'plain',
    `${countOf(backLater, 'letter becomes', 'letters become')} visible again when the lease ends.`,
  ),
];

/** What an edit does to all letters; the first is shown field by field. */
export const editPlanNotes = ({ letters, fields, unchanged, refused, gone }: EditPlan): Note[] => {
  const differing = Object.entries(fields).map(([field, count]) => `${plain(field)} in ${numberOf(count)}`);
  return [
    ...noteIf(
      letters > 1,
      'plain',
      `This is the first of ${countOf(letters, 'letter')}. Fields that change: ${differing.join(', ')}.`,
    ),
    ...noteIf(unchanged > 0, 'plain', `${countOf(unchanged, 'letter is', 'letters are')} left unchanged.`),
    ...noteIf(
      refused.length > 0,
      'warn',
      `${countOf(refused.length, 'letter')} would still be refused, and will not be changed: ${plain(refused[0]?.problem ?? '')}`,
    ),
    ...noteIf(gone > 0, 'warn', `${countOf(gone, 'letter')} could not be read.`),
  ];
};

/** What a field holds, before an edit or after it. */
export const valueText = (value: unknown): string => plain(JSON.stringify(value) ?? 'nothing');

export const originalNotes = ({ originals }: Pick<Edited, 'originals'>): Note[] => {
  const [first, ...others] = Object.values(originals);
  const more = others.length > 0 ? `, and ${others.length} more beside it` : '';
  return noteIf(first !== undefined, 'plain', `The original is kept in ${first}${more}`);
};
