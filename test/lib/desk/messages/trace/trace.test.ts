import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Trace } from '../../../../../lib/desk/messages/trace/trace.ts';
import { traceOf } from '../../../../../lib/desk/messages/trace/trace.ts';
import { localClient } from '../../../../local/aws/aws.ts';
import { passingTime } from '../../../../local/aws/passing-time.ts';
import { localOffice } from '../../cli/local-office.ts';
import { never } from '../../cli/office.ts';
import { documentsIn, typed } from '../../cli/typed.ts';

const time = passingTime();
const office = localOffice({ inProcess: ['grade-push'] });

const command = (line: string) => typed(`${line} --stack ${office.file}`);
const trace = async (line: string): Promise<Trace> => {
  const { out, err } = await command(`trace ${line} --json`);
  const [document, ...others] = documentsIn<Trace>(out);
  expect(others, out + err).toEqual([]);
  return document as Trace;
};
/** Once its function has ended it. */
const send = async (data: object, event: object = {}): Promise<string> => {
  const id = await office.send('grade-push', data, event);
  await office.ended(id);
  return id;
};
beforeAll(async () => {
  const users = Array.from({ length: 10 }, (_, at) => 800 + at);
  await office.enrol(users);
});

describe('a message that was done at its first try', () => {
  test('is known by its resource: it was sent, and done', async () => {
    const id = await send({ userId: 800 }, { id: 'the-event' });
    expect(await trace('grade/2001/5001/800')).toMatchObject({
      outcome: 'done',
      events: [{ what: 'claimed', message: id, eventId: 'the-event', outcome: 'done' }],
      messages: [{ message: id, outcome: 'done', resource: 'grade/2001/5001/800' }],
    });
    const { out } = await command('trace grade/2001/5001/800');
    expect(out).toMatch(/\d\d UTC {2}sent, and done/);
  });

  test('leaves no record at the desk, and by its id nothing is known: where to look is said', async () => {
    const id = await send({ userId: 801 });
    const { dynamodb, deskTable } = office.stack().description;
    const client = new DynamoDBClient(localClient(dynamodb));
    const { Items = [] } = await client.send(new ScanCommand({ TableName: deskTable }));
    client.destroy();
    expect(Items.map(({ message }) => message?.S)).not.toContain(id);
    const { status, out } = await command(`trace ${id}`);
    expect(status).toBe(1);
    expect(out).toMatch(/Nothing is known about .*Pass its resource, .*--log/s);
    expect(await trace(id)).toMatchObject({ id, outcome: 'unknown', events: [], messages: [] });
  });
});

describe('a letter', () => {
  let first = '';
  test('is traced with its kind, call and status, by its id and by its event', async () => {
    first = await send({ userId: 802, gradeObjectId: 5999 }, { id: 'a-refused-event' });
    const found = await trace(first);
    expect(found.outcome).toBe('parked');
    // The ledger knows nothing of what had no effect.
    expect(found.events).toMatchObject([
      { what: 'sent', message: first, eventId: 'a-refused-event' },
      { what: 'received', message: first, function: 'grade-push', replays: 0 },
      {
        what: 'letter',
        message: first,
        kind: 'rejected',
        status: 404,
        operation: expect.stringMatching(/^PUT .*\/values\/802$/),
      },
    ]);
    expect(await trace('a-refused-event')).toMatchObject({
      outcome: 'parked',
      messages: [{ message: first }],
    });
    expect(JSON.stringify(found)).not.toContain('Jane');
  });

  test('that was replayed in vain, edited and done is one trace of three ids, by each of them', async () => {
    await command(`letters replay --id ${first} --yes --as jane --reason "the course is open" --no-probe`);
    const again = await trace(first);
    expect(again).toMatchObject({ outcome: 'parked', messages: [{ ids: { length: 2 } }] });
    const second = again.messages[0]?.message ?? '';
    await command(`letters edit ${second} --set data.gradeObjectId=5001 --reason typo --yes --as joe`);
    const done = await trace(first);
    expect(done).toMatchObject({ outcome: 'done', messages: [{ ids: { length: 3 } }] });
    // What it is about is told as it is now, not as it was before the edit.
    expect(done.messages[0]).toMatchObject({ thing: 'grade object 5001' });
    const third = done.messages[0]?.message ?? '';
    const events = done.events.filter(({ what }) => what !== 'claimed');
    expect(events.map(({ what, message }) => [what, message])).toEqual([
      ['sent', first],
      ['received', first],
      ['letter', first],
      ['replayed', first],
      ['received', second],
      ['letter', second],
      ['edited', second],
      ['received', third],
      ['done', third],
    ]);
    expect(events[3]).toMatchObject({ by: 'jane', why: 'the course is open', as: second, kind: 'rejected' });
    expect(events[6]).toMatchObject({
      by: 'joe',
      why: 'typo',
      as: third,
      original: expect.stringMatching(/^s3:/),
    });
    for (const id of [second, third, second.slice(0, 13)])
      expect(await trace(id)).toMatchObject({ outcome: 'done', messages: [{ message: third }] });
  });

  test('that was discarded and imported failed when it failed, and says who did both', async () => {
    const id = await send({ userId: 807, gradeObjectId: 5999 });
    const { events: before } = await trace(id);
    time.pass(5_000);
    const { out } = await command(`letters discard --id ${id} --reason "by mistake" --yes --as jane`);
    time.pass(5_000);
    await command(`letters import ${/s3:\S+/.exec(out)?.[0]} --yes --as joe`);
    const { events, outcome } = await trace(id);
    expect(outcome).toBe('parked');
    expect(events.map(({ what, command: typed, by }) => [what, typed, by])).toEqual([
      ...before.map(({ what }) => [what, undefined, undefined]),
      ['command', 'letters discard', 'jane'],
      ['command', 'letters import', 'joe'],
    ]);
  });

  test('that was discarded says by whom and why, and who looked at it before', async () => {
    const id = await send({ userId: 803, gradeObjectId: 5999 });
    await command(`letters show ${id.slice(0, 8)} --reveal --reason r --as jim`);
    await command(`letters discard --id ${id} --reason "handed in on paper" --yes --as jane`);
    const { events, outcome } = await trace(id);
    expect(outcome).toBe('discarded');
    expect(events.at(-2)).toMatchObject({ what: 'command', command: 'letters show --reveal', by: 'jim' });
    expect(events.at(-1)).toMatchObject({ what: 'discarded', by: 'jane', why: 'handed in on paper' });
    const { out } = await command(`trace ${id}`);
    expect(out).toMatch(/UTC {2}discarded by jane: handed in on paper/);
    expect(out).toMatch(/UTC {2}became a dead letter \(rejected\): 404 .* → 404\]/s);
    // Asked by less than was typed then, the look is told once.
    for (const asked of [id.slice(0, 7), id.slice(0, 13)]) {
      const found = await trace(asked);
      const looks = found.events.filter(({ command: typed }) => typed === 'letters show --reveal');
      expect(looks).toMatchObject([{ message: id }]);
    }
  });
});

describe('of a resource', () => {
  test('all messages are traced, and the outcome is that of the one last heard of', async () => {
    await office.controls().fault({ status: 400 }, { method: 'PUT', path: 'values/804' });
    const refused = await send({ userId: 804 });
    expect((await trace(refused)).outcome).toBe('parked');
    const done = await send({ userId: 804 });
    const found = await trace('grade/2001/5001/804');
    expect(found.outcome).toBe('done');
    expect(found.messages.map(({ message, outcome }) => [message, outcome])).toEqual([
      [refused, 'parked'],
      [done, 'done'],
    ]);
    // Who has claimed the resource since belongs to the trace of the first.
    expect((await trace(refused)).events.at(-1)).toMatchObject({ what: 'overtaken', message: done });
  });
});

describe('what cannot be read', () => {
  test('is named, and the rest is told all the same', async () => {
    const id = await send({ userId: 805, gradeObjectId: 5999 });
    const target = { ...office.target(), bucket: async () => undefined, ledgerTable: 'no-such-table' };
    const found = await traceOf(target, id, { log: true, functions: ['grade-push'], signal: never });
    expect(found).toMatchObject({
      outcome: 'parked',
      unread: [
        { source: 'the ledger', why: expect.stringMatching(/^ResourceNotFoundException/) },
        { source: 'the functions’ log', why: expect.stringMatching(/restart `npm run local`/) },
        { source: 'the audit log', why: expect.stringMatching(/SIS_RELAY_BUCKET must name it/) },
      ],
    });
  });

  test('of the letter index leaves what the ledger tells', async () => {
    await send({ userId: 806 });
    const target = { ...office.target(), deskTable: undefined };
    const found = await traceOf(target, 'grade/2001/5001/806', { log: false, functions: [], signal: never });
    expect(found).toMatchObject({ outcome: 'done', unread: [{ source: 'the letter index' }] });
  });

  test('an id of fewer than four characters names nothing', async () => {
    expect(await command('trace abc')).toMatchObject({ status: 2, err: expect.stringMatching(/too short/) });
  });
});
