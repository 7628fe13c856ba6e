import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import type { Context } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { functionNames } from '../../../esbuild.config.ts';
import { integrationNames } from '../../../lib/operate/stage/function-names.ts';
import { mapping, registration, startChanges } from '../../lib/sources/changes/changes.ts';
import { entriesOfSis, smallSis, zipOf } from '../../lib/sources/snapshots/sis.ts';
import { filesIn } from '../../local/bucket.ts';
import { controlsOf } from '../../local/controls.ts';
import { eventOf, example } from '../../local/examples.ts';
import { inThisProcess } from '../../local/in-this-process.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { alarmsIn, deploy } from '../cloudformation.ts';
import { type Recorder, recordAwsCalls } from '../deployed/aws-recorder.ts';
import { deployedSettings } from '../deployed/deployed.ts';
import { packagedProject } from '../packages.ts';
import { coverOf, statementsOfRole } from '../policies.ts';

/**
 * Each function does its work once, in this process, and its role is asked about every call. `permissions.test.ts` leads each down
 * all its ways, and also tells what a role allows in vain.
 */
const deployment = deploy((await packagedProject()).template);
const bucket = deployment.arnOf('Files').split(':').at(-1) ?? '';

let stack: Stack;
let recorder: Recorder;
let changes: Awaited<ReturnType<typeof startChanges>>;

beforeAll(async () => {
  changes = await startChanges();
  stack = await startStack({ functions: false });
  recorder = await recordAwsCalls(stack.description);
  await stack.s3.send(new CreateBucketCommand({ Bucket: bucket }));
  await controlsOf(stack.description).secret('sis-relay/local/lti-links/9001', {
    ...{ key: 'link-key', plainSecret: 'link-secret' },
  });
});
afterAll(() => Promise.all([stack?.close(), recorder?.close(), changes?.close()]));

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const { put } = filesIn(() => ({ ...stack, description: { bucket } }));

const settingsOf = (name: string): Record<string, string> => {
  const { Environment } = lambdaOf(name);
  return {
    ...deployedSettings(Environment.Variables, { ...stack, name, url: recorder.url }),
    ...{ CHANGES_URL: changes.url, CHANGES_PRIVATE: 'true', CHANGES_SECRET: 'changes' },
  };
};

const lambdaOf = (name: string) => {
  const lambda = deployment
    .ofType('AWS::Lambda::Function')
    .find(({ FunctionName }) => FunctionName.endsWith(`-${name}`));
  if (lambda === undefined) throw new Error(`The template has no function ${name}`);
  return lambda;
};

/** What the function calls while it works, and its role does not allow. */
const forbiddenWhile = async (name: string, work: () => Promise<void>) => {
  const before = recorder.calls.length;
  await work();
  const calls = recorder.calls.slice(before);
  expect(calls).not.toEqual([]);
  const statements = statementsOfRole(deployment, name);
  return calls.filter((call) => coverOf(call, statements).length === 0);
};

/** Its example, with its files where the deployed function may read them. */
const messageOf = async (name: string): Promise<string> => {
  const body = await example(name);
  const uris = /s3:\/\/sis-relay-uploads\/events\/([^"]+)/g;
  for (const [, file = ''] of body.matchAll(uris))
    await put(
      `uploads/${name}/${file}`,
      await readFile(resolve(import.meta.dirname, '../../local/files', file)),
    );
  return body.replace(uris, `s3://${bucket}/uploads/${name}/$1`);
};

const context = {
  ...{ awsRequestId: 'an-invocation', getRemainingTimeInMillis: () => 900_000 },
} as Context;

type Other = { event?: object; prepare?(): Promise<unknown>; answers: object };

/** Those that no queue triggers. */
const others: Record<string, Other> = {
  'change-poll': {
    prepare: async () => {
      const header = { header: 'Authorization', value: 'Bearer of-the-sis' };
      await controlsOf(stack.description).secret('sis-relay/local/changes', header);
      await put('change-poll/mapping.json', JSON.stringify(mapping));
      changes.has([registration(1), registration(2, { published: 'yesterday' })]);
    },
    answers: { outcome: 'done', sent: 1, refused: 1 },
  },
  'connection-check': { answers: { reachable: true, problems: [] } },
  'token-refresh': {
    prepare: async () => {
      const { platform } = stack.description;
      const { tokenUrl } = (await (await fetch(`${platform}/_local/oauth`)).json()) as { tokenUrl: string };
      await controlsOf(stack.description).secret('sis-relay/local/users/303', {
        ...{ type: 'oauth', grant: 'client_credentials', tokenUrl, clientId: 'local-client' },
        clientSecret: 'local-client-secret',
      });
    },
    answers: { refreshed: 1 },
  },
  'dead-letter-replay': { answers: {} },
  'course-export': { event: { orgUnitIds: [2001] }, answers: { outcome: 'complete' } },
  'crosswalk-fill': { answers: { outcome: 'filled' } },
  'snapshot-import': {
    prepare: async () => {
      const settings = { roles: { student: 110, teacher: 109 }, maxRemovalsPercent: 100 };
      await put('snapshot-settings.json', JSON.stringify(settings));
      await put('snapshots/first.zip', await zipOf(entriesOfSis(smallSis())));
    },
    event: { key: 'snapshots/first.zip' },
    answers: { outcome: 'accepted' },
  },
  reconcile: { answers: { state: 'whole' } },
};

test('each function writes its metrics to the namespace that the alarms read', () => {
  const alarm = alarmsIn(deployment).find(({ id }) => id === 'LettersProducer');
  const written = functionNames.map((name) => lambdaOf(name).Environment.Variables.METRIC_NAMESPACE);
  expect([...new Set(written)]).toEqual([alarm?.watched[0]?.Namespace]);
});

test('each function is one of them', () => {
  expect([...integrationNames(), ...Object.keys(others)].sort()).toEqual([...functionNames].sort());
});

describe('the role allows every call of', () => {
  test.each(integrationNames())('%s, which does what its example says', async (name) => {
    const ends: string[] = [];
    const functions = inThisProcess(stack.description, settingsOf(name), {
      onEnd: (_, outcome) => ends.push(outcome),
    });
    const [record] = (await eventOf(name)).Records;
    const body = await messageOf(name);
    const work = async () => void (await functions.invoke(name, { Records: [{ ...record, body }] }));
    expect(await forbiddenWhile(name, work)).toEqual([]);
    expect(ends).toEqual(['done']);
    await functions.close();
  });

  test.each(Object.keys(others))('%s, which does its work', async (name) => {
    for (const [key, value] of Object.entries(settingsOf(name))) vi.stubEnv(key, value);
    vi.stubEnv('LOG_LEVEL', 'silent');
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const { DurableConfig, FunctionName } = lambdaOf(name);
    const { handler } = await import(`../../../functions/${name}.ts`);
    const invoke = async (event: unknown) => ({ ok: true as const, payload: await handler(event, context) });
    const { event, answers, prepare } = others[name] ?? {};
    await prepare?.();
    const given = event ?? (await eventOf(name));
    const functionArn = `arn:aws:lambda:us-east-1:000000000000:function:${FunctionName}`;
    const run = () =>
      DurableConfig === undefined
        ? invoke(given)
        : stack.executions.run(given, { functionArn, executionTimeoutMs: 60_000 }, invoke);
    expect(
      await forbiddenWhile(name, async () =>
        expect(await run()).toMatchObject({ ok: true, payload: answers }),
      ),
    ).toEqual([]);
  });
});
