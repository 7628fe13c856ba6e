import { expect, test } from 'vitest';
import { pageOf, pager } from '../../../../lib/desk/console/pages.ts';

const rows = Array.from({ length: 250 }, (_, at) => at);

test.each([
  [null, 0, 100, ['Next', 'Last']],
  ['2', 100, 100, ['First', 'Previous', 'Next', 'Last']],
  ['99', 200, 50, ['First', 'Previous']],
  ['-1', 0, 100, ['Next', 'Last']],
  ['x', 0, 100, ['Next', 'Last']],
])('page %s begins with row %i and has %i rows', (asked, first, count, names) => {
  const { shown, turns } = pageOf(rows, asked);
  expect([shown[0], shown.length]).toEqual([first, count]);
  expect(turns.map(([name]) => name)).toEqual(names);
});

test('a list of one page has no links', () => {
  const paged = pageOf(rows.slice(0, 100), '7');
  expect(paged).toEqual({ shown: rows.slice(0, 100), place: '', turns: [] });
  expect(pager(paged, String)).toEqual([]);
});
