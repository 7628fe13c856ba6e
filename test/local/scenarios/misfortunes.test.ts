// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { controlsOf } from '../controls.ts';
import { keyOf, startStack } from '../stack.ts';
import { collectLetters, createFollower, play } from './play.ts';
import {
  event,
  gradeOf,
  type Scenario,
  scenarioSeed,
  scenarioStack,
  secretOf,
  submissionOf,
} from './scenarios.ts';

/** Without a ledger nobody knows what an attempt without an outcome has done. */
const withoutLedger: Scenario[] = [
  {
    title: 'a submission that was taken without an answer is parked, and not handed in twice',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(436))],
    prepare: async (controls, description) => {
      await controls.secret(secretOf(436, description), keyOf(436));
      await controls.fault({ reset: 'after' }, { method: 'POST', path: 'folders/7436' });
    },
    letter: { kind: 'uncertain', says: /If not, replay it/ },
    requests: { path: /whoami$|folders\/7436/, userId: 436, are: ['GET 200', 'POST null'] },
    holds: { table: 'submissions', where: { userId: 436 }, rows: [{ folderId: 7436 }] },
  },
  {
    title: 'a submission that was taken and cannot be read back is parked, and not handed in twice',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(440))],
    prepare: async (controls, description) => {
      await controls.secret(secretOf(440, description), keyOf(440));
      await controls.fault({ status: 503 }, { method: 'GET', path: 'folders/7440' });
    },
    letter: { kind: 'uncertain', says: /the submissions there could not be read/ },
    requests: { path: /whoami$|folders\/7440/, userId: 440, are: ['GET 200', 'POST 200', 'GET 503'] },
    holds: { table: 'submissions', where: { userId: 440 }, rows: [{ folderId: 7440 }] },
  },
  {
    title: 'a duplicate is sent again, and an old grade over a new one',
    function: 'grade-push',
    bodies: [event('grade-push', gradeOf(439, 9), 10), event('grade-push', gradeOf(439, 3), 9)],
    outcomes: ['done', 'done'],
    requests: { path: /values\/439$/, are: ['PUT 200', 'PUT 200'] },
    holds: { table: 'gradeValues', where: { userId: 439 }, rows: [{ pointsNumerator: 3, writes: 2 }] },
  },
];

let options: Parameters<typeof play>[1];
const problems = new Map<Scenario, string[]>();

beforeAll(async () => {
  const follower = createFollower();
  const stack = await startStack({
    ...scenarioStack,
    onLog: follower.onLog,
    settings: { ...scenarioStack.settings, LEDGER_TABLE: '' },
  });
  await controlsOf(stack.description).seed(scenarioSeed);
  options = { stack, follower, letters: collectLetters(stack) };
  await Promise.all(
    withoutLedger.map(async (scenario) => problems.set(scenario, await play(scenario, options))),
  );
});
afterAll(async () => {
  await options.letters.end();
  await options.stack.close();
});

describe('without a ledger', () => {
  test.each(withoutLedger)('$title', (scenario) => {
    expect(problems.get(scenario)).toEqual([]);
  });
});

describe('a scenario that ends otherwise than expected is told', () => {
  const good: Scenario = {
    title: 'a null grade',
    function: 'grade-push',
    bodies: [],
    outcomes: ['parked'],
    letter: { kind: 'invalid', says: /cannot clear a grade/ },
    requests: { path: /values\/440$/, are: [] },
    holds: { table: 'gradeValues', where: { userId: 440 }, rows: [] },
  };
  test.each<[string, Partial<Scenario>, RegExp[]]>([
    ['nothing, where all is well', {}, []],
    ['another outcome', { outcomes: ['done'] }, [/how it ended: \["parked"\] and not \["done"\]/]],
    ['another kind', { letter: { kind: 'rejected', says: /clear/ } }, [/the failure/, /its letters/]],
    ['other words', { letter: { kind: 'invalid', says: /may be null/ } }, [/its letter says/]],
    ['another status', { letter: { kind: 'invalid', status: 400, says: /clear/ } }, [/its letter’s status/]],
    ['a letter too many', { letter: undefined as never }, [/the failure/, /its letters/]],
    ['another number of waits', { waits: 1 }, [/how often it waited: 0 and not 1/]],
    ['other requests', { requests: { path: /values\/440$/, are: ['PUT 200'] } }, [/its changes: \[\]/]],
    [
      'another state',
      { holds: { table: 'gradeValues', where: { userId: 440 }, rows: [{ pointsNumerator: 0 }] } },
      [/the platform’s gradeValues: \[\]/],
    ],
  ])('%s', async (_, wrong, told) => {
    const bodies = [event('grade-push', { ...gradeOf(440, 0), grade: null })];
    expect(await play({ ...good, bodies, ...wrong }, options)).toEqual(
      told.map((pattern) => expect.stringMatching(pattern)),
    );
  });
});
