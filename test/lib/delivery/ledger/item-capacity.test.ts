import { hash, randomUUID } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import * as gradeObjectCreate from '../../../../functions/grade-object-create.ts';
import * as gradeObjectUpdate from '../../../../functions/grade-object-update.ts';
import * as gradePush from '../../../../functions/grade-push.ts';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import { ledgerMessageOf } from '../../../../lib/delivery/handle/ledger-message.ts';
import { deliveryOf } from '../../../../lib/delivery/handle/sqs-delivery.ts';
import { emptyItem, type FieldState, type ResourceState } from '../../../../lib/delivery/ledger/item.ts';
import type { LedgerMessage } from '../../../../lib/delivery/ledger/judge.ts';
import { type AttemptEnding, TableLedger, type Verdict } from '../../../../lib/delivery/ledger/ledger.ts';
import { createLedgerReader } from '../../../../lib/delivery/ledger/read.ts';
import { createLedgerTable } from '../../../../lib/delivery/ledger/table.ts';
import { type Message, parseMessage } from '../../../../lib/message/message.ts';
import type { Attributes } from '../../../../lib/runtime/aws/dynamodb.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';
import { bytesOf } from '../../../local/aws/tables.ts';

const start = Date.UTC(2026, 10, 23, 12);
const hour = 3_600_000;
const most = 256 * 1024;
const long = `https://sis.example.edu/${'%C3%A4/'.repeat(280)}`;

const dynamodb = tablesForTests('ledger').client();
let nowMs = start;
let orgUnitId = 2_000;
let resource = '';

beforeEach(() => {
  nowMs = start;
  orgUnitId += 1;
  resource = `grade-objects/${orgUnitId}`;
});

const access = { dynamodb, table: 'ledger', nowMs: () => nowMs };
const table = () => createLedgerTable(access);
const read = () => createLedgerReader(access);
/** The ledger as one container has it. */
const container = () =>
  new TableLedger({
    table: table(),
    lateEffectMs: 60_000,
    warn: () => {},
    nowMs: () => nowMs,
  });

type MessageFields = { id: string; source?: string; sequence?: string; time?: string; replay?: boolean };

const messageOf = <Data>(
  integration: Integration<Data>,
  data: object,
  given: MessageFields,
): Message<Data> => {
  const { id, source = '/sis', sequence, time = '2026-11-23T11:00:00Z' } = given;
  const event = { specversion: '1.0', id, source, sequence, time, type: `sis.${integration.name}.v1`, data };
  return parseMessage(JSON.stringify(event), integration, nowMs);
};

const entryFor = async <Data>(
  integration: Integration<Data>,
  data: object,
  given: MessageFields,
): Promise<LedgerMessage> => {
  const attributes = given.replay ? { replays: '1', kind: 'uncertain' } : {};
  const messageAttributes = Object.fromEntries(
    Object.entries(attributes).map(([name, stringValue]) => [name, { dataType: 'String', stringValue }]),
  );
  const record = { messageId: randomUUID(), attributes: {}, messageAttributes } as unknown as SQSRecord;
  const message = messageOf(integration, data, given);
  return ledgerMessageOf({ integration, message, record, delivery: deliveryOf(record, nowMs) }, undefined);
};

const create = (given: MessageFields) =>
  entryFor(gradeObjectCreate.integration, { orgUnitId, name: 'HW', type: 'numeric', maxPoints: 9 }, given);
const update = (gradeObjectId: number, given: MessageFields) =>
  entryFor(gradeObjectUpdate.integration, { orgUnitId, gradeObjectId, type: 'numeric', name: 'HW' }, given);

const attempt = async (
  entry: LedgerMessage,
  ending: AttemptEnding = 'done',
  refusal?: string,
): Promise<Verdict> => {
  const ledger = container();
  const verdict = await ledger.take(entry, { lockMs: 110_000, isolated: true });
  if (verdict.kind === 'send')
    expect(await ledger.settle(verdict, { ending, refusal, isParked: ending === 'unknown' })).toBe(true);
  nowMs += 120_000;
  return verdict;
};

const rawItem = async (): Promise<Attributes> => {
  const { Item } = await dynamodb.call('GetItem', {
    TableName: 'ledger',
    Key: { resource: { S: resource } },
  });
  return Item ?? {};
};
type Creation = { open?: boolean; begunMs?: number; refusal?: string };

const creation = (at: number, { open, begunMs, refusal }: Creation = {}): [string, FieldState] => {
  const ms = begunMs ?? start - (1_300 - at) * (hour / 3);
  const change = { version: `%2Fsis/${randomUUID()}`, messageId: randomUUID(), begunMs: ms };
  const opened = {
    ...change,
    refusal,
    sinceMs: ms,
    replays: 0,
    crashes: 0,
    acceptedMs: 0,
    isNonRepeatable: true,
    isParked: true,
  };
  const name = `created/${hash('sha256', `${at}`, 'hex').slice(0, 32)}`;
  return [name, open ? { open: opened } : { done: change }];
};

/** Puts these fields, whatever stands there. */
const putFields = async (fields: ResourceState['fields']): Promise<void> => {
  const [holder, lockId] = ['abcd', '000001'];
  const lock = { id: lockId, holder, replays: 0, version: '', fields: [] };
  await table().take(resource, { lock, untilMs: 0 });
  const { lockId: before = '' } = (await read()(resource)) ?? {};
  expect(await table().replace(resource, before, { ...emptyItem, lockId, fields })).toBe(true);
};

/** As so many creations leave it, 20 minutes after each other. */
const fill = (count: number, more: Creation = {}): Promise<void> =>
  putFields(Object.fromEntries(Array.from({ length: count }, (_, at) => creation(at, more))));

describe('whatever a message says of itself', () => {
  test('30 creations with sources of 2,000 characters, refused with long words, leave an item of 40 KB at most', async () => {
    const refusal = JSON.stringify({ message: 'r'.repeat(580) });
    for (let at = 0; at < 30; at += 1) {
      const verdict = await attempt(
        await create({ id: `${at}`.repeat(100), source: long }),
        'unknown',
        refusal,
      );
      expect(verdict.kind).toBe('send');
    }
    expect(bytesOf(await rawItem())).toBeLessThan(40 * 1024);
    nowMs += hour;
    expect((await attempt(await update(5001, { id: 'u' }))).kind).toBe('send');
  });

  test('a grade with the longest identity and sequence is within one write unit', async () => {
    const data = { orgUnitId, gradeObjectId: 5001, userId: 301, grade: { type: 'numeric', points: 1 } };
    const given = { id: 'ü'.repeat(256), source: long, sequence: '9'.repeat(256) };
    const entry = await entryFor(
      gradePush.integration,
      { ...data, comments: 'a', privateComments: 'b' },
      given,
    );
    resource = entry.resource;
    await attempt(entry);
    expect(bytesOf(await rawItem())).toBeLessThanOrEqual(2_048);
  });

  test('is no name of an attribute', async () => {
    for (const id of ['a', '1', '%5C'])
      for (const source of ['b', '\\\\', long]) await attempt(await create({ id, source }));
    const names = Object.keys(await rawItem()).filter((name) => /^[vs]_/.test(name));
    expect(names).toHaveLength(18);
    for (const name of names) expect(name).toMatch(/^[vs]_created\/[0-9a-f]{32}$/);
  });

  test('still orders: by time, and by the beginning of a long sequence', async () => {
    const at = (minute: number, sequence: string, id: string) => ({
      sequence,
      id,
      source: long,
      time: `2026-11-23T11:0${minute}:00Z`,
    });
    expect((await attempt(await update(5001, at(1, '2'.repeat(200), 'a')))).kind).toBe('send');
    expect((await attempt(await update(5001, at(1, '3'.repeat(200), 'b')))).kind).toBe('send');
    nowMs += 2 * hour;
    expect((await attempt(await update(5001, at(1, '2'.repeat(200), 'c')))).kind).toBe('superseded');
    expect((await attempt(await update(5001, at(0, '9'.repeat(200), 'd')))).kind).toBe('superseded');
    expect((await attempt(await update(5001, at(2, '1', 'e')))).kind).toBe('send');
  });
});

describe('an item that is full', () => {
  test.each([
    ['of what was done', {}, 0],
    ['of what has no outcome', { open: true, begunMs: start - 2 * hour }, 230],
  ])(
    '%s takes no creation and no change of something else, and says how much it holds',
    async (_, more, open) => {
      await fill(open || 1_300, more);
      const full = { kind: 'full', fields: open || 1_300, open };
      for (const entry of [await create({ id: 'one more' }), await update(5001, { id: 'u' })])
        expect(await attempt(entry)).toEqual(full);
      expect(bytesOf(await rawItem())).toBeLessThan(1.3 * most);
      expect(Object.values((await read()(resource))?.fields ?? {})).toHaveLength(open || 1_300);
    },
  );

  test('is one before it holds what DynamoDB takes, however its claims end', async () => {
    await fill(180, { open: true, begunMs: start - 2 * hour, refusal: 'r'.repeat(600) });
    let kind = '';
    for (let at = 0; at < 200 && kind !== 'full'; at += 1)
      ({ kind } = await attempt(await create({ id: `${at}`, source: long }), 'unknown', 'r'.repeat(600)));
    expect(kind).toBe('full');
    expect(bytesOf(await rawItem())).toBeLessThanOrEqual(most);
  });

  test('still knows what was done, and takes what it has already', async () => {
    const given = { id: 'known' };
    await attempt(await create(given));
    const known = (await read()(resource))?.fields;
    const others = Object.fromEntries(Array.from({ length: 1_300 }, (_, at) => creation(at)));
    await putFields({ ...others, ...known });
    expect((await attempt(await create(given))).kind).toBe('duplicate');
    expect((await attempt(await create({ id: 'one more' }))).kind).toBe('full');
    expect((await attempt(await create(given))).kind).toBe('duplicate');
  });

  test('makes room for a replay by which somebody says that he has looked: its older half is forgotten', async () => {
    await fill(1_300);
    expect((await attempt(await create({ id: 'one more' }))).kind).toBe('full');
    expect((await attempt(await create({ id: 'one more', replay: true }))).kind).toBe('send');
    expect(bytesOf(await rawItem())).toBeLessThan(0.6 * most);
    const left = (await read()(resource))?.fields ?? {};
    expect(left[creation(1_299)[0]]).toBeDefined();
    expect(left[creation(1)[0]]).toBeUndefined();
    expect((await attempt(await create({ id: 'another' }))).kind).toBe('send');
    expect((await attempt(await create({ id: 'one more' }))).kind).toBe('duplicate');
  });

  test('makes none of what may still come back', async () => {
    await fill(1_300, { begunMs: start - hour + 1 });
    expect((await attempt(await create({ id: 'one more', replay: true }))).kind).toBe('full');
  });

  test('forgets by itself what is older than 35 days', async () => {
    await fill(1_300);
    nowMs += 20 * 24 * hour;
    expect((await attempt(await create({ id: 'later', time: '2026-12-13T11:00:00Z' }))).kind).toBe('send');
  });
});
