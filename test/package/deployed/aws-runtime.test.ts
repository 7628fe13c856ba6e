import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundle, functionNames } from '../../../esbuild.config.ts';
import { controlsOf } from '../../local/controls.ts';
import { eventOf, example } from '../../local/examples.ts';
import { linkBinding } from '../../local/lambda/bundles.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { packagedProject } from '../packages.ts';
import { type Deployed, deployLocally } from './deployed.ts';

/** Functions of the project, each bundled as it is deployed, under AWS' own runtime client. */
function underAwsRuntime(names: string[]): () => Deployed {
  let deployed: Deployed;
  beforeAll(async () => {
    const folder = temporaryFolder();
    const code = (name: string) => join(folder, name, 'code');
    for (const name of names) {
      await bundle(name, { codeDir: code(name), mapDir: join(folder, name, 'maps') });
      await linkBinding(code(name));
    }
    deployed = await deployLocally(await packagedProject(), {
      code,
      change: { awsRuntime: true },
      settings: Object.fromEntries(
        ['SIS_RELAY_BUCKET', 'EXPORT_BUCKET', 'CROSSWALK_BUCKET', 'SNAPSHOT_BUCKET', 'RECONCILE_BUCKET'].map(
          (name) => [name, 'sis-relay-uploads'],
        ),
      ),
    });
    const link = { key: 'link-key', plainSecret: 'link-secret' };
    await controlsOf(deployed.stack.description).secret('sis-relay/local/lti-links/9001', link);
  });
  afterAll(() => deployed?.close());

  test.concurrent.each(names)('%s does its work', async (name) => {
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
  return () => deployed;
}

/** The one that loads least. */
const one = 'connection-check';

describe('under AWS’ own runtime client', () => {
  const deployed = underAwsRuntime([one]);

  test('what a handler throws is told to Lambda', async () => {
    const { lambda, functions } = deployed();
    const { PLATFORM_URL: _, ...rest } = functions[one]!.env;
    await lambda.recycle(one, rest);
    expect(await lambda.invoke(one, {})).toMatchObject({
      ok: false,
      error: { errorType: 'Error', errorMessage: 'PLATFORM_URL is missing' },
    });
  });
});

describe('under AWS’ own runtime client, too,', { tags: ['long'] }, () => {
  underAwsRuntime(functionNames.filter((name) => name !== one));
});
