import type { Verified } from '../../dead-letters/verify/verify.ts';
import type { Target } from '../../deployment/target.ts';
import { plain } from '../../redaction/printable.ts';
import { subjectOf } from './letters.ts';
import { countOf, numberOf, rest, tableOf, truncated, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

const colours = { found: 'green', absent: 'yellow', unclear: 'red' } as const;

export const verifiedLines = (
  { letters, ...counts }: Verified,
  { target, terminal }: { target: Target; terminal: Terminal },
): string[] => {
  const { style, width } = terminal;
  if (letters.length === 0)
    return [`${target.prefix.slice(0, -1)}: no letter is uncertain, or none matches.`];
  const [header = '', ...rows] = tableOf(
    ['Id', 'Function', 'About', 'Found', rest('Why')],
    letters.map(({ id, function: name, found, why = '', ...about }) => [
      id.slice(0, 8),
      truncated(plain(name), 24) || '–',
      subjectOf(about) || '–',
      found,
      plain(why),
    ]),
    width,
  );
  const reasons = Map.groupBy(
    letters.filter(({ found }) => found === 'unclear'),
    ({ why = '' }) => why,
  );
  const line = (count: number, what: keyof typeof colours, text: string) =>
    count > 0 ? [`${style(colours[what], `${numberOf(count).padStart(7)}  ${what}`)}: ${text}`] : [];
  return [
    style('dim', header),
    ...rows.map((row, at) =>
      row.replace(/(?<= )(?:found|absent|unclear)(?= |$)/, (word) =>
        style(colours[letters[at]?.found ?? 'unclear'], word),
      ),
    ),
    '',
    ...line(counts.found, 'found', 'it was done, so the letter can be discarded'),
    ...line(counts.absent, 'absent', 'it was not done, so the letter can be replayed'),
    ...line(counts.unclear, 'unclear', 'these letters stay'),
    ...[...reasons].flatMap(([why, each]) =>
      wrapped(`${numberOf(each.length)}: ${plain(why)}`, width - 9, '  ').map(
        (text) => `${' '.repeat(9)}${text}`,
      ),
    ),
  ];
};

/** Letters that were there when it was looked, and are not now. */
export const goneLines = (count: number): string[] =>
  count > 0
    ? [`${countOf(count, 'letter is', 'letters are')} gone meanwhile: somebody else has dealt with them.`]
    : [];
