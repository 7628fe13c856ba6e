import { describe, expect, test } from 'vitest';
import { createQueues } from '../../../../../lib/delivery/handle/queues.ts';
import { createLetterStore } from '../../../../../lib/delivery/letters/letter-file.ts';
import { groupLetters, listLetters } from '../../../../../lib/desk/messages/letters/list.ts';
import { reindexLetters } from '../../../../../lib/desk/messages/letters/reindex.ts';
import { showLetter } from '../../../../../lib/desk/messages/letters/show.ts';
import type { Target } from '../../../../../lib/stage/target.ts';
import { eventBody, failureOf, never, type Office, officesForTests } from '../../cli/office.ts';
import { discardFrom, editAt, exportFrom, importInto, replayFrom } from '../operator.ts';

const offices = officesForTests();
const trace = { DataType: 'String', StringValue: 't' };
const detail = 'Jane has no grade object 5001';

/** Parks a message as a function does whose letter SQS does not take; answers where it lies whole. */
const parkWhole = async (office: Office, body: string, name = 'grade-push'): Promise<string> => {
  const { sqs, s3, deadLetterQueueUrl } = office.target;
  const deadLetters = office.deadLetters.url.split('/').at(-1);
  await office.fault({
    action: 'SendMessage',
    name: deadLetters,
    times: 1,
    status: 400,
    type: 'InvalidMessageContents',
  });
  const before = new Set((await office.objects('letters/')).keys());
  await createQueues({
    sqs,
    queueUrl: '',
    warn: () => undefined,
    deadLetterQueueUrl: await deadLetterQueueUrl(),
    keepWhole: createLetterStore({ s3, bucket: office.bucket }),
  }).writeLetter({
    body,
    source: office.queueOf(name).arn,
    replays: 1,
    attributes: { trace },
    failure: { ...failureOf(name), detail },
  });
  const after = [...(await office.objects('letters/')).keys()];
  await office.list();
  return `s3://${office.bucket}/${after.find((key) => !before.has(key))}`;
};

/** As the next look at the queue lists them. */
const lettersOf = async (target: Target) => {
  await reindexLetters(target, { signal: never, settleMs: 0 });
  return (await listLetters(target, { filter: {}, limit: 10 }, { signal: never })).letters;
};
const replay = (office: Office, target = office.target) =>
  replayFrom({ ...office, target }, { probe: false });

describe('a letter that says where its message lies', () => {
  test('is one like any other to whoever lists, groups and shows letters', async () => {
    const office = await offices.open();
    const body = eventBody('grade-push', {}, { id: 'event-1' });
    await parkWhole(office, body);
    expect(await lettersOf(office.target)).toMatchObject([
      {
        kind: 'rejected',
        words: '••• has no grade object 5001',
        eventId: 'event-1',
        replays: 1,
        status: 404,
      },
    ]);
    const { groups } = await groupLetters(office.target, { orgUnit: '2001', user: '301' }, { signal: never });
    expect(groups).toMatchObject([{ letters: 1, words: ['••• has no grade object 5001'] }]);
    const { target, audit } = office;
    expect(await showLetter(target, { id: 'event-1', reveal: true, audit, signal: never })).toMatchObject({
      message: JSON.parse(body),
      attributes: { trace: 't' },
    });
  });

  test('is replayed with its whole message, and what it carried', async () => {
    const office = await offices.open();
    const body = eventBody('grade-push', {}, { extension: '\u2028' });
    await parkWhole(office, body);
    expect(await replay(office)).toMatchObject({ counts: { sent: 1 } });
    const [sent] = await office.take(office.queueOf('grade-push').url);
    expect(sent?.Body === body).toBe(true);
    expect(sent?.MessageAttributes).toMatchObject({
      trace,
      replays: { DataType: 'Number', StringValue: '2' },
    });
    expect(await office.take(office.deadLetters.url)).toEqual([]);
  });

  test('stays one where its queue does not take the message either', async () => {
    const office = await offices.open();
    const address = await parkWhole(office, eventBody('grade-push', {}, { extension: '€'.repeat(400_000) }));
    expect(await replay(office)).toMatchObject({ counts: { sent: 0, failed: [{}] } });
    const [letter] = await office.take(office.deadLetters.url);
    expect(letter?.MessageAttributes?.whole?.StringValue).toBe(address);
  });

  test('is edited as it is whole', async () => {
    const office = await offices.open();
    await parkWhole(office, eventBody('grade-push', {}, { id: 'event-2', extension: 'ä' }));
    await editAt(office, {
      filter: { id: ['event-2'] },
      change: async (body) => JSON.stringify({ ...JSON.parse(body), extension: undefined }),
    });
    const [sent] = await office.take(office.queueOf('grade-push').url);
    expect(JSON.parse(sent?.Body ?? '').extension).toBeUndefined();
    expect(sent?.MessageAttributes).toMatchObject({ trace });
  });

  test('is exported, discarded and archived whole, and comes back as what SQS takes', async () => {
    const office = await offices.open();
    const [small, large] = [eventBody(), eventBody('grade-push', {}, { extension: '€'.repeat(400_000) })];
    await parkWhole(office, small);
    const address = await parkWhole(office, large);
    const { lines } = await exportFrom(office);
    const bodies = lines.map((line) => JSON.parse(line).body);
    expect(bodies.sort()).toEqual([small, large].sort());
    await discardFrom(office);
    const archived = [...(await office.objects('discarded/')).values()].join('');
    expect(archived.includes(JSON.stringify(small)) && archived.includes(JSON.stringify(large))).toBe(true);

    const imported = await importInto(
      office,
      archived.split('\n').filter((line) => line.includes(office.target.prefix)),
    );
    expect(imported).toMatchObject({ imported: 2, problems: [] });
    expect((await lettersOf(office.target)).map(({ kind, words }) => [kind, words])).toEqual([
      ['rejected', '••• has no grade object 5001'],
      ['rejected', '••• has no grade object 5001'],
    ]);
    const back = await office.take(office.deadLetters.url);
    expect(back.map(({ MessageAttributes }) => MessageAttributes?.whole?.StringValue).sort()).toEqual([
      address,
      undefined,
    ]);
    expect(back.map(({ Body }) => Body)).toContain(small);
  });
});

describe('a letter whose message is not where it should be', () => {
  const targets: [string, (office: Office) => Target, RegExp][] = [
    [
      'as no bucket is given',
      ({ target }) => ({ ...target, bucket: async () => undefined }),
      /the bucket is not known: set SIS_RELAY_BUCKET/,
    ],
    ['as nobody may read it', ({ target }) => target, /AccessDenied/],
  ];

  test.each(targets)('is unreadable, and a letter all the same: %s', async (_, targetOf, why) => {
    const office = await offices.open();
    const address = await parkWhole(office, eventBody('grade-push', {}, { id: 'event-3' }));
    await office.park([{}]);
    const name = address.slice('s3://'.length);
    await office.fault({ action: 'GetObject', name, status: 403, type: 'AccessDenied' });
    const target = targetOf(office);
    const listed = await lettersOf(target);
    expect(listed.map(({ kind }) => kind).sort()).toEqual(['rejected', 'unreadable']);
    expect(listed.find(({ kind }) => kind === 'unreadable')).toMatchObject({
      eventId: 'event-3',
      words: undefined,
      status: 404,
      error: expect.stringMatching(why),
      remedy: expect.stringContaining(address),
    });
    const { groups } = await groupLetters(target, {}, { signal: never });
    expect(groups.map(({ kind, words }) => [kind, words]).sort()).toEqual([
      ['rejected', []],
      ['unreadable', []],
    ]);
    const shown = (reveal: boolean) =>
      showLetter(target, { id: 'event-3', reveal, audit: office.audit, signal: never });
    expect(JSON.stringify(await shown(false))).not.toContain('Jane');
    expect(JSON.stringify(await shown(true))).toContain(detail);

    // Not even what says where it lies is sent to the function.
    expect(await replay(office, target)).toMatchObject({
      plan: { notYet: [{ kind: 'unreadable', why: 'their messages cannot be read' }] },
      counts: { sent: 1 },
    });
    expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(1);
    await expect(editAt({ ...office, target }, { filter: { id: ['event-3'] } })).rejects.toThrow(
      /There is nothing to edit: its message cannot be fetched/,
    );
    const { lines } = await exportFrom({ ...office, target });
    expect(lines.map((line) => JSON.parse(line).attributes.whole)).toEqual([
      { type: 'String', text: address },
    ]);
    await office.clearFaults();

    // What was exported without its message still says where it lies.
    await office.take(office.deadLetters.url);
    await importInto(office, lines);
    expect(await lettersOf(office.target)).toMatchObject([{ kind: 'rejected', eventId: 'event-3' }]);
  });

  test('is unreadable for good where it was not kept, and says so', async () => {
    const office = await offices.open();
    const body = eventBody('grade-push', {}, { id: 'event-4', extension: '€'.repeat(400_000) });
    const { sqs, deadLetterQueueUrl } = office.target;
    const queues = createQueues({
      sqs,
      queueUrl: '',
      warn: () => undefined,
      deadLetterQueueUrl: await deadLetterQueueUrl(),
    });
    await queues.writeLetter({
      body,
      source: office.queueOf('grade-push').arn,
      replays: 0,
      attributes: {},
      failure: failureOf(),
    });
    expect(await lettersOf(office.target)).toMatchObject([
      {
        kind: 'unreadable',
        eventId: 'event-4',
        status: 404,
        error: expect.stringContaining('it was not kept'),
        remedy: expect.stringContaining('Have its producer send it again'),
      },
    ]);
    expect(await replay(office)).toMatchObject({ ended: 'nothing' });
    expect(await office.take(office.queueOf('grade-push').url)).toEqual([]);
  });

  test.each([
    ['audit/2026/01/31/secret.json'],
    ['letters/../audit/secret.jsonl'],
    ['letters/grade-push/../../audit/secret.jsonl'],
    ['letters/secret.jsonl'],
  ])('names nothing else of the bucket: %s', async (key) => {
    const office = await offices.open();
    const [message] = await office.park([{}]).then(() => office.take(office.deadLetters.url));
    const whole = { DataType: 'String', StringValue: `s3://${office.bucket}/${key}` };
    await office.send(office.deadLetters.url, [
      { MessageBody: message?.Body ?? '', MessageAttributes: { ...message?.MessageAttributes, whole } },
    ]);
    expect(await lettersOf(office.target)).toMatchObject([
      { kind: 'unreadable', error: expect.stringContaining('not among the letters in the bucket') },
    ]);
  });
});
