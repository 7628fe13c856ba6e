import { isDeepStrictEqual } from 'node:util';
import { ReceiveMessageCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { watchOutcomes } from '../../../../../lib/delivery/letters/outcomes.ts';
import { writeRecord } from '../../../../../lib/delivery/letters/write-record.ts';
import { countsOf } from '../../../../../lib/desk/messages/letters/queue.ts';
import type { Plan } from '../../../../../lib/desk/messages/replay/plan.ts';
import type { ReplayHooks, ReplayOptions } from '../../../../../lib/desk/messages/replay/replay.ts';
import type { Canary } from '../../../../../lib/desk/messages/replay/run.ts';
import { messageFor } from '../../../../../lib/desk/messages/replay/send-and-delete.ts';
import { eventBody, never, type Office, officesForTests } from '../../cli/office.ts';
import { replayFrom } from '../operator.ts';

const offices = officesForTests();

const replay = async (
  office: Office,
  options: Partial<ReplayOptions> = {},
  hooks: Partial<ReplayHooks> = {},
) => {
  const plans: Plan[] = [];
  const canaries: Canary[] = [];
  const result = await replayFrom(office, options, {
    confirm: async (plan) => plans.push(plan) > 0,
    onCanary: (canary) => canaries.push(canary),
    ...hooks,
  });
  return { ...result, plans, canaries };
};

/** For what comes in any case, however busy the machine is. */
const long = 300;

const many = (count: number, failure = {}) => Array.from({ length: count }, () => ({ failure }));
const bodiesIn = async (office: Office, name = 'grade-push') =>
  (await office.take(office.queueOf(name).url)).map(({ Body }) => Body).sort();
const lettersLeft = async (office: Office) => office.take(office.deadLetters.url);

describe('what is sent', () => {
  test('each letter’s message goes back to its own queue, byte for byte, one replay older', async () => {
    const office = await offices.open();
    const body = '{ "spaces":  "stay", "emoji": "\u{1F393}", "n": 1.0 }';
    const attributes = {
      trace: { DataType: 'String', StringValue: 'abc' },
      bin: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 255]) },
    };
    await office.park([
      { body, attributes, replays: 3 },
      { function: 'enrollment-create', body: 'another' },
    ]);
    const { ended, counts } = await replay(office);
    expect(ended).toBe('done');
    expect(counts).toMatchObject({ sent: 2, notTried: 0, failed: [], undeleted: [] });
    const [message] = await office.take(office.queueOf('grade-push').url);
    expect(message?.Body).toBe(body);
    expect(message?.MessageAttributes).toEqual({
      trace: { DataType: 'String', StringValue: 'abc' },
      bin: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 255]) },
      replays: { DataType: 'Number', StringValue: '4' },
      receipt: { DataType: 'String', StringValue: 'yes' },
      history: { DataType: 'String', StringValue: expect.stringContaining('"what":"replayed"') },
    });
    expect(await bodiesIn(office, 'enrollment-create')).toEqual(['another']);
    expect(await lettersLeft(office)).toEqual([]);
  });

  test('a letter that SQS moved by itself is shown as such, and replayed like any other', async () => {
    const office = await offices.open();
    const { url } = office.queueOf('grade-push');
    const sqs = await office.target.sqs();
    const redrive = { deadLetterTargetArn: office.deadLetters.arn, maxReceiveCount: 1 };
    const setRedrive = (RedrivePolicy: string) =>
      sqs.send(new SetQueueAttributesCommand({ QueueUrl: url, Attributes: { RedrivePolicy } }));
    await setRedrive(JSON.stringify(redrive));
    await office.send(url, [{ MessageBody: 'moved' }]);
    for (let receipts = 0; receipts < 2; receipts += 1)
      await sqs.send(new ReceiveMessageCommand({ QueueUrl: url, VisibilityTimeout: 0 }));
    await setRedrive('');
    await office.list();
    const { plan } = await replay(office);
    expect(plan.send).toMatchObject([{ function: 'grade-push', kind: 'redriven', letters: 1 }]);
    const [message] = await office.take(url);
    expect(message).toMatchObject({ Body: 'moved', MessageAttributes: { replays: { StringValue: '1' } } });
  });

  test('ten attributes of a producer leave room for the count of replays', async () => {
    const office = await offices.open();
    const { url, arn } = office.queueOf('grade-push');
    const ten = Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [`a${at}`, { DataType: 'String', StringValue: 'x' }]),
    );
    await office.send(office.deadLetters.url, [
      {
        MessageBody: 'full',
        MessageAttributes: { ...ten, source: { DataType: 'String', StringValue: arn } },
      },
    ]);
    await office.list();
    await replay(office);
    expect(Object.keys((await office.take(url))[0]?.MessageAttributes ?? {})).toEqual(
      expect.arrayContaining(['replays', 'receipt', 'history']),
    );
  });

  test('a message as large as its queue takes is sent, with what fits beside it', async () => {
    const letter = { source: '', replays: 0, failure: null, attributes: {} };
    const body = 'x'.repeat(1_032_192);
    const deed = { what: 'replayed', at: '', by: 'jane', letter: 'an-id', kind: 'rejected' } as const;
    expect(messageFor({ ...letter, body }, deed)).toEqual({ body, attributes: {} });
    const sent = (room: number) =>
      Object.keys(messageFor({ ...letter, body: body.slice(room) }, deed).attributes);
    expect(sent(20)).toEqual(['replays']);
    expect(sent(50)).toEqual(['replays', 'receipt']);
    expect(sent(300)).toEqual(['replays', 'receipt', 'history']);
  });

  test('only letters that match, and no more than were asked for', async () => {
    const office = await offices.open();
    await office.park([...many(3, { kind: 'unavailable' }), ...many(3)]);
    expect((await replay(office, { filter: { kind: ['unavailable'] } })).counts).toMatchObject({ sent: 3 });
    expect((await replay(office, { limit: 2 })).counts).toMatchObject({ sent: 2 });
    expect(await lettersLeft(office)).toHaveLength(1);
  });
});

describe('the plan', () => {
  test('tells what will be sent, what a person must decide on and what has no queue, and a dry run ends with it', async () => {
    const office = await offices.open();
    const doubtful = [...many(2, { kind: 'uncertain' }), ...many(1, { kind: 'outdated' })];
    await office.park([...many(2), ...doubtful, { replays: 5 }]);
    await office.send(office.deadLetters.url, [{ MessageBody: 'garbage' }]);
    await office.list();
    const { plan, ended, counts } = await replay(office, { dryRun: true });
    expect({ ended, counts }).toEqual({ ended: 'planned', counts: undefined });
    expect(plan).toMatchObject({
      matching: 7,
      listed: 7,
      queued: 7,
      send: [{ function: 'grade-push', kind: 'rejected', letters: 3 }],
      uncertain: [
        { kind: 'uncertain', letters: 2 },
        { kind: 'outdated', letters: 1 },
      ],
      unknownSource: 1,
      replayedOften: 1,
    });
    expect(office.audited).toEqual([]);
    expect(await lettersLeft(office)).toHaveLength(7);
  });

  test('letters that are uncertain or outdated are sent if they are asked for, and say what they are', async () => {
    const office = await offices.open();
    await office.park([...many(2, { kind: 'uncertain' }), ...many(2, { kind: 'outdated' })]);
    expect(await replay(office)).toMatchObject({ ended: 'nothing' });
    await office.park([{ failure: { kind: 'unavailable' } }]);
    expect((await replay(office, { includeUncertain: true })).counts).toMatchObject({ sent: 5 });
    const sent = (await office.take(office.queueOf('grade-push').url)).map(({ MessageAttributes = {} }) => [
      MessageAttributes.kind?.StringValue,
      ...Object.keys(MessageAttributes).sort(),
    ]);
    expect(sent.sort()).toEqual([
      [undefined, 'history', 'receipt', 'replays'],
      ...Array(2).fill(['outdated', 'history', 'kind', 'receipt', 'replays']),
      ...Array(2).fill(['uncertain', 'history', 'kind', 'receipt', 'replays']),
    ]);
  });

  test('messages that their own function would refuse again are not planned, and are left where they are', async () => {
    const office = await offices.open();
    const failure = { kind: 'invalid' as const };
    await office.park([
      { body: eventBody('grade-push', { grade: null }), failure },
      { body: eventBody('grade-push'), failure },
    ]);
    const planned = await replay(office, { dryRun: true });
    const why = 'their functions would still refuse their messages';
    expect(planned.plan).toMatchObject({ send: [{ letters: 1 }], notYet: [{ letters: 1, why }] });
    expect(planned.plan.unchecked).toBe(0);
    const { counts } = await replay(office);
    expect(counts).toMatchObject({ sent: 1, stillInvalid: 0, notTried: 0 });
    expect(await lettersLeft(office)).toHaveLength(1);
  });

  test('of very many, only some invalid messages are read for the plan; the others are in no number, and stay', async () => {
    const office = await offices.open();
    const failure = { kind: 'invalid' as const };
    await office.park([
      ...Array.from({ length: 10 }, () => ({ body: eventBody('grade-push', { grade: null }), failure })),
      { body: eventBody('grade-push'), failure },
      ...many(1),
    ]);
    const few = { lookAtMost: 4 };
    const { plan, counts } = await replay(office, few);
    expect([plan.notYet[0]?.letters, plan.notChecked[0]?.letters, plan.unchecked]).toEqual([4, 7, 7]);
    expect(plan.send).toMatchObject([{ kind: 'rejected', letters: 1 }]);
    expect(counts).toMatchObject({ sent: 1, stillInvalid: 0, notTried: 0 });
    // Who selects only such letters has all of them read.
    const second = await replay(office, { ...few, filter: { kind: ['invalid'] } });
    expect(second.plan).toMatchObject({ notYet: [{ letters: 10 }], send: [{ letters: 1 }], unchecked: 0 });
    expect(second.counts).toMatchObject({ sent: 1, stillInvalid: 0, notTried: 0 });
    expect(await lettersLeft(office)).toHaveLength(10);
  });

  test('that is not confirmed changes nothing', async () => {
    const office = await offices.open();
    await office.park(many(2));
    expect(await replay(office, {}, { confirm: async () => false })).toMatchObject({ ended: 'declined' });
    expect(office.audited).toEqual([]);
    expect(await lettersLeft(office)).toHaveLength(2);
  });

  test('letters that come after it are not touched', async () => {
    const office = await offices.open();
    await office.park(many(12));
    const confirm = async () => (await office.park(many(7, { kind: 'unavailable' }))).length > 0;
    const { counts } = await replay(office, {}, { confirm });
    expect(counts).toMatchObject({ sent: 12 });
    const left = await lettersLeft(office);
    expect(left.map(({ MessageAttributes }) => MessageAttributes?.kind?.StringValue)).toEqual(
      Array(7).fill('unavailable'),
    );
  });
});

describe('the canary', () => {
  test('goes first, and the rest after it went through', async () => {
    const office = await offices.open();
    await office.park(many(12));
    const worker = office.work('grade-push');
    const { ended, counts, canaries } = await replay(office, { waitSeconds: long, canary: 5 });
    await worker.stop();
    expect(canaries).toMatchObject([{ letters: 5, cameBack: [], undecided: 0 }]);
    expect({ ended, counts }).toMatchObject({
      ended: 'done',
      counts: { sent: 12, through: 12, cameBack: 0, unknown: 0 },
    });
    expect(worker.handled).toHaveLength(12);
  });

  test('that comes back as a whole stops everything: no more than it reaches the platform', async () => {
    const office = await offices.open();
    await office.park([...many(8), ...many(8, { kind: 'unavailable' })]);
    const worker = office.work('grade-push', () => ({ kind: 'rejected' }));
    const { ended, stoppedBecause, counts } = await replay(office, { waitSeconds: long, canary: 5 });
    await worker.stop();
    expect({ ended, stoppedBecause }).toEqual({
      ended: 'stopped',
      stoppedBecause: 'every letter of the canary came back',
    });
    expect(counts).toMatchObject({ sent: 5, cameBack: 5, setAside: 11 });
    expect(worker.handled).toHaveLength(5);
    expect(await lettersLeft(office)).toHaveLength(16);
  });

  test('has one of each group in turn, and a group whose own comes back is set aside', async () => {
    const office = await offices.open();
    const ten = (userId: number, title: string) =>
      many(10, { title }).map((letter) => ({ ...letter, body: eventBody('grade-push', { userId }) }));
    await office.park([...ten(401, 'Broken'), ...ten(402, 'Mended')]);
    const worker = office.work('grade-push', ({ Body = '' }) =>
      Body.includes('"userId":401') ? { kind: 'rejected', title: 'Broken' } : undefined,
    );
    const { plan, ended, counts } = await replay(office, { waitSeconds: long, canary: 2 });
    await worker.stop();
    expect(plan.send).toHaveLength(2);
    expect({ ended, counts }).toMatchObject({
      ended: 'done',
      counts: {
        sent: 11,
        through: 10,
        cameBack: 1,
        setAside: 9,
        notTried: 0,
        byCause: [
          { error: '404 Mended', sent: 10, through: 10 },
          { error: '404 Broken', sent: 1, cameBack: 1, setAside: 9 },
        ],
      },
    });
    expect(await lettersLeft(office)).toHaveLength(10);
  });

  test('whose outcome is not seen in time stops the replay, unless somebody decides to continue', async () => {
    const office = await offices.open();
    await office.park(many(6));
    // Nobody handles the queue, so that nothing comes of what is sent.
    const first = await replay(office, { canary: 2, waitSeconds: 0.1 });
    expect(first).toMatchObject({ ended: 'stopped', counts: { sent: 2, unknown: 2, notTried: 4 } });
    expect(first.stoppedBecause).toMatch(/2 of the canary have no outcome yet/);
    const second = await replay(
      office,
      { canary: 2, waitSeconds: 0.1 },
      { continueUndecided: async () => true },
    );
    expect(second).toMatchObject({ ended: 'done', counts: { sent: 4, unknown: 4 } });
  });

  test('takes the newest letter of a resource, for which the others would wait', async () => {
    const office = await offices.open();
    const bodies = [1, 2, 3].map((points) => eventBody('grade-push', { grade: { type: 'numeric', points } }));
    // The newest was parked neither first nor last.
    await office.park([bodies[0], bodies[2], bodies[1]].map((body = '') => ({ body })));
    await replay(office, { canary: 1, waitSeconds: 0.1 });
    expect(await bodiesIn(office)).toEqual([bodies[2]]);
  });

  test('of one cause does not hold the others', async () => {
    const office = await offices.open();
    await office.park([...many(3), ...many(3).map((each) => ({ ...each, function: 'enrollment-create' }))]);
    // Nobody handles the other queue: its canary has no outcome.
    const worker = office.work('grade-push');
    const interrupt = new AbortController();
    const { counts } = await replay(
      office,
      { canary: 2, waitSeconds: long },
      {
        signal: interrupt.signal,
        onOutcomes: ({ through }, { isWaiting }) => {
          if (through === 3 && isWaiting) interrupt.abort();
        },
      },
    );
    await worker.stop();
    expect(counts).toMatchObject({ sent: 4, through: 3, unknown: 1, notTried: 2 });
  });

  test('has at least one letter of each cause, however many there are', async () => {
    const office = await offices.open();
    const titles = ['One', 'Two of', 'Three of it', 'Four of it all'];
    await office.park(titles.flatMap((title, at) => many(2, { title, status: 400 + at })));
    const worker = office.work('grade-push');
    const { canaries } = await replay(office, { canary: 2, waitSeconds: long });
    await worker.stop();
    expect(canaries).toMatchObject([{ letters: 4 }]);
  });
});

describe('while an operator looks', () => {
  test('at a plan, nobody else misses a letter', async () => {
    const office = await offices.open();
    await office.park(many(12));
    const seen: unknown[] = [];
    const confirm = async () => {
      const queue = { sqs: await office.target.sqs(), url: office.deadLetters.url };
      seen.push(await countsOf(queue), (await replay(office, { dryRun: true })).plan.matching);
      return false;
    };
    await replay(office, {}, { confirm });
    expect(seen).toEqual([{ visible: 12, inFlight: 0, delayed: 0 }, 12]);
  });

  test('what somebody else sends meanwhile is told as gone, and not sent twice', async () => {
    const office = await offices.open();
    await office.park(many(10));
    const confirm = async () => (await replay(office, { limit: 4 })).counts?.sent === 4;
    const { counts } = await replay(office, {}, { confirm });
    expect(counts).toMatchObject({ sent: 6, gone: 4 });
    expect(await bodiesIn(office)).toHaveLength(10);
  });

  test('a letter that was written twice is one letter, and sent once', async () => {
    const office = await offices.open();
    const letter = { letterId: '0f0f0f0f-1111-4222-8333-444444444444', body: eventBody() };
    await office.park([letter, letter]);
    const { plan, counts } = await replay(office);
    expect(plan.matching).toBe(1);
    expect(counts).toMatchObject({ sent: 1 });
    await office.list();
    // Of both, or of the first: then the second is found by the next look, and the ledger knows its message.
    expect((await bodiesIn(office)).length).toBe(1);
  });

  test('two letters of one id, as somebody wrote one by hand, are two, and both are sent', async () => {
    const office = await offices.open();
    const letterId = '0f0f0f0f-1111-4222-8333-555555555555';
    await office.park(
      [1, 2].map(() => ({ letterId, body: eventBody() })),
      { list: false },
    );
    await office.list();
    const { plan, counts } = await replay(office);
    expect(plan.matching).toBe(2);
    expect(counts).toMatchObject({ sent: 2, gone: 0 });
    expect(new Set(await bodiesIn(office)).size).toBe(2);
    expect(await lettersLeft(office)).toEqual([]);
  });

  test('a copy whose message waits, or is a letter, has not gone through', async () => {
    const office = await offices.open();
    const body = eventBody();
    const [original = ''] = await office.send(office.queueOf('grade-push').url, [{ MessageBody: body }]);
    const facts = {
      function: 'grade-push',
      kind: 'unavailable',
      nextMs: Date.now() + 60_000,
      handle: 'a handle',
    };
    await writeRecord(office.desk, original, { state: 'waiting', facts });
    const outcomes = watchOutcomes(office.desk);
    const copy = '0f0f0f0f-1111-4222-8333-666666666666';
    const duplicate = { function: 'grade-push', kind: '', as: original };
    await writeRecord(office.desk, copy, { state: 'duplicate', facts: duplicate });
    outcomes.expect([copy]);
    await expect.poll(() => outcomes.outcomeOf(copy)).toBe('waits');
    await writeRecord(office.desk, original, { state: 'done', facts: { function: 'grade-push', kind: '' } });
    await outcomes.settled([copy], { waitSeconds: long, signal: never });
    expect(outcomes.outcomeOf(copy)).toBe('through');
    await outcomes.stop();
  });
});

describe('stopping', () => {
  test('happens when the same error comes back for so many in a row', async () => {
    const office = await offices.open();
    await office.park(many(50));
    let handled = 0;
    const worker = office.work('grade-push', () => {
      handled += 1;
      return handled > 3 ? { kind: 'missing-permission', title: 'Gone' } : undefined;
    });
    const { ended, stoppedBecause, counts } = await replay(office, {
      waitSeconds: long,
      stopAfter: 5,
      // All would be sent in ten seconds: many more than it takes to see five come back.
      rate: 5,
    });
    // What was sent and not handled yet when it stopped becomes a letter, too.
    await expect.poll(() => handled).toBe(counts?.sent);
    await worker.stop();
    expect(ended).toBe('stopped');
    expect(stoppedBecause).toMatch(/^5 in a row came back with the same error: missing-permission: 404 Gone/);
    expect(counts?.sent).toBeLessThan(50);
    expect((await lettersLeft(office)).length).toBe(50 - 3);
  });

  test('does not happen for single letters that come back between others that do not', async () => {
    const office = await offices.open();
    await office.park(many(15));
    let handled = 0;
    const worker = office.work('grade-push', () => {
      handled += 1;
      return handled % 3 === 0 ? { kind: 'rejected' } : undefined;
    });
    const { ended, counts } = await replay(office, { waitSeconds: long, stopAfter: 5 });
    await worker.stop();
    expect({ ended, counts }).toMatchObject({
      ended: 'done',
      counts: { sent: 15, through: 10, cameBack: 5 },
    });
    expect(counts?.cameBackAs).toMatchObject([{ kind: 'rejected', letters: 5 }]);
  });

  test('by an interruption is clean: what was sent is gone, the rest is there and visible', async () => {
    const office = await offices.open();
    await office.park(many(20));
    const interrupt = new AbortController();
    const { ended, stoppedBecause, counts } = await replay(
      office,
      { rate: 10 },
      {
        signal: interrupt.signal,
        onSent: (sent) => {
          if (sent >= 10) interrupt.abort();
        },
      },
    );
    expect({ ended, stoppedBecause }).toEqual({ ended: 'stopped', stoppedBecause: 'it was interrupted' });
    expect(counts?.sent).toBeLessThan(20);
    expect(await bodiesIn(office)).toHaveLength(counts!.sent);
    expect(await lettersLeft(office)).toHaveLength(counts!.notTried);
    expect(counts!.sent + counts!.notTried).toBe(20);
  });
});

describe('nothing is lost', () => {
  test('where single entries of batch calls fail, those letters stay', async () => {
    const office = await offices.open();
    await office.park(many(20));
    const name = office.queueOf('grade-push').url.split('/').at(-1);
    await office.fault({ action: 'SendMessageBatch', name, failedEntries: 2 });
    const { counts, ended } = await replay(office);
    await office.clearFaults();
    expect(ended).toBe('done');
    expect(counts?.failed.length).toBe(4);
    const sent = await bodiesIn(office);
    const left = (await lettersLeft(office)).map(({ Body }) => Body);
    expect([sent.length, left.length]).toEqual([16, 4]);
    expect(new Set([...sent, ...left]).size).toBe(20);
  });

  test('where letters cannot be deleted, they are told of, and are there twice', async () => {
    const office = await offices.open();
    await office.park(many(10));
    const name = office.deadLetters.url.split('/').at(-1);
    await office.fault({ action: 'DeleteMessageBatch', name, failedEntries: 3 });
    const { counts } = await replay(office);
    await office.clearFaults();
    expect(counts).toMatchObject({ sent: 10, undeleted: expect.arrayContaining([expect.any(String)]) });
    expect(counts?.undeleted.length).toBeGreaterThanOrEqual(3);
    expect(await bodiesIn(office)).toHaveLength(10);
    expect(await lettersLeft(office)).toHaveLength(counts!.undeleted.length);
  });

  test('where a queue takes nothing at all, it stops, and every letter stays', async () => {
    const office = await offices.open();
    await office.park(many(50));
    const name = office.queueOf('grade-push').url.split('/').at(-1);
    await office.fault({ action: 'SendMessageBatch', name, status: 403, type: 'AccessDenied' });
    const { ended, stoppedBecause } = await replay(office, { rate: 100 });
    await office.clearFaults();
    expect(ended).toBe('stopped');
    expect(stoppedBecause).toMatch(/^SQS refused \d+ messages in a row: AccessDenied/);
    expect(await lettersLeft(office)).toHaveLength(50);
  });
});

test('who replayed which letters, why, and with which counts is in the audit log, from the beginning on', async () => {
  const office = await offices.open();
  const ids = await office.park(many(3));
  await replay(office, { filter: { kind: ['rejected'] }, reason: 'the course exists now' });
  const entry = {
    command: 'letters replay',
    filter: { kind: ['rejected'] },
    reason: 'the course exists now',
    letters: expect.toSatisfy((letters) => isDeepStrictEqual(letters.toSorted(), ids.toSorted())),
  };
  expect(office.audited).toEqual([
    { audit: 'begin', ...entry, counts: { planned: 3 } },
    {
      audit: 'end',
      ...entry,
      counts: {
        sent: 3,
        through: 0,
        cameBack: 0,
        waits: 0,
        unknown: 3,
        setAside: 0,
        notTried: 0,
        gone: 0,
        stillInvalid: 0,
        failed: 0,
        undeleted: 0,
      },
    },
  ]);
});
