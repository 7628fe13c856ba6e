// @module-tag long
import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeadLetter } from '../../../lib/delivery/letters/dead-letter.ts';
import { waitLimitMs } from '../../limits.ts';
import { controlsOf } from '../../local/controls.ts';
import { messagesLeft } from '../../local/queues.ts';
import { collectLetters, createFollower, play } from '../../local/scenarios/play.ts';
import {
  acts,
  outages,
  type Scenario,
  scenarioSeed,
  scenarioStack,
} from '../../local/scenarios/scenarios.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { packagedProject } from '../packages.ts';
import { unpack } from './deployed.ts';

const [examples = [], misfortunes = [], ...upheavals] = await acts();
// What befalls AWS itself happens alone, and the last acts change the clock and a key for everybody.
const program = [examples, misfortunes, ...outages.map((outage) => [outage]), ...upheavals];
const problems = new Map<Scenario, string[]>();
let stack: Stack;
let letters: DeadLetter[];
const taskRoot = temporaryFolder();

beforeAll(async () => {
  const packaged = await packagedProject();
  for (const file of await readdir(resolve(import.meta.dirname, '../../../functions')))
    await unpack(packaged, file.replace('.ts', ''), taskRoot);
  const follower = createFollower();
  stack = await startStack({ ...scenarioStack, taskRoot, onLog: follower.onLog });
  await controlsOf(stack.description).seed(scenarioSeed);
  const collected = collectLetters(stack);
  const perform = async (scenario: Scenario) =>
    problems.set(scenario, await play(scenario, { stack, follower, letters: collected }));
  for (const act of program) await Promise.all(act.map(perform));
  letters = await collected.end();
});
afterAll(() => stack?.close());

test.each(program.flat())('with packaged functions, each message ends as it must: $title', (scenario) => {
  expect(problems.get(scenario)).toEqual([]);
});

test('each parked message has its one letter, and nothing else has one', () => {
  const parked = program.flat().filter(({ letter }) => letter);
  const bodies = parked.map((scenario) => scenario.bodies.at(-1)).sort();
  expect(letters.map(({ body }) => body).sort()).toEqual(bodies);
});

test('nothing is left on a queue', async () => {
  await expect.poll(() => messagesLeft(stack), { timeout: waitLimitMs }).toBe(0);
});
