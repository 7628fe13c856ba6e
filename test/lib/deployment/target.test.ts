import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { namedEditor, targetFrom } from '../../../lib/deployment/target.ts';
import { createQueue } from '../../local/aws.ts';
import { localOffice } from '../cli/local-office.ts';
import { officesForTests } from '../cli/office.ts';

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
  test('has the ledger’s table by the name that serverless.yml gives it', () => {
    const stanzas = readFileSync(join(import.meta.dirname, '../../../serverless.yml'), 'utf8');
    const [, name = ''] = /TableName: (\S+)/.exec(stanzas) ?? [];
    expect(name).not.toBe('');
    expect(targetFrom({ stage: 'prod' }).ledgerTable).toBe(name.replace(/\$\{sls:stage\}/, 'prod'));
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
      'There is no queue sis-relay-prdo-dead-letters',
    );
  });

  test('comes from the environment, or from the address of the dead-letter queue', () => {
    const url = 'https://sqs.eu-west-1.amazonaws.com/123456789012/sis-relay-prod-dead-letters';
    setEnvironment({ SIS_RELAY_STAGE: 'test', SIS_RELAY_BUCKET: 'a-bucket' });
    expect(targetFrom({})).toMatchObject({ prefix: 'sis-relay-test-', bucket: 'a-bucket' });
    setEnvironment({ SIS_RELAY_STAGE: '', DEAD_LETTER_QUEUE_URL: url });
    expect(targetFrom({})).toMatchObject({ prefix: 'sis-relay-prod-' });
    expect(targetFrom({ stage: 'test' })).toMatchObject({ prefix: 'sis-relay-test-' });
    expect(targetFrom({ deadLetters: url.replace('prod', 'dev'), bucket: 'b' })).toMatchObject({
      prefix: 'sis-relay-dev-',
      bucket: 'b',
    });
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
    [{}, /^Which sis-relay\? Give --stage/],
    [
      { deadLetters: 'https://sqs/1/letters' },
      /letters is not called as in sis-relay-prod-dead-letters: give --stage too/,
    ],
  ])('cannot be guessed from %j', (options, reason) => {
    setEnvironment({ SIS_RELAY_STAGE: '', DEAD_LETTER_QUEUE_URL: '' });
    expect(() => targetFrom(options)).toThrow(reason);
  });
});

describe('the platform', () => {
  test('is known where the environment names it, with the secrets of the stage', () => {
    setEnvironment({ PLATFORM_URL: 'https://platform.example.edu', SECRET_PREFIX: '' });
    expect(targetFrom({ stage: 'prod' }).platform).toMatchObject({
      PLATFORM_URL: 'https://platform.example.edu',
      SECRET_PREFIX: 'sis-relay/prod',
    });
    setEnvironment({ PLATFORM_URL: '' });
    expect(targetFrom({ stage: 'prod' }).platform).toBeUndefined();
  });
});

describe('the local sis-relay', () => {
  test('is all that npm run local wrote down', async () => {
    const { description } = local.stack();
    const target = targetFrom({ local: local.file });
    expect(target).toMatchObject({
      prefix: 'sis-relay-local-',
      bucket: description.bucket,
      platform: { PLATFORM_URL: description.platform, SECRET_PREFIX: 'sis-relay/local' },
    });
    expect(await target.queueUrlOf('grade-push')).toBe(description.queues['grade-push']);
    expect(await target.queueUrlOf('toString')).toBeUndefined();
  });

  test('that is not up, or not described, is told so', () => {
    expect(() => targetFrom({ local: join(local.folder, 'none.json') })).toThrow(
      /start `npm run local` first/,
    );
    for (const [name, content, reason] of [
      ['broken.json', '{', /not readable as JSON/],
      ['other.json', '{"sqs":"http://x"}', /is not what `npm run local` writes: platform/],
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
