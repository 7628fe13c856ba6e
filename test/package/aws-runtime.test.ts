import { afterAll, beforeAll, expect, test } from 'vitest';
import { functionNames } from '../../esbuild.config.ts';
import { controlsOf } from '../local/controls.ts';
import { eventOf, example } from '../local/examples.ts';
import { type Deployed, deployLocally } from './deployed.ts';
import { packagedProject } from './packages.ts';

let deployed: Deployed;

beforeAll(async () => {
  deployed = await deployLocally(await packagedProject(), {
    change: { awsRuntime: true },
    settings: Object.fromEntries(
      ['EXPORT_BUCKET', 'CROSSWALK_BUCKET', 'SNAPSHOT_BUCKET', 'RECONCILE_BUCKET'].map((name) => [
        name,
        'sis-relay-uploads',
      ]),
    ),
  });
  const link = { key: 'link-key', plainSecret: 'link-secret' };
  await controlsOf(deployed.stack.description).secret('sis-relay/local/lti-links/9001', link);
});
afterAll(() => deployed?.close());

test.concurrent.each(functionNames)('%s does its work under AWS’ own runtime client', async (name) => {
  const { queues } = deployed.stack.description;
  if (queues[name] === undefined) {
    const result = await deployed.lambda.invoke(name, await eventOf(name));
    expect(result).toMatchObject({ ok: true });
  } else {
    const message = await deployed.send(name, await example(name));
    expect(await message.ends()).toMatchObject({
      outcome: 'done',
      invocationId: expect.stringMatching(/^[\da-f-]{36}$/),
    });
  }
});

test('what a handler throws is told to Lambda', async () => {
  const name = 'connection-check';
  const { PLATFORM_URL, ...rest } = deployed.functions[name]!.env;
  await deployed.lambda.recycle(name, rest);
  expect(await deployed.lambda.invoke(name, {})).toMatchObject({
    ok: false,
    error: { errorType: 'Error', errorMessage: 'PLATFORM_URL is missing' },
  });
  await deployed.lambda.recycle(name, { PLATFORM_URL: `${PLATFORM_URL}`, ...rest });
});
