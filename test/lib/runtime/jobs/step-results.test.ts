import { expect, test } from 'vitest';
import { createResults } from '../../../../lib/runtime/jobs/step-results.ts';

const stored = new Map<string, unknown>();
const results = createResults(
  {
    writeJson: async (key, value) => void stored.set(key, structuredClone(value)),
    readJson: async (key) => stored.get(key),
  },
  'some/executions/',
);
const context = { entityId: '4-2', durableExecutionArn: 'arn:…:function:f:1/durable-execution/name/id' };

test.each<[string, unknown, string[]]>([
  ['nothing', undefined, []],
  ['null', null, []],
  ['a word', 'three', []],
  ['what looks like an address', { liesAt: 'elsewhere' }, []],
  ['a list of 500 ids', Array.from({ length: 500 }, (_, at) => 100_000 + at), []],
  [
    'a list of 700 ids',
    Array.from({ length: 700 }, (_, at) => 100_000 + at),
    ['some/executions/id/4-2.json'],
  ],
  ['many bytes in few characters', '試'.repeat(1_500), ['some/executions/id/4-2.json']],
])('%s is read as it was recorded, and beside the records where it is large', async (_, value, keys) => {
  stored.clear();
  const text = await results.serialize(value, context);
  expect(Buffer.byteLength(text ?? '')).toBeLessThanOrEqual(4096);
  expect([...stored.keys()]).toEqual(keys);
  expect(await results.deserialize(text, context)).toEqual(value);
});
