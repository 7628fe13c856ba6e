import type { Verified } from '../../dead-letters/verify/verify.ts';
import type { Target } from '../../deployment/target.ts';
import { plain } from '../../redaction/printable.ts';
import { numberOf } from '../../views/amounts.ts';
import { subjectOf } from '../../views/letters.ts';
import { noneUncertainText, verdicts } from '../../views/verify.ts';
import { toned } from './notes.ts';
import { rest, tableOf, truncated, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

export const verifiedLines = (
  { letters, ...counts }: Verified,
  { target, terminal }: { target: Target; terminal: Terminal },
): string[] => {
  const { style, width } = terminal;
  if (letters.length === 0) return [noneUncertainText(target.prefix.slice(0, -1))];
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
  const line = (what: keyof typeof verdicts) => {
    const { tone, text } = verdicts[what];
    const count = `${numberOf(counts[what]).padStart(7)}  ${what}`;
    return counts[what] > 0 ? [`${toned(tone, count, terminal)}: ${text}`] : [];
  };
  return [
    style('dim', header),
    ...rows.map((row, at) =>
      row.replace(/(?<= )(?:found|absent|unclear)(?= |$)/, (word) =>
        toned(verdicts[letters[at]?.found ?? 'unclear'].tone, word, terminal),
      ),
    ),
    '',
    ...line('found'),
    ...line('absent'),
    ...line('unclear'),
    ...[...reasons].flatMap(([why, each]) =>
      wrapped(`${numberOf(each.length)}: ${plain(why)}`, width - 9, '  ').map(
        (text) => `${' '.repeat(9)}${text}`,
      ),
    ),
  ];
};
