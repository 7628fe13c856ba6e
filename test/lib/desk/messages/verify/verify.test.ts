import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { countsOf } from '../../../../../lib/desk/messages/letters/queue.ts';
import type { LetterDetails } from '../../../../../lib/desk/messages/letters/show.ts';
import type { VerifyResult } from '../../../../../lib/desk/messages/verify/verify.ts';
import { sendAll } from '../../../../../lib/runtime/aws/sqs.ts';
import { readAuditLog } from '../../../../../lib/stage/audit-log.ts';
import { example } from '../../../../local/examples.ts';
import { localOffice } from '../../cli/local-office.ts';
import { eventBody, never } from '../../cli/office.ts';
import { documentIn, typed } from '../../cli/typed.ts';

const functions = ['submission-upload', 'grade-object-create', 'news-item-create'];
const office = localOffice({
  inProcess: functions,
  // What is not answered is parked at once, and not looked up later by its function.
  settings: { WAIT_LONGEST_HOURS: '0.0000001', LEDGER_GRACE_SECONDS: '300' },
});

const taken = [401, 402, 403, 404, 405, 406];
const lost = [411, 412, 413];
const ambiguous = 421;
const refused = 431;
const learners = [...taken, ...lost, ambiguous, refused];
const upload = { method: 'POST', path: 'mysubmissions' };

const send = async (name: string, bodies: string[]): Promise<void> => {
  const { sqs, description } = office.stack();
  const url = description.queues[name] ?? '';
  await sendAll(
    { sqs, url },
    bodies.map((body) => ({ body, attributes: {} })),
  );
};
/** The grace period of all calls that were sent is over, for everybody. */
const noCallCanActAnyMore = async (): Promise<void> => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000, shouldAdvanceTime: true });
  // They have kept the clock of their beginning.
  for (const name of functions) await office.stack().lambda?.recycle(name);
};
afterAll(() => void vi.useRealTimers());

const lettersAre = async (count: number): Promise<void> => {
  const { sqs, description } = office.stack();
  while ((await countsOf({ sqs, url: description.deadLetters })).visible < count) await sleep(50);
};
const park = async (name: string, bodies: string[]): Promise<void> => {
  const { sqs, description } = office.stack();
  const { visible } = await countsOf({ sqs, url: description.deadLetters });
  await send(name, bodies);
  await lettersAre(visible + bodies.length);
};
const key = (userId: number) => ({
  type: 'id-key',
  appId: 'local-app',
  appKey: 'local-app-key',
  userId: String(userId),
  userKey: `local-key-${userId}`,
});
const submissionOf = (userId: number, more: object = {}) =>
  eventBody('submission-upload', { userId, ...more });
const submissionsOf = async (userId: number) =>
  ((await office.controls().state()).submissions ?? []).filter((each) => each.userId === userId).length;

type Document = VerifyResult & {
  discarded?: number;
  replayed?: number;
  through?: number;
};
const verify = async (options = '') => {
  const said = await typed(`letters verify ${options} --json --stack ${office.file}`);
  return { ...said, document: documentIn<Document>(said.out) };
};
/** By user, or by function where there is none. */
const byUser = ({ letters }: Document) =>
  Object.fromEntries(letters.map(({ user, function: name, found }) => [user ?? name, found]));

beforeAll(async () => {
  const controls = office.controls();
  await office.enrol(learners);
  const { secrets } = office.stack().description;
  for (const userId of learners) await controls.secret(`${secrets.userPrefix}${userId}`, key(userId));
  await controls.fault({ reset: 'after' }, { ...upload, times: taken.length });
  await park(
    'submission-upload',
    taken.map((userId) => submissionOf(userId)),
  );
  await controls.fault({ status: 502 }, { ...upload, times: 5 });
  await controls.fault({ status: 502 }, { method: 'POST', path: '/(grades|news)/$', times: 2 });
  await park(
    'submission-upload',
    [...lost, ambiguous, refused].map((userId) => submissionOf(userId)),
  );
  await park('grade-object-create', [await example('grade-object-create')]);
  await park('news-item-create', [await example('news-item-create')]);
});

const all = taken.length + lost.length + 2 + 2;

test('a call that may still act is not called absent', async () => {
  const { document } = await verify();
  const { letters, ...counts } = document;
  // What is there is found at any time.
  expect(counts).toEqual({ found: taken.length, absent: 0, unclear: all - taken.length });
  expect(letters.filter(({ user }) => lost.includes(Number(user)))).toMatchObject(
    lost.map(() => ({ found: 'unclear', why: expect.stringMatching(/^too early/) })),
  );
});

test('each letter is told apart, with whom it is about and why, and nothing is changed unasked', async () => {
  const { sqs, description } = office.stack();
  const controls = office.controls();
  await noCallCanActAnyMore();
  // The same file under another name: it may be this submission, or not.
  await send('submission-upload', [
    submissionOf(ambiguous, {
      files: [
        {
          uri: `s3://${description.bucket}/events/essay.pdf`,
          name: 'Another.pdf',
          contentType: 'application/pdf',
        },
      ],
    }),
  ]);
  await expect.poll(() => submissionsOf(ambiguous)).toBe(1);
  await controls.key(refused, 'rotated');

  const before = await controls.state();
  const { document, status, asked, err } = await verify();
  const { letters, ...counts } = document;
  expect(counts).toEqual({ found: 6, absent: 4, unclear: 3 });
  expect(err).toContain(
    'Not done, as there is no terminal to ask on: Discard 6 letters that were found on the platform. Pass --discard-found to confirm.',
  );
  expect(err).toMatch(/Not done, .*: Replay 4 letters that were not found there\. Pass --replay-absent/);
  expect(byUser(document)).toEqual({
    ...Object.fromEntries(taken.map((userId) => [userId, 'found'])),
    ...Object.fromEntries(lost.map((userId) => [userId, 'absent'])),
    [ambiguous]: 'unclear',
    [refused]: 'unclear',
    'grade-object-create': 'absent',
    'news-item-create': 'unclear',
  });
  expect(letters.find(({ user }) => user === '401')).toEqual({
    id: expect.any(String),
    eventId: expect.any(String),
    function: 'submission-upload',
    user: '401',
    orgUnit: '2001',
    thing: 'folder 7001',
    found: 'found',
  });
  const whyOf = (wanted: (letter: (typeof letters)[number]) => boolean) => letters.find(wanted)?.why;
  expect(whyOf(({ user }) => user === String(ambiguous))).toContain(
    'something is there that may be its effect',
  );
  expect(whyOf(({ user }) => user === String(refused))).toMatch(/credential|40[13]/);
  expect(whyOf(({ function: name }) => name === 'news-item-create')).toContain(
    'no call of the platform shows it',
  );

  // Letters are left.
  expect([status, asked]).toEqual([1, []]);
  expect(await controls.state()).toEqual(before);
  expect((await countsOf({ sqs, url: description.deadLetters })).visible).toBe(all);
});

test('what stays unclear is revealed together, for one reason', async () => {
  const { document } = await verify('--reveal --reason "a look at the platform"');
  const { letters, revealed } = document as VerifyResult & { revealed: LetterDetails[] };
  const unclear = letters.filter(({ found }) => found === 'unclear').map(({ id }) => id);
  expect(unclear).toHaveLength(3);
  expect(revealed.map(({ id }) => id).sort()).toEqual(unclear.sort());
  expect(revealed.find(({ function: name }) => name === 'news-item-create')).toMatchObject({
    message: { data: { title: expect.stringMatching(/\w/) } },
  });
  const { commands } = await readAuditLog(office.target(), { sinceMs: 0, signal: never });
  expect(commands.find(({ command }) => command === 'letters show --reveal')).toMatchObject({
    why: 'a look at the platform',
    counts: { revealed: 3 },
  });
});

test('at a terminal each letter has its line, and it is asked once for each of the two', async () => {
  const said = await typed(`letters verify --function submission-upload --stack ${office.file}`, {
    answers: ['n', 'n'],
  });
  expect(said.asked).toEqual([
    'Discard 6 letters that were found on the platform? [y/N] ',
    'Replay 3 letters that were not found there? [y/N] ',
  ]);
  expect(said.out).toMatch(/submission-upload {2}401 · 2001 · folder 7001 {2}found/);
  expect(said.out).toMatch(/411 · 2001 · folder 7001 {2}absent/);
  expect(said.out).toMatch(/6 found: it was done/);
});

test('a letter that is outdated, or of another kind, is not told so', async () => {
  const said = await typed(`letters verify --kind rejected --stack ${office.file}`);
  expect([said.status, said.err]).toEqual([2, expect.stringContaining('uncertain or outdated')]);
});

test('what is found is discarded, what is absent replayed, and the platform holds each once', async () => {
  const { sqs, description } = office.stack();
  const { document, status } = await verify('--yes');
  expect(document).toMatchObject({ found: 6, absent: 4, unclear: 3, discarded: 6, replayed: 4, through: 4 });
  expect(status).toBe(1);
  const { commands } = await readAuditLog(office.target(), {
    sinceMs: Date.now() - 3_600_000,
    signal: never,
  });
  expect(commands.map(({ command, why }) => [command, why])).toEqual(
    expect.arrayContaining([
      ['letters discard', 'verify: found on the platform'],
      ['letters replay', 'verify: not found on the platform'],
    ]),
  );
  for (const userId of [...taken, ...lost])
    expect([userId, await submissionsOf(userId)]).toEqual([userId, 1]);
  expect(await submissionsOf(refused)).toBe(0);
  const { gradeObjects = [] } = await office.controls().state();
  expect(gradeObjects.filter((each) => JSON.stringify(each).includes('"Lab report 1"'))).toHaveLength(1);
  // Those that nobody can tell of stay.
  expect((await countsOf({ sqs, url: description.deadLetters })).visible).toBe(3);
  expect((await verify('--yes')).document).toMatchObject({ found: 0, absent: 0, unclear: 3 });
  // What no look decides, a person does.
  const again = await typed(`letters verify --function news-item-create --stack ${office.file}`);
  expect(again.status).toBe(1);
  expect(again.out).toMatch(
    /^To see what to look for: sis-relay letters verify --id (\S{8}) --reveal [\s\S]*^To discard one that was done or replaced: sis-relay letters discard --id \1 --reason <why>[\s\S]*^To send one that was not: sis-relay letters replay --id \1 --include-uncertain/m,
  );
  // What is revealed already is not offered again.
  const revealed = await typed(
    `letters verify --function news-item-create --reveal --reason "a call" --stack ${office.file}`,
  );
  expect(revealed.out).toMatch(/^To discard one that was done or replaced: .*[\s\S]*"title"/m);
  expect(revealed.out).not.toContain('To see what to look for');
});

test('a platform that does not answer is said once', async () => {
  const { description } = office.stack();
  const file = `${office.folder}/down.json`;
  writeFileSync(file, JSON.stringify({ ...description, platform: 'http://127.0.0.1:9' }));
  const said = await typed(`letters verify --json --stack ${file}`);
  expect(said.status).toBe(1);
  expect(said.out).toBe('');
  expect(said.err).toMatch(/does not answer, so nothing was looked up/);
});
