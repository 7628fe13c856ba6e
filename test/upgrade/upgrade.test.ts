import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ownVersion } from '../../lib/operate/stage/version.ts';
import { carryOn } from './carry.ts';
import { makeState } from './make.ts';
import { lastState } from './state.ts';

const root = resolve(import.meta.dirname, '../..');

test('what the last release left is carried on, and nothing is lost, sent twice or overwritten by something older', {
  tags: ['long'],
}, async () => {
  const state = lastState() ?? (await makeState({ resources: 300 }));
  const { problems, figures } = await carryOn(state, { root, by: ownVersion() });
  console.log(figures);
  expect(problems).toEqual([]);
});
