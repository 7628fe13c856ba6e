// @module-tag long
import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { controlsOf } from '../local/controls.ts';
import { collectLetters, createFollower, play } from '../local/play.ts';
import { acts, type Scenario, scenarioSeed, scenarioStack } from '../local/scenarios.ts';
import { type Stack, startStack } from '../local/stack.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { unpack } from './deployed.ts';
import { packagedProject } from './packages.ts';

const program = await acts();
const problems = new Map<Scenario, string[]>();
let stack: Stack;
const taskRoot = temporaryFolder();

beforeAll(async () => {
  const packaged = await packagedProject();
  for (const file of await readdir(resolve(import.meta.dirname, '../../functions')))
    await unpack(packaged, file.replace('.ts', ''), taskRoot);
  const follower = createFollower();
  stack = await startStack({ ...scenarioStack, taskRoot, onLog: follower.onLog });
  await controlsOf(stack.description).seed(scenarioSeed);
  const letters = collectLetters(stack);
  const perform = async (scenario: Scenario) =>
    problems.set(scenario, await play(scenario, { stack, follower, letters }));
  for (const act of program) await Promise.all(act.map(perform));
  await letters.end();
});
afterAll(() => stack?.close());

test.each(program.flat())('the packaged functions end as their sources do: $title', (scenario) => {
  expect(problems.get(scenario)).toEqual([]);
});
