import type { NightResult } from './live.ts';

const titleWidth = 44;
const widths = [8, 8, 8, 8, 8, 9, 8];
const headings = ['rows', 'created', 'updated', 'removed', 'refused', 'messages', 'seconds'];

const line = (title: string, cells: readonly (string | number)[], rest: string): string =>
  `${title.padEnd(titleWidth)}${cells.map((cell, at) => String(cell).padStart(widths[at] ?? 8)).join('')}  ${rest}`.trimEnd();

export const heading = line('night', headings, 'end');

/** What a night was, and the first things that were wrong. */
export const linesOf = (
  { title, rows, counts, messages, letters, end, killed, seconds, problems }: NightResult,
  at: number,
): string[] => {
  const { created, updated, removed, refused } = counts;
  const cells = [rows, created, updated, removed, refused, messages, seconds.toFixed(1)];
  const notes = [
    end,
    ...killed.map((phase) => `killed (${phase})`),
    ...(letters > 0 ? [`${letters} ${letters === 1 ? 'letter' : 'letters'}`] : []),
    ...(problems.length > 0 ? ['WRONG'] : []),
  ];
  return [
    line(`${String(at + 1).padStart(2)} ${title}`, cells, notes.join(', ')),
    ...problems.slice(0, 10).map((problem) => `   ✗ ${problem}`),
    ...(problems.length > 10 ? [`   ✗ and ${problems.length - 10} more`] : []),
  ];
};

/** The last line. */
export const summaryOf = (results: readonly NightResult[], nights: number): string => {
  const right = results.filter(({ problems }) => problems.length === 0).length;
  return `${nights} nights, ${right} of ${nights} right`;
};
