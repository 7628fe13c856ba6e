import type { UndecidedKind } from '../../message/failure-kinds.ts';
import { jsonIn } from '../../message/json.ts';
import type { Filter } from '../messages/letters/filter.ts';
import type { RevealedLetter, SideBySide } from '../messages/verify/compare.ts';
import type { VerifyResult } from '../messages/verify/verify.ts';
import { filterOptions } from './filter-options.ts';
import { countOf, numberOf } from './format.ts';
import { about, letterLink, revealCommand, subjectOf } from './letters.ts';
import {
  type Block,
  badge,
  type Form,
  href,
  list,
  type Note,
  part,
  section,
  type Tone,
  table,
  text,
  type View,
} from './view.ts';

type LookUpFinding = VerifyResult['letters'][number]['found'];

/** What the look's result means for an uncertain letter. */
const verdicts: Record<LookUpFinding, Note> = {
  found: { tone: 'good', text: 'it was done, so the letter can be discarded' },
  absent: { tone: 'warn', text: 'it was not done, so the letter can be replayed' },
  unclear: { tone: 'bad', text: 'these letters stay' },
};

/** What was seen, where the look itself says no more. */
const seenTexts: Record<LookUpFinding, string> = {
  found: 'the platform shows it',
  absent: 'the platform does not show it, and its call can no longer act',
  unclear: '',
};

/** What the audit log says of a decision that follows from the look. */
export const verifyReasons = {
  found: 'verify: found on the platform',
  absent: 'verify: not found on the platform',
  unclear: '',
};

/** `isRevealed`: what is unclear is shown unmasked, too. */
export const verifiedView = (
  { letters, ...counts }: VerifyResult,
  name: string,
  { isRevealed = false } = {},
): View => {
  if (letters.length === 0) return [text(`${name}: no letter is uncertain, or none matches.`)];
  const unclear = letters.filter(({ found }) => found === 'unclear');
  return [
    part(
      table('What was looked up', letters, {
        Letter: ({ id }) => letterLink(id),
        Function: (letter) => letter.function || '–',
        ...about,
        Found: ({ found }) => badge(found, verdicts[found].tone),
        Why: ({ found, why = seenTexts[found] }) => why,
        Decide: ({ id, found }) => ({ ...decisionForm(id, verifyReasons[found]), summary: 'Decide' }),
      }),
    ),
    ...(['found', 'absent', 'unclear'] as const).map((found) => {
      const { tone, text } = verdicts[found];
      return counts[found] > 0 && { tone, text: `${counts[found]} ${found}: ${text}` };
    }),
    list(
      [...Map.groupBy(unclear, ({ why = '' }) => why)].map(
        ([why, each]) => `${numberOf(each.length)}: ${why}`,
      ),
    ),
    ...deciding(unclear, isRevealed && unclear.length <= maxRevealed),
  ];
};

/** What a person does about letters that no look decides. */
const deciding = (unclear: VerifyResult['letters'], areRevealed: boolean): View => {
  const ids = unclear.slice(0, maxNamed).map(({ id }) => id.slice(0, 8));
  const [id] = ids;
  if (id === undefined) return [];
  return [
    !areRevealed && { lead: 'To see what to look for', command: revealCommand(`--id ${ids.join(' ')} `) },
    {
      lead: 'To discard one that was done or replaced',
      command: `letters discard --id ${id} --reason <why>`,
    },
    {
      lead: 'To send one that was not',
      command: `letters replay --id ${id} --include-uncertain --reason <why>`,
    },
    !areRevealed && revealForm(unclear.map((letter) => letter.id)),
  ];
};

/** More ids would be too many to type. */
const maxNamed = 5;
export const maxRevealed = 20;

/** Reveals the oldest of these letters together, for one reason. What is outdated is compared with the platform. */
export const revealForm = (
  ids: readonly string[],
  { kind = 'uncertain', isMain = false }: { kind?: UndecidedKind; isMain?: boolean } = {},
): Form => {
  const count = ids.length > maxRevealed ? `the oldest ${maxRevealed}` : countOf(ids.length, 'letter');
  const form = {
    action: '/uncertain/reveal',
    fields: [{ reason: 'required' as const }],
    hidden: {
      id: ids.slice(0, maxRevealed),
      kind: [kind],
      more: String(Math.max(0, ids.length - maxRevealed)),
    },
  };
  return kind === 'outdated'
    ? { ...form, ...(isMain && { isMain }), buttons: [{ text: `Compare ${count} with the platform` }] }
    : { ...form, summary: `Reveal ${count} to decide`, buttons: [{ text: 'Reveal' }] };
};

type Revealed = {
  /** Why they were revealed. */
  reason: string | undefined;
  /** How many others need a decision, and the filter of all. */
  more: number;
  filter: Filter;
  /** Others are shown before them. */
  isPart?: boolean;
};

/** All that is needed to decide on letters: what to look for, and what each is about. */
export const revealedView = (
  letters: readonly RevealedLetter[],
  { reason, more, filter, isPart = false }: Revealed,
): View => [
  letters.length === 0 && !isPart && { tone: 'warn', text: 'None of these letters can be read now.' },
  ...letters.map((letter) =>
    section(
      `${letter.function}, letter ${letter.id.slice(0, 8)}`,
      { tone: 'todo', text: letter.remedy },
      { document: letter.message, label: `Message of ${letter.id.slice(0, 8)}` },
      ...comparisonView(letter),
      decisionForm(letter.id, reason, letter.kind),
    ),
  ),
  more > 0 && {
    tone: 'plain',
    text: `And ${numberOf(more)} more. Decide on these, then look again; or export all of them`,
    to: href('/export', filter),
    command: `letters export ${filterOptions(filter)} --to letters.jsonl --reason <why>`,
  },
];

/** What an outdated message sets beside what the platform shows. */
export const comparisonView = ({ comparison }: RevealedLetter): View => {
  if (comparison === undefined) return [];
  if ('unknown' in comparison)
    return [{ tone: 'warn', text: `Not compared with the platform: ${comparison.unknown}.` }];
  const { fields, sentAt, changedAt } = comparison;
  const note = findingNotes[findingOf(comparison)];
  return [
    table('The message and the platform', fields, {
      // The ledger's name for what has no fields, as an enrollment.
      Field: ({ field }) => (field === 'whole' ? 'all of it' : field),
      'This message': ({ sent }) => sent,
      'The platform': ({ shown = 'not shown' }) => shown || 'nothing',
    }),
    text(
      `The message is from ${sentAt}. ${changedAt === undefined ? 'The platform does not say when it last changed this.' : `The platform last changed this at ${changedAt}.`}`,
    ),
    note !== undefined && note,
  ];
};

type Finding = 'unknown' | 'same' | 'nothing there' | 'differs' | 'newer there' | 'older there';

const findingOf = (comparison: SideBySide | undefined): Finding => {
  if (comparison === undefined || 'unknown' in comparison) return 'unknown';
  const { fields, sentAt, changedAt } = comparison;
  if (fields.every(({ sent, shown }) => sent === shown)) return 'same';
  // What the platform does not show may be there.
  const isEmpty = fields.every(({ shown = '' }) => shown === '');
  if (isEmpty) return fields.some(({ shown }) => shown === '') ? 'nothing there' : 'unknown';
  if (changedAt === undefined) return 'differs';
  return Date.parse(changedAt) > Date.parse(sentAt) ? 'newer there' : 'older there';
};

const findingTones: Record<Finding, Tone> = {
  unknown: 'unknown',
  same: 'good',
  'nothing there': 'warn',
  differs: 'unknown',
  'newer there': 'good',
  'older there': 'warn',
};

/** What follows from it, where only one decision is likely. */
const findingNotes: Partial<Record<Finding, Note>> = {
  same: {
    tone: 'good',
    text: 'The platform holds what this message sets, so the letter can be discarded.',
  },
  'nothing there': {
    tone: 'warn',
    text: 'Nothing is there. Unless it was removed on purpose, the letter can be sent.',
  },
};

/** What outdated messages set beside what the platform shows, one a row. */
export const comparedTable = (
  letters: readonly RevealedLetter[],
  subjects: ReadonlyMap<string, Parameters<typeof subjectOf>[0]>,
): Block =>
  table('The messages and the platform', letters, {
    Tick: ({ id }) => ({ tick: id }),
    Letter: ({ id }) => letterLink(id),
    'User · org unit · thing': ({ id }) => subjectOf(subjects.get(id) ?? {}) || '–',
    'This message': ({ comparison, message }) =>
      comparison && 'fields' in comparison
        ? valuesText(comparison.fields.map(({ field, sent }) => [field, sent]))
        : JSON.stringify(message),
    'Changed in the SIS': ({ comparison }) =>
      comparison && 'fields' in comparison ? dateText(comparison.sentAt) : '–',
    'The platform': ({ comparison }) =>
      comparison && 'fields' in comparison
        ? valuesText(comparison.fields.map(({ field, shown }) => [field, shown]))
        : `not compared: ${comparison?.unknown ?? 'it was not asked'}`,
    'Changed there': ({ comparison }) =>
      comparison && 'fields' in comparison ? dateText(comparison.changedAt) : '–',
    Compared: ({ comparison }) => {
      const finding = findingOf(comparison);
      return badge(finding, findingTones[finding]);
    },
  });

/** `2026-03-01 09:12`. */
const dateText = (time: string | undefined): string => time?.slice(0, 16).replace('T', ' ') ?? 'not shown';

/** `PointsNumerator 8.5 · comments Good`. */
const valuesText = (fields: readonly [field: string, value: string | undefined][]): string =>
  fields.map(([field, value]) => valueText(field, value)).join(' · ');

const valueText = (field: string, value: string | undefined): string => {
  const parsed = jsonIn(value ?? '');
  if (typeof parsed === 'object' && parsed !== null)
    return Object.entries(parsed)
      .filter(([name]) => name !== 'GradeObjectType')
      .map(([name, each]) => `${name} ${each}`)
      .join(', ');
  const text = value === undefined ? 'not shown' : value || 'nothing';
  // The ledger's name for what has no fields, as an enrollment.
  return field === 'whole' ? text : `${field} ${text}`;
};

/** Contains the kind: an old screen must not decide on a letter whose kind has changed since. */
export const decisionForm = (id: string, reason = '', kind = 'uncertain'): Form => ({
  action: '/decide',
  hidden: { id, kind },
  fields: [{ reason: 'required', value: reason }],
  buttons: [
    { text: kind === 'outdated' ? 'Nothing newer: send it' : 'Not done: send it', value: 'send' },
    {
      text: kind === 'outdated' ? 'Something newer: discard the letter' : 'Done: discard the letter',
      value: 'discard',
      isDestructive: true,
    },
  ],
});

/** Letters that were there at the time of the look, and are gone now. */
export const goneNotes = (count: number): View => [
  count > 0 && {
    tone: 'plain',
    text: `${countOf(count, 'letter is', 'letters are')} no longer there: another operator has handled them.`,
  },
];
