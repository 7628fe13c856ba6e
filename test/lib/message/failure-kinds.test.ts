import { describe, expect, test } from 'vitest';
import {
  failureKindNames,
  grantsOf,
  healsByItself,
  isCorrectedFirst,
  isProbed,
  isReplayedBySchedule,
  isRetried,
  lacksRight,
  letterUseOf,
  needsDecision,
  needsPerson,
  undecidedKinds,
} from '../../../lib/message/failure-kinds.ts';

/** The kinds for which each question is answered with yes. All others, and what is no kind, get a no. */
const answers: [question: string, ask: (kind: string | undefined) => boolean, kinds: string[]][] = [
  ['isRetried', isRetried, ['unknown-id', 'credentials', 'aws-refused', 'throttled', 'unavailable']],
  ['needsPerson', needsPerson, ['credentials', 'aws-refused']],
  [
    'isReplayedBySchedule',
    isReplayedBySchedule,
    ['intercepted', 'credentials', 'aws-refused', 'throttled', 'unavailable'],
  ],
  ['healsByItself', healsByItself, ['intercepted', 'throttled', 'unavailable']],
  ['lacksRight', lacksRight, ['missing-scope', 'missing-permission']],
  ['isProbed', isProbed, ['missing-credential', 'credentials', 'throttled', 'unavailable']],
  ['isCorrectedFirst', isCorrectedFirst, ['invalid']],
  ['needsDecision', needsDecision, ['uncertain', 'outdated']],
];

describe.each(answers)('%s', (_, ask, kinds) => {
  test('is true of these kinds alone', () => {
    expect(failureKindNames.filter(ask)).toEqual(kinds);
  });

  test.each([undefined, '', 'constructor', 'a kind of a later version'])('is false of %j', (kind) => {
    expect(ask(kind)).toBe(false);
  });
});

test('a person decides on the letters of these kinds', () => {
  expect(undecidedKinds).toEqual(['uncertain', 'outdated']);
});

test.each([
  ['rejected', 'replay'],
  ['invalid', 'correct'],
  ['uncertain', 'decide'],
  ['redriven', 'replay'],
  ['no-details', 'replay'],
  ['unknown-source', 'none'],
  ['unreadable', 'none'],
  ['constructor', undefined],
  ['a kind of a later version', undefined],
])('letters of the kind %j are for %s', (kind, use) => {
  expect(letterUseOf(kind)).toBe(use);
});

test.each([
  ['missing-scope', 'scope'],
  ['missing-credential', 'secret'],
  ['credentials', 'secret'],
  ['rejected', undefined],
  ['constructor', undefined],
])('of the kind %j, a list names each %s', (kind, of) => {
  expect(grantsOf(kind)?.of).toBe(of);
});
