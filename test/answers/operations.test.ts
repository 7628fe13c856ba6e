import { expect, test } from 'vitest';
import type { Platform } from '../../lib/platform/client/client.ts';
import { failureOf } from '../../lib/platform/client/failure-of.ts';
import { isFileAnswer, type Operation } from '../../lib/platform/client/operation.ts';
import type { CallInput } from '../../lib/platform/client/request.ts';
import { operations } from '../../lib/platform/resources/operations.ts';
import { unpaced } from '../lib/platform/client/pace/unpaced.ts';
import { localPlatform } from '../lib/platform/local-client.ts';
import { answers, sortOf, wordsOf } from './answers.ts';

/** Every operation × whatever may come for an answer, through the client, from a server: a kind of failure, or a success. */

const local = localPlatform();

const inputOf = ({ path, query = [], method }: Operation<unknown>): CallInput => ({
  path: Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, 1])),
  query: Object.fromEntries(query.map((name) => [name, '1'])),
  ...(method === 'GET' || method === 'DELETE' ? {} : { json: {} }),
});

const call = (platform: Platform, operation: Operation<unknown>): Promise<unknown> =>
  isFileAnswer(operation.answer)
    ? platform.download(operation as Operation<never>, inputOf(operation), async ({ stream }) => {
        for await (const _ of stream()) break;
      })
    : platform.call(operation, inputOf(operation));

test.each(answers)('$title is what it is to each operation', async (answer) => {
  // biome-ignore lint/suspicious/noThenProperty: the control API's own word; nothing awaits this object
  await local.control('POST faults', { match: {}, times: 1_000, then: answer.effect });
  const { platform, reports } = local.as(100, { maxAnswerBytes: 128 * 1024, pace: unpaced });
  const failures = await Promise.all(
    operations.map((operation) =>
      call(platform, operation).then(
        () => undefined,
        (error: unknown) => failureOf(error),
      ),
    ),
  );
  const is = operations.map(({ name }, at) => [name, failures[at]?.kind ?? 'success']);
  expect(is).toEqual(operations.map((operation) => [operation.name, answer.is[sortOf(operation)]]));
  for (const failure of failures) {
    if (failure === undefined) continue;
    expect(failure).toEqual(wordsOf(answer));
    expect(failure).toMatchObject({ operation: expect.any(String), remedy: expect.stringMatching(/\.$/) });
    expect(JSON.stringify(failure)).not.toMatch(/x_[a-d]=|local-key/);
  }
  // A change that was answered so may have acted, unless it was certainly refused.
  for (const { operation: name, mayHaveActed } of reports) {
    const operation = operations.find((each) => each.name === name);
    const at = operation && operations.indexOf(operation);
    const isInDoubt = at !== undefined && failures[at]?.kind === 'uncertain';
    if (isInDoubt) expect([name, mayHaveActed]).toEqual([name, true]);
    if (operation?.method === 'GET') expect([name, mayHaveActed]).toEqual([name, false]);
  }
});
