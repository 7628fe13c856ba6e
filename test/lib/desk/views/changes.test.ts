import { expect, test } from 'vitest';
import { reindexedView } from '../../../../lib/desk/views/changes.ts';

const reindexed = { letters: 5, added: 0, removed: 0, copies: 0, oldestMs: undefined, whole: false };

test.each([
  [0, /them back\. Run this again later\."},false]$/],
  [1, /"1 entry of a letter that could not be read stays\."/],
  [1204, /"1,204 entries of letters that could not be read stay\."/],
])('%d entries whose letters somebody else has in hand are told of', (kept, told) => {
  expect(JSON.stringify(reindexedView({ ...reindexed, kept }))).toMatch(told);
});
