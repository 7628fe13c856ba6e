import type { Verified } from '../dead-letters/verify/verify.ts';
import { countOf } from './amounts.ts';
import { type Note, noteIf } from './view.ts';

/** What follows from what was found of an uncertain letter. */
export const verdicts: Record<Verified['letters'][number]['found'], Note> = {
  found: { tone: 'good', text: 'it was done, so the letter can be discarded' },
  absent: { tone: 'warn', text: 'it was not done, so the letter can be replayed' },
  unclear: { tone: 'bad', text: 'these letters stay' },
};

export const noneUncertainText = (name: string): string =>
  `${name}: no letter is uncertain, or none matches.`;

/** Letters that were there when it was looked, and are not now. */
export const goneNotes = (count: number): Note[] =>
  noteIf(
    count > 0,
    'plain',
    `${countOf(count, 'letter is', 'letters are')} no longer there: another operator has handled them.`,
  );
