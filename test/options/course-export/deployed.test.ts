// @module-tag long
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ExportAnswer } from '../../../lib/options/course-export/export.ts';
import { filesIn } from '../../local/bucket.ts';
import { controlsOf } from '../../local/controls.ts';
import type { Update } from '../../local/lambda/durable-execution.ts';
import { durableOptionsOf, type Stack, startStack } from '../../local/stack.ts';
import { unpack } from '../../package/deployed/deployed.ts';
import { packagedProject } from '../../package/packages.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const name = 'course-export';
let stack: Stack;
const taskRoot = temporaryFolder();
let event: object;

beforeAll(async () => {
  await unpack(await packagedProject(), name, taskRoot);
  stack = await startStack({ functions: [], taskRoot, durable: { pageSize: 3 } });
  event = JSON.parse(await readFile(resolve(import.meta.dirname, `../../../events/${name}.json`), 'utf8'));
});
afterAll(() => stack?.close());

/** All that an export has left, by its names: bytes, but for what differs from one to the next. */
const filesOf = async (runId: string): Promise<Record<string, string>> => {
  const files = await filesIn(() => stack).filesUnder(`course-exports/${runId}/`);
  const alike = (bytes: Buffer) =>
    bytes.toString('latin1').replace(/"(runId|startedAt|finishedAt)": "[^"]*"/g, '"$1": ""');
  return Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, alike(bytes)]));
};

type Moment = 'before' | 'after';

/** An export whose process is killed when it records something for the nth time, before that is taken or before it is told. */
const exportKilled = async (kill?: { at: number; moment: Moment }) => {
  const controls = controlsOf(stack.description);
  await controls.reset();
  const recorded: Update[][] = [];
  let deaths = 0;
  stack.executions.observe((moment, updates) => {
    if (moment === 'before') recorded.push(updates);
    if (kill === undefined || deaths > 0 || recorded.length !== kill.at || moment !== kill.moment) return;
    deaths += 1;
    stack.lambda?.kill(name);
    return 'no answer';
  });
  const result = await stack.lambda?.invoke(name, event);
  stack.executions.observe(undefined);
  const answer = (result?.ok ? result.payload : result) as ExportAnswer;
  const asked = new Map<string, number>();
  for (const { path } of await controls.requests()) asked.set(path, (asked.get(path) ?? 0) + 1);
  return { answer, deaths, recorded, asked, files: await filesOf(answer.runId) };
};

test('an export whose process is killed between any two of its steps, or in one, ends right and whole', async () => {
  const { answer, recorded, files, asked } = await exportKilled();
  expect(answer).toMatchObject({ outcome: 'complete', orgUnits: { wanted: 2, incomplete: 0 } });
  expect(Object.keys(files)).toHaveLength(11);
  expect(recorded.length).toBeGreaterThanOrEqual(8);
  const { runId: _, files: __, manifest: ___, ...same } = answer;
  for (let at = 1; at <= recorded.length; at += 1)
    for (const moment of ['before', 'after'] as const) {
      const where = `killed ${moment} ${JSON.stringify(recorded[at - 1]?.map(({ Action, Name }) => `${Action} ${Name}`))}`;
      const killed = await exportKilled({ at, moment });
      expect(killed.answer, where).toMatchObject(same);
      expect(killed.deaths, where).toBe(1);
      expect(killed.files, where).toEqual(files);
      // Of what was done before, nothing is done again; what was under way, at most once more.
      const more = [...killed.asked].filter(([path, times]) => times > 2 * (asked.get(path) ?? 0));
      expect(more, where).toEqual([]);
    }
  const { functionArn } = durableOptionsOf(name);
  const ends = stack.executions.of(functionArn).map(({ status }) => status);
  expect(new Set(ends)).toEqual(new Set(['SUCCEEDED']));
  expect(ends).toHaveLength(1 + 2 * recorded.length);
});
