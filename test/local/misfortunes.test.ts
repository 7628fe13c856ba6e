// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeadLetter } from '../../lib/delivery/letters/dead-letter.ts';
import { waitLimitMs } from '../limits.ts';
import { controlsOf } from './controls.ts';
import { collectLetters, createFollower, play } from './play.ts';
import { messagesLeft } from './queues.ts';
import {
  acts,
  event,
  gradeOf,
  keyOf,
  type Scenario,
  scenarioSeed,
  scenarioStack,
  secretOf,
  submissionOf,
} from './scenarios.ts';
import { type StackOptions, startStack } from './stack.ts';

const program = await acts();
// The last acts change the clock and a key for everybody.
const [quiet, upheavals] = [program.slice(0, 2), program.slice(2)];

/** What befalls AWS itself, so one after the other. */
// The SDK tries each call again by itself, so that one fault alone would not be noticed.
const outages: Scenario[] = [
  {
    title: 'a dead-letter queue that takes nothing for a while',
    function: 'grade-push',
    bodies: [event('grade-push', { ...gradeOf(431, 0), grade: null })],
    prepare: (controls) =>
      controls.awsFault('sqs', {
        action: 'SendMessage',
        name: 'sis-relay-local-dead-letters',
        times: 6,
        status: 500,
      }),
    waits: 1,
    letter: { kind: 'invalid', says: /cannot clear a grade/ },
    requests: { path: /values\/431$/, are: [] },
    holds: { table: 'gradeValues', where: { userId: 431 }, rows: [] },
  },
  {
    title: 'a ledger that cannot be written: nothing is sent unprotected',
    function: 'grade-push',
    bodies: [event('grade-push', gradeOf(432, 6))],
    prepare: (controls) => controls.awsFault('dynamodb', { action: 'UpdateItem', times: 3, status: 500 }),
    waits: 1,
    requests: { path: /values\/432$/, are: ['PUT 200'] },
    holds: { table: 'gradeValues', where: { userId: 432 }, rows: [{ pointsNumerator: 6, writes: 1 }] },
  },
  {
    title: 'a ledger that may not be written: nothing is sent, and who must act is told',
    function: 'grade-push',
    bodies: [event('grade-push', gradeOf(438, 6))],
    prepare: (controls) =>
      controls.awsFault('dynamodb', { action: 'UpdateItem', times: 2, type: 'AccessDeniedException' }),
    waits: 1,
    waitsFor: {
      kind: 'aws-refused',
      says: /AWS refuses dynamodb:UpdateItem on the table sis-relay-local-ledger-by-resource .* an administrator/,
    },
    requests: { path: /values\/438$/, are: ['PUT 200'] },
    holds: { table: 'gradeValues', where: { userId: 438 }, rows: [{ pointsNumerator: 6, writes: 1 }] },
  },
];

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

/** A stack with functions in processes of their own, on which scenarios are played; all that came of them. */
async function playOn(program: Scenario[][], options: StackOptions = {}) {
  const follower = createFollower();
  const stack = await startStack({ ...scenarioStack, ...options, onLog: follower.onLog });
  await controlsOf(stack.description).seed(scenarioSeed);
  const letters = collectLetters(stack);
  const problems = new Map<Scenario, string[]>();
  const perform = async (scenario: Scenario) =>
    problems.set(scenario, await play(scenario, { stack, follower, letters }));
  for (const act of program) await Promise.all(act.map(perform));
  return { stack, follower, problems, letters };
}

let usual: Awaited<ReturnType<typeof playOn>>;
let unprotected: typeof usual;
let written: DeadLetter[];

beforeAll(async () => {
  [usual, unprotected] = await Promise.all([
    playOn([...quiet, ...outages.map((outage) => [outage]), ...upheavals]),
    playOn([withoutLedger], { settings: { LEDGER_TABLE: '' } }),
  ]);
  written = await usual.letters.end();
});

afterAll(async () => {
  await unprotected.letters.end();
  await Promise.all([usual.stack.close(), unprotected.stack.close()]);
});

describe('through SQS and processes of their own, each message ends as it must', () => {
  test.each([...program.flat(), ...outages])('$title', (scenario) => {
    expect(usual.problems.get(scenario)).toEqual([]);
  });

  test('each parked message has its one letter, and nothing else has one', () => {
    const parked = [...program.flat(), ...outages].filter(({ letter }) => letter);
    const bodies = parked.map((scenario) => scenario.bodies.at(-1)).sort();
    expect(written.map(({ body }) => body).sort()).toEqual(bodies);
  });

  test('nothing is left on a queue', async () => {
    await expect.poll(() => messagesLeft(usual.stack), { timeout: waitLimitMs }).toBe(0);
  });
});

describe('without a ledger', () => {
  test.each(withoutLedger)('$title', (scenario) => {
    expect(unprotected.problems.get(scenario)).toEqual([]);
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
    const { stack, follower } = unprotected;
    const bodies = [event('grade-push', { ...gradeOf(440, 0), grade: null })];
    const { letters } = unprotected;
    const problems = await play({ ...good, bodies, ...wrong }, { stack, follower, letters });
    expect(problems).toEqual(told.map((pattern) => expect.stringMatching(pattern)));
  });
});
