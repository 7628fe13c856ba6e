import type { SQSRecord } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import {
  digestsOf,
  ledgerMessageOf,
  placeInLedger,
  resourceIn,
} from '../../../../lib/delivery/handle/ledger-message.ts';
import type { Digester } from '../../../../lib/delivery/ledger/digest.ts';

const nowMs = Date.UTC(2026, 2, 1, 12);
type Data = { userId: number };
const integration: Integration<Data> = {
  name: 'try-out',
  data: z.strictObject({ userId: z.number() }),
  resource: ({ userId }) => `thing/${userId}`,
  changes: ['thing'],
  operations: [],
  repeatable: true,
  run: async () => {},
};
const message = {
  id: 'e-1',
  source: '/sis',
  time: '2026-03-01T10:00:00.5Z',
  sequence: '12',
  data: { userId: 301 },
};
const version = '2026-03-01T10:00:00.500000000\u000100212\u0001e-1\u0001/sis\u0001try-out';
const digest: Digester = async (parts) => (parts[2] === 'unknown' ? undefined : parts.join(' '));

describe('what the ledger is asked about a message', () => {
  const record = { messageId: 'm', messageAttributes: {} } as unknown as SQSRecord;
  const delivery = { sentMs: nowMs - 2, firstMs: nowMs - 1, startedMs: nowMs, attempts: 1, replays: 3 };
  const common = {
    resource: 'thing/301',
    fields: ['whole'],
    version,
    repeatable: true,
    messageId: 'm',
    replays: 3,
    timeMs: Date.UTC(2026, 2, 1, 10, 0, 0, 500),
  };

  test('is the whole resource, without digests, where its integration declares no more', async () => {
    expect(await ledgerMessageOf({ integration, message, record, delivery }, digest)).toEqual({
      ...common,
      decidedMs: undefined,
      digests: {},
    });
  });

  test('has the digests of what it wants, and when a person has decided', async () => {
    const text = (stringValue: string) => ({ stringValue, dataType: 'String' });
    const decided = { ...record, messageAttributes: { kind: text('uncertain'), replays: text('3') } };
    const effect = {
      wanted: ({ userId }: Data) => ({ grade: `${userId}`, comments: 'unknown' }),
      shown: () => Promise.reject(new Error('The ledger asks for no look at the platform.')),
    };
    const given = { integration: { ...integration, effect }, message, delivery };
    expect(await ledgerMessageOf({ ...given, record: decided as unknown as SQSRecord }, digest)).toEqual({
      ...common,
      decidedMs: nowMs - 2,
      digests: { grade: 'thing/301 grade 301' },
    });
  });

  test('has no digest of a field without a value, nor any without a key', async () => {
    const fields = { grade: '7', comments: undefined };
    expect(await digestsOf('thing/301', fields, digest)).toStrictEqual({ grade: 'thing/301 grade 7' });
    expect(await digestsOf('thing/301', fields, undefined)).toStrictEqual({});
  });
});

describe('the place of a message in the ledger', () => {
  const long = 'x'.repeat(512);
  const placeOf = (more: Partial<Integration<Data>>) => placeInLedger({ ...integration, ...more }, message);

  test.each<[string, () => Partial<Integration<Data>>, string, string[]]>([
    ['as they are', () => ({ fields: () => ['a/b', 'c'] }), 'thing/301', ['a/b', 'c']],
    [
      'as they are up to 512 characters',
      () => ({ resource: () => long, fields: () => [long] }),
      long,
      [long],
    ],
    [
      'by the first word and a digest from there on',
      () => ({ resource: () => `thing/${long}`, fields: () => [`field/${long}`] }),
      'thing/b2SWcmtoXsTeqh0Gj2lIgovKlSwEiuBXIEuk1wrGJkA',
      ['field/oRgsXW1ZX6VFL0zezhgBbSfFIJbD26p6g0-0kpC7nLA'],
    ],
  ])('names the resource and its fields %s', (_, more, resource, fields) => {
    expect(placeOf(more())).toEqual({ resource, fields, version, repeatable: true });
  });

  test('of a message that must not be sent twice is that of the message itself, whatever its time', () => {
    const once = { repeatable: () => false, fields: () => ['a/b', 'c'] };
    expect(placeOf(once)).toEqual({
      resource: 'thing/301',
      fields: ['a/c14cddc033f64b9dea80ea675cf280a0', 'c'],
      version: '%2Fsis/e-1',
      repeatable: false,
    });
  });
});

describe('the resource in a body', () => {
  const bodyOf = (data: object) =>
    JSON.stringify({
      specversion: '1.0',
      id: 'e-1',
      source: '/sis',
      type: 'sis.try-out.v1',
      time: '2026-03-01T10:00:00Z',
      data,
    });
  const within = (body: string, ids?: Record<string, number>) =>
    resourceIn(integration, body, { nowMs, ids });

  test('is that of what its ids stand for, and is shortened as the ledger’s is', () => {
    expect(within(bodyOf({ userId: 301 }))).toBe('thing/301');
    expect(within(bodyOf({ userName: 'nora' }), { userId: 302 })).toBe('thing/302');
    const more = { ...integration, resource: () => `thing/${'x'.repeat(512)}` };
    expect(resourceIn(more, bodyOf({ userId: 301 }), { nowMs, ids: undefined })).toBe(
      'thing/b2SWcmtoXsTeqh0Gj2lIgovKlSwEiuBXIEuk1wrGJkA',
    );
  });

  test('is none where that is not known, or the message is not valid', () => {
    expect(within(bodyOf({ userName: 'nora' }))).toBeUndefined();
    expect(within(bodyOf({ userId: 'x' }))).toBeUndefined();
  });
});
