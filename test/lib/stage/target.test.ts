import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readStack } from '../../../lib/stage/stack-outputs.ts';
import { namedEditor, targetFrom } from '../../../lib/stage/target.ts';
import { sharedResources } from '../../../lib/stage/template/shared-resources.ts';
import type { TemplateOptions } from '../../../lib/stage/template/stage-settings.ts';
import { createQueue } from '../../local/aws/aws.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { localOffice } from '../desk/cli/local-office.ts';
import { officesForTests } from '../desk/cli/office.ts';
import { typed } from '../desk/cli/typed.ts';
import { startStackServer } from './stack-server.ts';

const offices = officesForTests();
const local = localOffice({ functions: false });
afterEach(() => vi.unstubAllEnvs());

const setEnvironment = (environment: Record<string, string>) => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
};
const onTheServer = () =>
  setEnvironment({
    AWS_ENDPOINT_URL_SQS: offices.url(),
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  });

describe('a stage', () => {
  test('has the ledger’s table by the name that the template gives it', () => {
    const { Ledger } = sharedResources({ stage: 'prod' } as TemplateOptions, []);
    expect(targetFrom({ stage: 'prod' }).ledgerTable).toBe(Ledger?.Properties.TableName);
  });

  test('has its queues by their names', async () => {
    const office = await offices.open();
    onTheServer();
    const stage = /^sis-relay-(.+)-$/.exec(office.target.prefix)?.[1];
    const target = targetFrom({ stage });
    expect(target.prefix).toBe(office.target.prefix);
    expect(await target.deadLetterQueueUrl()).toBe(office.deadLetters.url);
    expect(await target.queueUrlOf('grade-push')).toBe(office.queueOf('grade-push').url);
    expect(await target.queueUrlOf('grade-pull')).toBeUndefined();
  });

  test('that there is not is told by the queue that is missing', async () => {
    onTheServer();
    await expect(targetFrom({ stage: 'prdo' }).deadLetterQueueUrl()).rejects.toThrow(
      'There is no queue sis-relay-prdo-dead-letters in the region us-east-1, in the account of your credentials. Check the stage, the region and the profile.',
    );
    await expect(targetFrom({ stage: 'prdo', region: 'eu-west-1' }).deadLetterQueueUrl()).rejects.toThrow(
      'in the region eu-west-1,',
    );
  });

  test('comes from the environment, or from the address of the dead-letter queue', async () => {
    const url = 'https://sqs.eu-west-1.amazonaws.com/123456789012/sis-relay-prod-dead-letters';
    setEnvironment({ SIS_RELAY_STAGE: 'test', SIS_RELAY_BUCKET: 'a-bucket' });
    expect(targetFrom({}).prefix).toBe('sis-relay-test-');
    expect(await targetFrom({}).bucket()).toBe('a-bucket');
    setEnvironment({ SIS_RELAY_STAGE: '', DEAD_LETTER_QUEUE_URL: url });
    expect(targetFrom({})).toMatchObject({ prefix: 'sis-relay-prod-' });
    expect(targetFrom({ stage: 'test' })).toMatchObject({ prefix: 'sis-relay-test-' });
    const other = targetFrom({ deadLetters: url.replace('prod', 'dev'), bucket: 'b' });
    expect(other.prefix).toBe('sis-relay-dev-');
    expect(await other.bucket()).toBe('b');
  });

  test('that is asked for has nothing of another stage’s queue in the environment', async () => {
    const office = await offices.open();
    onTheServer();
    setEnvironment({
      DEAD_LETTER_QUEUE_URL: 'https://sqs.eu-west-1.amazonaws.com/1/sis-relay-prod-dead-letters',
    });
    const stage = /^sis-relay-(.+)-$/.exec(office.target.prefix)?.[1];
    expect(await targetFrom({ stage }).deadLetterQueueUrl()).toBe(office.deadLetters.url);
  });

  test.each([
    [{}, /^Which deployment\? Pass --stage/],
    [
      { deadLetters: 'https://sqs/1/letters' },
      /letters is not named like sis-relay-prod-dead-letters, so the other queues cannot be found\. Pass --stage, too/,
    ],
  ])('cannot be guessed from %j', (options, reason) => {
    setEnvironment({ SIS_RELAY_STAGE: '', DEAD_LETTER_QUEUE_URL: '' });
    expect(() => targetFrom(options)).toThrow(reason);
  });
});

test('the region of a stage is that of its file, unless an option or the environment names one', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'prod.yml'), "# The stage\nregion: 'eu-central-1'\nplatformUrl: 'https://x'\n");
  setEnvironment({ AWS_REGION: '', SIS_RELAY_STAGES: folder });
  const regionOf = async (options: object) =>
    (await targetFrom({ stage: 'prod', ...options }).sqs()).config.region();
  expect(await regionOf({})).toBe('eu-central-1');
  expect(await regionOf({ region: 'eu-west-1' })).toBe('eu-west-1');
  setEnvironment({ AWS_REGION: 'us-east-1' });
  expect(await regionOf({})).toBe('us-east-1');
});

describe('the platform', () => {
  test('is known where the environment names it, with the secrets of the stage', async () => {
    setEnvironment({ PLATFORM_URL: 'https://platform.example.edu', SECRET_PREFIX: '' });
    expect(await targetFrom({ stage: 'prod' }).platform()).toMatchObject({
      PLATFORM_URL: 'https://platform.example.edu',
      SECRET_PREFIX: 'sis-relay/prod',
    });
    setEnvironment({ PLATFORM_URL: '' });
    expect(await targetFrom({ stage: 'prod' }).platform()).toBeUndefined();
  });
});

/** As the server of stacks tells. */
const changedMs = Date.parse('2026-01-31T09:30:00Z');

describe('the stack of a stage', () => {
  let server: Awaited<ReturnType<typeof startStackServer>>;
  beforeEach(async () => {
    server = await startStackServer(
      {
        'sis-relay-prod': {
          FilesBucket: 'files-of-prod',
          PlatformUrl: 'https://platform.example.edu',
          SecretPrefix: 'sis-relay/prod',
          PlatformLpVersion: '1.50',
          PlatformLeVersion: '1.90',
        },
      },
      { version: '1.2.3', commit: 'e3105916b1' },
    );
    onTheServer();
    setEnvironment({
      AWS_ENDPOINT_URL_CLOUDFORMATION: server.url,
      SIS_RELAY_BUCKET: '',
      PLATFORM_URL: '',
      SECRET_PREFIX: '',
    });
  });
  afterEach(() => server.close());
  const opened = (options: object) => {
    const warned: string[] = [];
    return { warned, target: targetFrom({ ...options, readStack, warn: (each) => warned.push(each) }) };
  };

  test('tells bucket and platform, and is asked once, when they are needed', async () => {
    setEnvironment({ PLATFORM_LP_VERSION: '1.1', PLATFORM_LE_VERSION: '1.1' });
    const { target, warned } = opened({ stage: 'prod' });
    expect(server.asked).toEqual([]);
    expect(await target.bucket()).toBe('files-of-prod');
    expect(await target.platform()).toMatchObject({
      PLATFORM_URL: 'https://platform.example.edu',
      SECRET_PREFIX: 'sis-relay/prod',
      PLATFORM_LP_VERSION: '1.50',
      PLATFORM_LE_VERSION: '1.90',
    });
    expect(await target.deployed?.()).toEqual({
      version: '1.2.3',
      commit: 'e3105916b1',
      changedMs,
      isDeployed: true,
    });
    expect(server.asked).toEqual(['DescribeStacks sis-relay-prod']);
    expect(warned).toEqual([]);
  });

  test('that was deployed by this version has its commit among its outputs', async () => {
    const now = await startStackServer({ 'sis-relay-prod': { Commit: '0123456789' } }, { version: '1.2.4' });
    setEnvironment({ AWS_ENDPOINT_URL_CLOUDFORMATION: now.url });
    const deployed = await opened({ stage: 'prod' }).target.deployed?.();
    expect(deployed).toEqual({ version: '1.2.4', commit: '0123456789', changedMs, isDeployed: true });
    await now.close();
  });

  test('that was deployed before versions were written down states none, and one that is not there is unknown', async () => {
    const early = await startStackServer({ 'sis-relay-prod': {} });
    setEnvironment({ AWS_ENDPOINT_URL_CLOUDFORMATION: early.url });
    expect(await opened({ stage: 'prod' }).target.deployed?.()).toEqual({ changedMs, isDeployed: true });
    const { target, warned } = opened({ stage: 'dev' });
    expect(await target.deployed?.()).toBeUndefined();
    expect(warned).toEqual([]);
    await early.close();
  });

  test('is not asked for what an option or the environment tells', async () => {
    setEnvironment({ PLATFORM_URL: 'https://other.example.edu' });
    const { target } = opened({ stage: 'prod', bucket: 'mine' });
    expect(await target.bucket()).toBe('mine');
    expect(await target.platform()).toMatchObject({
      PLATFORM_URL: 'https://other.example.edu',
      SECRET_PREFIX: 'sis-relay/prod',
    });
    setEnvironment({ SIS_RELAY_BUCKET: 'of-the-environment' });
    expect(await opened({ stage: 'prod' }).target.bucket()).toBe('of-the-environment');
    expect(server.asked).toEqual([]);
  });

  test.each([
    [
      'is not there',
      undefined,
      'there is no stack sis-relay-dev in this account and region (check the stage, the region and the profile)',
    ],
    ['may not be read', 'AccessDenied', 'the stack sis-relay-dev cannot be read (AccessDenied)'],
  ])('that %s leaves them unknown, and is told in one sentence', async (_, refusal, why) => {
    server.state.refusal = refusal;
    const { target, warned } = opened({ stage: 'dev' });
    expect(await target.bucket()).toBeUndefined();
    expect(await target.platform()).toBeUndefined();
    expect(warned).toEqual([
      `The bucket and the platform’s address are not known: ${why}. Pass --bucket or set SIS_RELAY_BUCKET, and set PLATFORM_URL.`,
    ]);
  });

  test('that cannot be read by expired credentials is no stack that is missing', async () => {
    server.state.refusal = 'ExpiredToken';
    await expect(opened({ stage: 'prod' }).target.bucket()).rejects.toThrow('You may not');
  });

  test('whose region has no host is no stack that cannot be read, either', async () => {
    setEnvironment({ AWS_ENDPOINT_URL_CLOUDFORMATION: 'http://cloudformation.nowhere.invalid' });
    await expect(opened({ stage: 'prod' }).target.bucket()).rejects.toThrow(/cloudformation.nowhere.invalid/);
  });

  test('makes --stage enough for a command that writes the audit log', async () => {
    const office = await offices.open();
    setEnvironment({ AWS_ENDPOINT_URL_S3: offices.url(), AWS_ENDPOINT_URL_DYNAMODB: offices.tables() });
    const stage = /^sis-relay-(.+)-$/.exec(office.target.prefix)?.[1];
    const [id = ''] = await office.park([{}]);
    const reveal = `letters show ${id} --reveal --reason r --stage ${stage}`;
    expect(await typed(reveal)).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringMatching(
        /^The bucket and the platform’s address are not known: [\s\S]*Nothing was changed or revealed/,
      ),
    });
    const named = await startStackServer({ [`sis-relay-${stage}`]: { FilesBucket: office.bucket } });
    setEnvironment({ AWS_ENDPOINT_URL_CLOUDFORMATION: named.url });
    expect(await typed(reveal)).toMatchObject({ status: 0, out: expect.stringContaining('Well argued') });
    expect((await typed(`letters groups --stage ${stage}`)).status).toBe(0);
    expect(named.asked).toHaveLength(1);
    await named.close();
  });
});

describe('the local sis-relay', () => {
  test('is all that npm run local wrote down', async () => {
    const { description } = local.stack();
    const target = targetFrom({ local: local.file });
    expect(target.prefix).toBe('sis-relay-local-');
    expect(await target.deployed?.()).toEqual({ version: description.version, commit: description.commit });
    expect(await target.bucket()).toBe(description.bucket);
    expect(await target.platform()).toEqual({
      PLATFORM_URL: description.platform,
      SECRET_PREFIX: 'sis-relay/local',
    });
    expect(await target.queueUrlOf('grade-push')).toBe(description.queues['grade-push']);
    expect(await target.queueUrlOf('toString')).toBeUndefined();
  });

  test('that is not up, or not described, is told so', () => {
    expect(() => targetFrom({ local: join(local.folder, 'none.json') })).toThrow(
      /^There is no file .*none\.json\. Pass the \.local\/stack\.json that `npm run local` writes/,
    );
    for (const [name, content, reason] of [
      ['broken.json', '{', /broken\.json is not JSON/],
      ['other.json', '{"sqs":"http://x"}', /was not written by this version of `npm run local`: platform/],
    ] as const) {
      writeFileSync(join(local.folder, name), content);
      expect(() => targetFrom({ local: join(local.folder, name) })).toThrow(reason);
    }
  });
});

test('who acts is whoever says so, else the function, else the user of the machine', () => {
  const who = (as?: string) => targetFrom({ stage: 'prod', as }).who;
  expect(who()).toMatch(/^.+@.+$/);
  setEnvironment({ AWS_LAMBDA_FUNCTION_NAME: 'sis-relay-prod-dead-letter-replay' });
  expect(who()).toBe('sis-relay-prod-dead-letter-replay');
  expect(who('jane')).toBe('jane');
});

test('the editor is the one that the operator has named', () => {
  setEnvironment({ VISUAL: '', EDITOR: '' });
  expect(namedEditor()).toBeUndefined();
  setEnvironment({ EDITOR: 'nano' });
  expect(namedEditor()).toBe('nano');
  setEnvironment({ VISUAL: 'code --wait' });
  expect(namedEditor()).toBe('code --wait');
});

test('a queue with another name can be worked on where the stage is given too', async () => {
  const office = await offices.open();
  onTheServer();
  const { url } = await createQueue(await office.target.sqs(), 'letters-of-old');
  const stage = /^sis-relay-(.+)-$/.exec(office.target.prefix)?.[1];
  expect(await targetFrom({ stage, deadLetters: url }).deadLetterQueueUrl()).toBe(url);
});
