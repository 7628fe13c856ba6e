import type { Group, Groups } from '../dead-letters/reading/groups.ts';
import type { LetterFacts } from '../dead-letters/reading/list.ts';
import type { Found } from '../dead-letters/reading/records.ts';
import type { LetterDetails } from '../dead-letters/reading/show.ts';
import type { PlannedGroup } from '../dead-letters/replay/plan.ts';
import { replayedOften } from '../desk/letter-kinds.ts';
import { plain } from '../redaction/printable.ts';
import { ageOf, countOf, numberOf } from './amounts.ts';
import { type Note, noteIf } from './view.ts';

/**
 * Whom and what a letter is about: user, course and thing, as in `301 · 2001 · grade object 5001`, and what the SIS calls them, as
 * far as its message did, as in `(s1234567 · MATH-101)`.
 */
export const subjectOf = ({
  user,
  orgUnit,
  thing,
  named,
}: Partial<Pick<LetterFacts, 'user' | 'orgUnit' | 'thing' | 'named'>>): string => {
  const bySis = named === undefined ? [] : [`(${plain(named)})`];
  if (user === undefined && orgUnit === undefined && thing === undefined) return bySis.join('');
  const byPlatform = [user ?? '–', orgUnit ?? '–', ...(thing === undefined ? [] : [thing])].join(' · ');
  return [byPlatform, ...bySis].join(' ');
};

/** What tells a cause from others at a glance: the platform's words, where there are any. */
export const causeText = ({ error, words }: Pick<PlannedGroup, 'error' | 'words'>): string =>
  plain(words[0] === undefined ? error : `${/^\d{3}(?= )/.exec(error)?.[0] ?? ''} ${words[0]}`.trim());

/** The failure's message is longer than `error`; that a message cannot be read must be said, too. */
export const whatHappened = ({ kind, error, failure }: LetterDetails): string => {
  if (failure === null) return error;
  return kind === 'unreadable' ? `${error}. ${failure.message}` : failure.message;
};

/** What to do about the letters of a cause. */
export const adviceNotes = (group: Pick<Group, 'remedy' | 'grants' | 'replayedOften'>): Note[] => {
  const often = countOf(group.replayedOften, 'letter was', 'letters were');
  return [
    { tone: 'todo', text: plain(group.remedy) },
    ...noteIf(group.grants.length > 1, 'plain', plain(`Scopes to ask for: ${group.grants.join(', ')}`)),
    ...noteIf(
      group.replayedOften > 0,
      'warn',
      `${often} replayed ${replayedOften} times or more: find the cause first.`,
    ),
  ];
};

export const groupsText = ({ groups, matching }: Pick<Groups, 'groups' | 'matching'>): string => {
  const oldest = ageOf(Math.min(...groups.map(({ oldestMs }) => oldestMs)));
  const newest = ageOf(Math.max(...groups.map(({ newestMs }) => newestMs)));
  return `${countOf(matching, 'dead letter')} in ${countOf(groups.length, 'group')}, the oldest ${oldest}, the newest ${newest} old`;
};

export const matchText = (letters: number): string => countOf(letters, 'letter matches', 'letters match');

type Counted = Pick<Found, 'listed' | 'queued'>;

export const nothingText = ({ listed, queued }: Counted, name: string): string =>
  queued === 0 || listed === 0 ? `${name}: there are no dead letters.` : `${name}: no dead letter matches.`;

/** Where the lists and the queue differ; without the full stop, as more may follow. Undefined: they do not. */
export const differText = ({ listed, queued }: Counted): string | undefined =>
  listed === undefined || listed === queued
    ? undefined
    : `SQS counts about ${countOf(queued, 'letter')}, but the lists have ${numberOf(listed)}. The lists are corrected every 15 minutes`;

/** `warn`: it may go away by itself. `bad`: a person must act. */
export const kindTone = (kind: string): 'warn' | 'bad' =>
  /^(credentials|throttled|unavailable)$/.test(kind) ? 'warn' : 'bad';
