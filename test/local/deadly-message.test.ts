// @module-tag long
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { mapQueue } from './lambda/event-source-mapping.ts';
import { type Lambda, startLambda } from './lambda/lambda.ts';
import { takeLetters, untilLeft } from './queues.ts';
import { type Stack, settingsOf, startStack } from './stack.ts';

const lib = resolve(import.meta.dirname, '../../lib');
const name = 'grade-push';
/** That of grade-push in serverless.yml. */
const memoryMb = 384;

/** Before it takes all time: the test then ends its process, as Lambda does when its time is over. */
const endless = 'from here on, it takes all time';

/** Whatever nobody has thought of: what says so takes all memory, or all time, as soon as it is parsed. */
const source = `
import * as z from '${import.meta.resolve('zod')}';
import { handlerOf } from '${lib}/delivery/handle/handler.ts';
const deadly = {
  memory: () => { for (const held = []; ; ) held.push(Buffer.alloc(2 ** 20, 'x')); },
  heap: () => { for (const held = []; ; ) held.push({ at: held.length }); },
  time: () => { for (console.log('${endless}'); ; ); },
};
const say = z.string().refine((say) => deadly[say]?.() ?? true);
export const integration = {
  name: '${name}', data: z.object({ say }), resource: ({ say }) => 'grade/' + say,
  operations: [], repeatable: true, run: async ({ say }) => console.log('ran ' + say),
};
export const handler = handlerOf(integration);
`;

let stack: Stack;
let lambda: Lambda;
let lines: string[];

beforeAll(async () => {
  stack = await startStack({ functions: false, visibilitySeconds: 3 });
  const taskRoot = temporaryFolder();
  await mkdir(join(taskRoot, 'functions'));
  await writeFile(join(taskRoot, 'functions/f.mjs'), source);
  lines = [];
  const configuration = {
    handler: 'functions/f.handler',
    taskRoot,
    // Longer than any of it takes on a busy machine: a batch without the deadly message must never end by it.
    timeoutMs: 120_000,
    maximumConcurrency: 1,
    memoryMb,
  };
  const env = {
    ...settingsOf(stack.description, name),
    ATTEMPT_TIMEOUT_MS: '500',
    RESERVE_MS: '200',
  };
  lambda = await startLambda({
    functions: { [name]: { ...configuration, env } },
    onLog: (_, line) => {
      lines.push(line);
      if (line === endless) lambda.kill(name);
    },
  });
});
afterAll(async () => {
  await lambda?.close();
  await stack?.close();
});

const send = (id: string, say: string) =>
  stack.sqs.send(
    new SendMessageCommand({
      QueueUrl: stack.description.queues[name],
      MessageBody: JSON.stringify({
        specversion: '1.0',
        id,
        source: '/sis',
        type: `sis.${name}.v1`,
        time: new Date().toISOString(),
        data: { say },
      }),
    }),
  );

test.each(['memory', 'heap', 'time'])(
  'what takes all %s as soon as it is parsed is parked after its function has died of it, and all its neighbours are done',
  async (what) => {
    const good = Array.from({ length: 9 }, (_, at) => `${what} ${at}`);
    for (const say of [...good.slice(0, 4), what, ...good.slice(4)]) await send(say, say);
    const deaths: string[] = [];
    const mapping = mapQueue({
      sqs: stack.sqs,
      batchSize: 10,
      pollers: 1,
      queueUrl: stack.description.queues[name] ?? '',
      queueArn: `arn:aws:sqs:us-east-1:000000000000:sis-relay-local-${name}`,
      invoke: (event) => lambda.invoke(name, event),
      onError: ({ message }) => deaths.push(message),
    });
    await untilLeft(stack, 0);
    await mapping.stop();
    const letters = await takeLetters(stack);
    expect(letters).toMatchObject([{ failure: { kind: 'crashed' } }]);
    expect(JSON.parse(letters[0]!.body)).toMatchObject({ id: what, data: { say: what } });
    for (const say of good) expect(lines).toContain(`ran ${say}`);
    expect(deaths).toHaveLength(4);
  },
);
