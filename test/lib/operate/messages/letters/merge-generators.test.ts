import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { merged } from '../../../../../lib/operate/messages/letters/merge-generators.ts';

const ended: string[] = [];
async function* source(name: string, items: number, failAt = Number.POSITIVE_INFINITY) {
  try {
    for (let at = 0; at < items; at += 1) {
      await sleep(5);
      if (at === failAt) throw new Error(`${name} failed`);
      yield `${name}${at}`;
    }
  } finally {
    await sleep(20);
    ended.push(name);
  }
}

test('every source has its turn, and each item comes once', async () => {
  const seen: string[] = [];
  for await (const item of merged([source('a', 3), source('b', 1), source('c', 0)])) seen.push(item);
  expect(seen.sort()).toEqual(['a0', 'a1', 'a2', 'b0']);
});

test('whoever breaks out goes on only when all sources have ended', async () => {
  ended.length = 0;
  for await (const _ of merged([source('a', 9), source('b', 9)])) break;
  expect(ended.sort()).toEqual(['a', 'b']);
});

test('a source that fails while the consumer is busy is an error, once the others have ended', async () => {
  ended.length = 0;
  const reading = async () => {
    for await (const _ of merged([source('a', 9, 1), source('b', 9)])) await sleep(30);
  };
  await expect(reading()).rejects.toThrow('a failed');
  expect(ended.sort()).toEqual(['a', 'b']);
});
