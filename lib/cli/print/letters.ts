import { type Group, type Groups, maxWords } from '../../dead-letters/reading/groups.ts';
import type { Listed } from '../../dead-letters/reading/list.ts';
import type { Found } from '../../dead-letters/reading/records.ts';
import type { PlannedGroup } from '../../dead-letters/replay/plan.ts';
import type { Target } from '../../deployment/target.ts';
import { replayedOften } from '../../desk/letter-kinds.ts';
import { plain } from '../../redaction/printable.ts';
import { ageOf, countOf, numberOf } from '../../views/amounts.ts';
import {
  adviceNotes,
  causeText,
  differText,
  groupsText,
  kindTone,
  nothingText,
  subjectOf,
} from '../../views/letters.ts';
import { noteLines, toned } from './notes.ts';
import { rest, right, tableOf, truncated, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

type Print = { target: Target; terminal: Terminal };

export const groupsLines = (found: Groups, { target, terminal }: Print): string[] => {
  const { groups, matching } = found;
  const name = target.prefix.slice(0, -1);
  if (matching === 0) return [nothingText(found, name), ...remarks(found, terminal)];
  const { style, width } = terminal;
  const [header = '', ...rows] = tableOf(
    [right('Letters'), 'Function', 'Kind', right('Oldest'), right('Newest')],
    groups.map((group) => [
      numberOf(group.letters),
      plain(group.function) || '–',
      group.kind,
      ageOf(group.oldestMs),
      ageOf(group.newestMs),
    ]),
    width,
  );
  const details = groups.flatMap((group, at) => [
    '',
    coloured(rows[at] ?? '', group.kind, terminal),
    ...adviceLines(group, terminal),
  ]);
  return [
    style('bold', `${name}: ${groupsText(found)}`),
    '',
    style('dim', header),
    ...details.slice(1),
    '',
    ...remarks(found, terminal),
    ...hintsOf(groups[0], terminal).flatMap((text) =>
      wrapped(text, width, '  ').map((line) => style('dim', line)),
    ),
  ];
};

/** Of the largest group, as an example of what can be typed. */
const hintsOf = (group: Group | undefined, { command }: Terminal): string[] => {
  if (group === undefined) return [];
  const options = causeOptions({ ...group, words: [] });
  return [
    `One by one: ${command(`letters list ${options}`)}`,
    ...(group.kind === 'unknown-source'
      ? []
      : [`Send again: ${command(`letters replay ${options} --dry-run`)}`]),
  ];
};

const indent = ' '.repeat(9);

const adviceLines = (group: Group, terminal: Terminal): string[] => {
  const { style, width } = terminal;
  const lines = (text: string) =>
    wrapped(plain(text), width - indent.length, '  ').map((line) => indent + line);
  return [
    ...lines(group.error),
    ...group.words
      .flatMap((words, at) => lines(at < maxWords - 1 ? `“${truncated(words, 300)}”` : '… and more'))
      .map((line) => style('dim', line)),
    ...adviceNotes(group).flatMap((note) =>
      note.tone === 'warn' ? [style('yellow', `${indent}! ${note.text}`)] : noteLines(note, terminal, indent),
    ),
  ];
};

/** Options that select it; a letter may say anything, and nothing of that is to be typed. */
export const causeOptions = ({
  function: name,
  kind,
  words: [told = ''],
}: Pick<PlannedGroup, 'function' | 'kind' | 'words'>): string =>
  [
    ...(/^[\w-]+$/.test(name) ? [`--function ${name}`] : []),
    `--kind ${kind}`,
    ...(/^[A-Za-z .,:()/-]{4,80}$/.test(told) ? [`--error "${told}"`] : []),
  ].join(' ');

export const groupTable = <Row extends PlannedGroup>(
  groups: Row[],
  terminal: Terminal,
): { header: string; rows: Map<Row, string> } => {
  const [header = '', ...lines] = tableOf(
    [right('Letters'), 'Function', 'Kind', rest('What failed')],
    groups.map(({ letters, function: name, kind, ...cause }) => [
      numberOf(letters),
      plain(name) || '–',
      kind,
      causeText(cause),
    ]),
    terminal.width,
  );
  const rows = groups.map((group, at) => [group, coloured(lines[at] ?? '', group.kind, terminal)] as const);
  return { header, rows: new Map(rows) };
};

const coloured = (text: string, kind: string, terminal: Pick<Terminal, 'style'>): string =>
  text.replace(` ${kind} `, (each) => toned(kindTone(kind), each, terminal));

export const listLines = (found: Listed, { target, terminal }: Print): string[] => {
  const { letters, matching } = found;
  if (matching === 0) return [nothingText(found, target.prefix.slice(0, -1)), ...remarks(found, terminal)];
  const showFirst = terminal.command(`letters show ${letters[0]?.id.slice(0, 8)}`);
  const replayed = letters.some(({ replays }) => replays > 0);
  const [header = '', ...rows] = tableOf(
    [
      ...['Id', right('Age'), 'Function', 'Kind', 'User · course · thing'],
      ...(replayed ? [right('Replays')] : []),
      rest('What failed'),
    ],
    letters.map(({ id, sentMs, function: name, kind, replays, error, words, ...about }) => [
      id.slice(0, 8),
      ageOf(sentMs),
      truncated(plain(name), 24) || '–',
      kind,
      subjectOf(about) || '–',
      ...(replayed ? [replays === 0 ? '' : `${replays}${replays >= replayedOften ? '!' : ''}`] : []),
      causeText({ error, words: words === undefined ? [] : [words] }),
    ]),
    terminal.width,
  );
  return [
    terminal.style('dim', header),
    ...rows.map((row, at) => coloured(row, letters[at]?.kind ?? 'unknown-source', terminal)),
    '',
    ...remarks(found, terminal),
    ...wrapped(
      letters.length < matching
        ? `The oldest ${numberOf(letters.length)} of ${numberOf(matching)}: a higher --limit shows more. Details of one: ${showFirst}`
        : `${countOf(matching, 'letter')}. Details of one: ${showFirst}`,
      terminal.width,
      '  ',
    ).map((line) => terminal.style('dim', line)),
  ];
};

type Counted = Pick<Found, 'listed' | 'queued'> & { limitReached?: boolean };

/** What limits the list, and where the lists and the queue differ. */
export const remarks = (found: Counted, { width, command }: Terminal): string[] => {
  const differ = differText(found);
  return [
    ...(found.limitReached ? ['These are as many as --limit allows. There are more.'] : []),
    ...(differ === undefined
      ? []
      : wrapped(`${differ}; to do it now: ${command('letters reindex')}`, width, '  ')),
  ];
};
