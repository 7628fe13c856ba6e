import { expect, test } from 'vitest';
import { pageOf } from '../../../../lib/show/console/pages.ts';

const rows = Array.from({ length: 250 }, (_, at) => at);
const paged = (asked: string | null, of = rows) => pageOf(of, asked, (page) => `/log?page=${page}`);

test.each([
  [null, 0, 100, ['Next', 'Last']],
  ['2', 100, 100, ['First', 'Previous', 'Next', 'Last']],
  ['99', 200, 50, ['First', 'Previous']],
  ['-1', 0, 100, ['Next', 'Last']],
  ['x', 0, 100, ['Next', 'Last']],
])('page %s begins with row %i and has %i rows', (asked, first, count, names) => {
  const { shown, pager } = paged(asked);
  expect([shown[0], shown.length]).toEqual([first, count]);
  expect(
    pager.flatMap((block) => (block && 'links' in block ? block.links.map(({ text }) => text) : [])),
  ).toEqual(names);
});

test('a list of one page has no links', () => {
  expect(paged('7', rows.slice(0, 100))).toEqual({ shown: rows.slice(0, 100), pager: [] });
});
