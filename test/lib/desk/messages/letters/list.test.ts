import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { withLetters } from '../../../../../lib/desk/messages/letters/leased-letters.ts';
import {
  findLetter,
  findLetters,
  groupLetters,
  listLetters,
  readFlow,
  selectLetters,
} from '../../../../../lib/desk/messages/letters/list.ts';
import { showLetter } from '../../../../../lib/desk/messages/letters/show.ts';
import { createAudit } from '../../../../../lib/stage/audit.ts';
import { eventBody, never, type Office, officesForTests } from '../../cli/office.ts';
import { discardFrom } from '../operator.ts';

const offices = officesForTests();
const idsOf = async ({ target }: Office, filter: object) =>
  (await listLetters(target, { filter, limit: 100 }, { signal: never })).letters.map(({ id }) => id);

test('a letter that is named by its whole id is read alone', async () => {
  const office = await offices.open();
  const [id = '', other = ''] = await office.park([
    {},
    { body: eventBody('grade-push', {}, { id: 'event-2' }) },
  ]);
  const calls: string[] = [];
  const dynamodb: typeof office.desk.dynamodb = {
    ...office.desk.dynamodb,
    call: (action, ...more) => {
      calls.push(action);
      return office.desk.dynamodb.call(action, ...more);
    },
  };
  const find = async (wanted: string) => (await findLetter({ ...office.target, dynamodb }, wanted, never)).id;
  expect([await find(id), calls]).toEqual([id, ['BatchGetItem']]);
  expect([await find('event-2'), await find(other.slice(0, 8))]).toEqual([other, other]);
  await discardFrom(office, { filter: { id: [id] } });
  await expect(find(id)).rejects.toThrow(`There is no letter ${id}`);
});

test('letters are listed oldest first, no more than were asked for, without their messages', async () => {
  const office = await offices.open();
  const ids: string[] = [];
  const body = eventBody('grade-push', { comments: 'Dear Jane' }, { id: 'event-1' });
  for (let at = 0; at < 5; at += 1) {
    ids.push(...(await office.park([{ body, replays: 1, failure: { detail: 'no Jane here' } }])));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { letters, matching } = await listLetters(office.target, { filter: {}, limit: 3 }, { signal: never });
  expect(letters.map(({ id }) => id)).toEqual(ids.slice(0, 3));
  expect(matching).toBe(5);
  expect(letters[0]).toEqual({
    id: ids[0],
    sentMs: expect.any(Number),
    function: 'grade-push',
    kind: 'rejected',
    status: 404,
    error: '404 Not Found',
    words: 'no ••• here',
    remedy: expect.any(String),
    replays: 1,
    attempts: 1,
    eventId: 'event-1',
    resource: 'grade/2001/5001/301',
    user: '301',
    orgUnit: '2001',
    thing: 'grade object 5001',
  });
});

describe('letters of one cause', () => {
  const saying = (detail: string, more: object = {}) => ({ failure: { detail }, ...more });

  test('are those of its group and no others', async () => {
    const office = await offices.open();
    const ids = await office.park([
      saying('User not found'),
      saying('Role not found'),
      saying('User not found'),
      saying('User not found', { function: 'enrollment-create' }),
    ]);
    const { groups } = await groupLetters(office.target, {}, { signal: never });
    expect(new Set(groups.map(({ cause }) => cause)).size).toBe(3);
    expect((await idsOf(office, { cause: groups[0]?.cause })).toSorted()).toEqual(
      [ids[0], ids[2]].toSorted(),
    );
    expect(await idsOf(office, { cause: '00000000' })).toEqual([]);
  });

  test('stay so where another condition leaves too few of them to tell it', async () => {
    const office = await offices.open();
    const names = ['Anna', 'Bela', 'Cleo', 'Dora', 'Emil', 'Finn'];
    const ids = await office.park(names.map((name) => saying(`${name} is not enrolled here`)));
    const filter = { id: ids.slice(0, 2) };
    const { groups } = await groupLetters(office.target, filter, { signal: never });
    expect(groups).toMatchObject([{ letters: 2 }]);
    const cause = [groups[0]?.cause ?? ''];
    expect((await idsOf(office, { ...filter, cause })).toSorted()).toEqual(filter.id.toSorted());
    const selected = await selectLetters(office.target, { filter: { ...filter, cause } }, never);
    expect(selected).toMatchObject({ listed: undefined, groups: [{ cause: cause[0], letters: 2 }] });
    expect(await idsOf(office, { cause, function: ['enrollment-create'] })).toEqual([]);
  });

  test('that are too many causes to be listed are of one: the other errors', async () => {
    const office = await offices.open();
    await office.park(
      Array.from({ length: 230 }, (_, at) => ({ failure: { title: `Error${' a'.repeat(at)}` } })),
    );
    const { groups, matching } = await groupLetters(office.target, {}, { signal: never });
    expect([groups.length, matching]).toEqual([201, 230]);
    expect(groups[0]).toMatchObject({ error: 'other errors', letters: 30 });
    const { cause = '' } = groups[0] ?? {};
    const asked = await groupLetters(office.target, { cause: [cause] }, { signal: never });
    expect(asked).toMatchObject({ matching: 30, groups: [{ cause, error: 'other errors' }] });
  });
});

const shown = ({ target, audit }: Office, id: string) =>
  showLetter(target, { id, reveal: false, audit, signal: never });

test('a letter is found by its id, by its beginning, and by the id of its message', async () => {
  const office = await offices.open();
  const [id = '', other] = await office.park([{ body: eventBody('grade-push', {}, { id: 'event-1' }) }, {}]);
  for (const by of [id, id.slice(0, 8), 'event-1'])
    expect(await shown(office, by)).toMatchObject({ id, kind: 'rejected' });
  expect(await shown(office, other!)).toMatchObject({ id: other });
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});

test('what is not there, or not one alone, is refused with what to do', async () => {
  const office = await offices.open();
  await office.park([1, 2].map(() => ({ body: eventBody('grade-push', {}, { id: 'event-twice' }) })));
  await expect(shown(office, 'nothing-like-it')).rejects.toThrow(
    'There is no letter nothing-like-it. `letters list` shows the letters, and `trace',
  );
  await expect(shown(office, 'event-twice')).rejects.toThrow(/Give more characters/);
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});

test('what lies in the queue twice is one letter, and its copy goes with the next look at the queue', async () => {
  const office = await offices.open();
  const body = eventBody('grade-push');
  await office.park(
    [
      ...[{}, {}].map(() => ({ letterId: 'one', body })),
      // Those are no copies: another message, and a replay.
      { letterId: 'one', body: eventBody('grade-push', { userId: 303 }) },
      { letterId: 'one', body, replays: 1 },
    ],
    { list: false },
  );
  expect(await office.list()).toMatchObject({ letters: 3, added: 3, copies: 1, whole: true });
  expect(await office.list()).toMatchObject({ letters: 3, added: 0, copies: 0, whole: true });
  const left = await office.take(office.deadLetters.url);
  expect(left.map(({ Body, MessageAttributes }) => [Body, MessageAttributes?.replays?.StringValue])).toEqual(
    expect.arrayContaining([
      [body, '0'],
      [body, '1'],
    ]),
  );
  expect(left).toHaveLength(3);
});

test('a letter that somebody takes for a moment, after the queue was counted, is waited for', async () => {
  const office = await offices.open();
  const [id = ''] = await office.park([{}]);
  const sqs = await office.target.sqs();
  const QueueUrl = office.deadLetters.url;
  let taken: string | undefined;
  /** What another operator does, who is as quick as can be: the first count is of before, the second of meanwhile. */
  const other = async (): Promise<void> => {
    if (taken === undefined) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 600 }),
      );
      taken = Messages[0]?.ReceiptHandle ?? '';
    } else if (taken !== '') {
      const giveBack = { QueueUrl, ReceiptHandle: taken, VisibilityTimeout: 0 };
      taken = '';
      await sqs.send(new ChangeMessageVisibilityCommand(giveBack));
    }
  };
  const send = async (command: Parameters<typeof sqs.send>[0]) => {
    const answer = await sqs.send(command);
    if (command instanceof GetQueueAttributesCommand) await other();
    return answer;
  };
  const beside = new Proxy(sqs, {
    get: (client, name) => (name === 'send' ? send : Reflect.get(client, name)),
  });
  const target = { ...office.target, sqs: async () => beside };
  const { letters } = await selectLetters(office.target, { filter: {} }, never);
  const found = await withLetters(target, { signal: never, letters }, async (inHand) => ({
    ids: inHand.letters.map((letter) => letter.id),
  }));
  expect(found.ids).toEqual([id]);
  expect(taken).toBe('');
  expect(await office.take(QueueUrl)).toHaveLength(1);
});

test('letters that were dealt with have arrived all the same, and left when that was done', async () => {
  const office = await offices.open();
  const sinceMs = Date.now();
  await office.park([{ failure: { kind: 'invalid' } }, { failure: { kind: 'invalid' } }, {}]);
  const flow = async (fromMs = sinceMs) => {
    const { letters } = await findLetters(office.target, {}, never);
    const { arrived, left } = await readFlow(office.target, letters, { sinceMs: fromMs, signal: never });
    return [arrived.length, left.reduce((sum, { count }) => sum + count, 0)];
  };
  expect(await flow()).toEqual([3, 0]);
  await discardFrom(
    { ...office, audit: createAudit(office.target, () => {}) },
    { filter: { kind: ['invalid'] } },
  );
  expect(await flow()).toEqual([3, 2]);
  // What was written before then has not arrived since.
  expect((await flow(Date.now() + 1))[0]).toBe(0);
});
