import { PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, test } from 'vitest';
import { keyOf } from '../../local/stack.ts';
import { onCallStage } from './on-call-stage.ts';

const { stack, controls, states, start, pass, send, mails, minutesOf } = onCallStage(
  ['grade-push', 'enrollment-create', 'submission-upload', 'news-item-create'],
  { EXPECTED: 'grade-push 4h mon-fri 07-19' },
);

const grade = (userId: number, more: object = {}) => ({
  orgUnitId: 2001,
  gradeObjectId: 5001,
  userId,
  grade: { type: 'numeric', points: 7 },
  comments: '',
  privateComments: '',
  ...more,
});
const enrollment = (userId: number) => ({ orgUnitId: 2001, userId, roleId: 110 });
const submissionOf302 = async () => {
  const { Records } = (await import('../../../events/submission-upload.json', { with: { type: 'json' } }))
    .default;
  return { ...JSON.parse(Records[0]?.body ?? '').data, userId: 302 };
};
const lacksScope = {
  status: 403,
  body: {
    type: 'http://docs.example.org/res/apiprop.html#not-authorized',
    title: 'Not Authorized',
    status: 403,
    detail: 'Insufficient scope to call API. Required: grades:gradevalues:write',
  },
};

/** Letters of tests before still lie there, and an hour's count of them ends. */
const withoutAny = (all: string[]): string[] => all.filter((mail) => !/^Letters(Any|Many)/.test(mail));

beforeEach(async () => {
  await send('grade-push', grade(301));
  await pass(30);
  mails();
});

describe('on call', () => {
  test('a quiet hour sends no mail', { tags: ['long'] }, async () => {
    await send('grade-push', grade(301), grade(303));
    await pass(60);
    expect(mails()).toEqual([]);
  });

  test('the SIS that sends nothing is told after its hours, and it is over when something comes', async () => {
    await pass(3 * 60);
    expect(mails()).toEqual([]);
    expect(await minutesOf('NothingArrivesgradepush', 80)).toBeLessThanOrEqual(60);
    await send('grade-push', grade(301));
    await pass(40);
    expect(mails()).toEqual(['NothingArrivesgradepush on', 'NothingArrivesgradepush over']);
  });

  test('a lost scope is told beside a learner who has no credential, and so is each next cause', async () => {
    await send('submission-upload', await submissionOf302());
    expect(await minutesOf('LettersLearner', 40)).toBeLessThanOrEqual(25);
    await pass(15);
    await send('submission-upload', await submissionOf302());
    await pass(20);
    expect(withoutAny(mails())).toEqual(['LettersLearner on']);
    await controls().fault(lacksScope, { path: '/values/', times: 100 });
    await send('submission-upload', await submissionOf302());
    await send('grade-push', grade(301));
    expect(await minutesOf('LettersAccess', 40)).toBeLessThanOrEqual(25);
    await send('enrollment-create', { ...enrollment(303), roleId: 'teacher' });
    expect(await minutesOf('LettersProducer', 40)).toBeLessThanOrEqual(25);
    await send('grade-push', grade(301, { gradeObjectId: 'final' }));
    await pass(20);
    expect(withoutAny(mails())).toEqual(['LettersAccess on', 'LettersProducer on', 'LettersProducer on']);
  });

  test('a flood of letters of one cause is told by its size', { tags: ['long'] }, async () => {
    await send('grade-push', ...Array.from({ length: 600 }, () => grade(301, { grade: 'A' })));
    expect(await minutesOf('LettersMany', 90)).toBeLessThanOrEqual(65);
    expect(mails()).toContain('LettersMany on');
  });

  test('grades alone that are not answered are told within half an hour, and no short outage', async () => {
    await controls().fault({ status: 503 }, { path: '/values/', times: 10_000 });
    await send('grade-push', grade(301));
    await pass(5);
    await controls().clearFaults();
    await pass(30);
    expect(withoutAny(mails())).toEqual([]);
    await controls().fault({ status: 503 }, { path: '/values/', times: 10_000 });
    await send('grade-push', grade(301));
    await send('enrollment-create', enrollment(303));
    expect(await minutesOf('PartAway', 60)).toBeLessThanOrEqual(30);
    await controls().clearFaults();
    await pass(60);
    expect(withoutAny(mails())).toEqual(['PartAway on', 'PartAway over']);
  });

  test('DynamoDB that throttles is told within half an hour', { tags: ['long'] }, async () => {
    const type = 'ProvisionedThroughputExceededException';
    await controls().awsFault('dynamodb', { action: 'PutItem', type, status: 400 });
    await controls().awsFault('dynamodb', { action: 'UpdateItem', type, status: 400 });
    await send('grade-push', grade(301));
    expect(await minutesOf('PartAway', 60)).toBeLessThanOrEqual(30);
    await controls().clearAwsFaults();
    await pass(60);
    expect(mails()).toContain('PartAway over');
  });

  test('a platform that is away is told once, by the check of the connection', {
    tags: ['long'],
  }, async () => {
    await controls().fault({ reset: 'before' }, { times: 10_000 });
    await send('grade-push', grade(301));
    expect(await minutesOf('ConnectionFails', 60)).toBeLessThanOrEqual(25);
    await pass(30);
    await controls().clearFaults();
    await pass(60);
    expect(withoutAny(mails())).toEqual(['ConnectionFails on', 'ConnectionFails over']);
  });

  test('a credential that is refused is told at once, as is a right that is gone', {
    tags: ['long'],
  }, async () => {
    await controls().key(100, 'rotated');
    await send('grade-push', grade(301));
    expect(await minutesOf('ServiceRefused', 60)).toBeLessThanOrEqual(15);
    expect(mails()).toContain('CredentialRefused on');
    await controls().secret(stack().description.secrets.service, keyOf(100, 'rotated'));
    await pass(130);
    expect(mails()).toEqual(expect.arrayContaining(['ServiceRefused over', 'CredentialRefused over']));
    await controls().secret(stack().description.secrets.service, keyOf(100));
    await controls().key(100, 'local-key-100');
    await controls().awsFault('dynamodb', { action: 'PutItem', type: 'AccessDeniedException', status: 400 });
    await send('grade-push', grade(301));
    expect(await minutesOf('AwsRefused', 60)).toBeLessThanOrEqual(15);
  });

  test('a bad version, whose functions do not start, is told, and it is over after the step back', {
    tags: ['long'],
  }, async () => {
    start({ PLATFORM_LP_VERSION: 'none' });
    await send('grade-push', grade(301));
    expect(await minutesOf('FunctionErrors1', 100)).toBeLessThanOrEqual(65);
    start();
    await pass(130);
    expect(mails()).toEqual(expect.arrayContaining(['FunctionErrors1 on', 'FunctionErrors1 over']));
  });

  test('letters that nobody decides on are told each morning until somebody has', {
    tags: ['long'],
  }, async () => {
    // Of its first morning it is not a day old.
    const untilNoon = (36 * 60 - new Date().getUTCHours() * 60 - new Date().getUTCMinutes()) % (24 * 60);
    await pass(untilNoon, untilNoon);
    await controls().fault({ reset: 'after' }, { method: 'POST', path: '/news/', times: 1 });
    const { Records } = (await import('../../../events/news-item-create.json', { with: { type: 'json' } }))
      .default;
    await send('news-item-create', JSON.parse(Records[0]?.body ?? '').data);
    const undecided = () => mails().filter((mail) => mail.startsWith('LettersUndecided'));
    await pass(3 * 24 * 60, 60);
    expect(undecided()).toEqual(['LettersUndecided on', 'LettersUndecided on']);
    const { deadLetters: QueueUrl } = stack().description;
    await stack().sqs.send(new PurgeQueueCommand({ QueueUrl }));
    await pass(24 * 60, 60);
    expect(undecided()).toEqual([]);
    expect(states().descriptionOf('LettersUndecided')).toContain('npx sis-relay status --stage local');
  });
});
