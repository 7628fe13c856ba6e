// @module-tag long
import { resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ownVersion } from '../../lib/stage/version.ts';
import { brokenBy } from '../package/contract/released.ts';
import { carryOn } from './carry.ts';
import { formatsOf } from './formats.ts';
import { makeState } from './make.ts';
import { lastState, type State } from './state.ts';

const root = resolve(import.meta.dirname, '../..');
let made: State;
beforeAll(async () => {
  made = await makeState({ resources: 300 });
});

test('a stage keeps everything in the form that the last release has', async () => {
  expect(brokenBy('formats', await formatsOf(made))).toEqual([]);
});

test('what the last release left is carried on, and nothing is lost, sent twice or overwritten by something older', async () => {
  const { problems, figures } = await carryOn(lastState() ?? made, { root, by: ownVersion() });
  console.log(figures);
  expect(problems).toEqual([]);
});
