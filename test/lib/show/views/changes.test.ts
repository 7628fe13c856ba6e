import { expect, test } from 'vitest';
import { reindexedView } from '../../../../lib/show/views/changes.ts';

const reindexed = { letters: 5, added: 0, removed: 0, copies: 0, oldestMs: undefined, whole: false };

test.each([
  [0, /letters back\. Run this again later|them back\. Run this again later/],
  [1, /them back\. 1 entry of letters that could not be read stays\. Run/],
  [1204, /them back\. 1,204 entries of letters that could not be read stay\. Run/],
])('%d entries whose letters somebody else has in hand are told of', (kept, told) => {
  expect(JSON.stringify(reindexedView({ ...reindexed, kept }))).toMatch(told);
});
