import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAudit } from '../../../lib/stage/audit.ts';
import {
  type AuditedCommand,
  leftOutTexts,
  openCommands,
  readAuditLog,
} from '../../../lib/stage/audit-log.ts';
import { never, type Office, officesForTests } from '../desk/cli/office.ts';

const offices = officesForTests();
const hourMs = 3_600_000;

const as = (office: Office, who: string) => createAudit({ ...office.target, who }, () => {});
/** All offices share a bucket. */
const readBy = async (office: Office, who: string, options: object = {}): Promise<AuditedCommand[]> => {
  const { commands, isWhole } = await readAuditLog(office.target, {
    sinceMs: Date.now() - hourMs,
    signal: never,
    ...options,
  });
  expect(isWhole).toBe(true);
  return commands.filter((each) => each.who === who);
};
type Put = { day?: Date; id?: string; moment?: 'begin' | 'end'; role?: string; hours?: number };
/** When the objects of a test were put, `hours` ago, as S3 tells it. */
const putHoursAgo = new Map<string, number>();
const put = async (
  office: Office,
  entry: object | string,
  { day = new Date(), id = randomUUID().slice(0, 8), moment = 'begin', role = 'lead', hours = 0 }: Put = {},
) => {
  const s3 = await office.target.s3();
  const Key = `audit/${day.toISOString().slice(0, 10).replaceAll('-', '/')}/00:00:00.000-${id}-${moment}-${role}.json`;
  const Body = typeof entry === 'string' ? entry : JSON.stringify(entry);
  await s3.send(new PutObjectCommand({ Bucket: office.bucket, Key, Body }));
  if (hours > 0) putHoursAgo.set(Key, hours);
  return Key;
};
type Listing = { Contents?: { Key?: string; LastModified?: Date }[] };
/** Lists objects as old as tests say. */
const listAsOld = async (office: Office) => {
  const s3 = await office.target.s3();
  s3.middlewareStack.add(
    (next) => async (sent) => {
      const answer = await next(sent);
      for (const object of (answer.output as Listing).Contents ?? []) {
        const hours = putHoursAgo.get(object.Key ?? '');
        if (hours !== undefined) object.LastModified = new Date(Date.now() - hours * hourMs);
      }
      return answer;
    },
    { name: 'ages', step: 'initialize' },
  );
  onTestFinished(() => void s3.middlewareStack.remove('ages'));
};

test('what operators did is read, the newest first, with its counts, letters and end', async () => {
  const office = await offices.open();
  const audit = as(office, 'jane');
  const { end } = await audit.begin({
    command: 'letters replay',
    filter: { kind: ['rejected'] },
    reason: 'mended',
    counts: { planned: 3 },
    letters: ['a', 'b', 'c'],
  });
  await end({ sent: 2, failed: 1 }, ['a', 'b']);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await audit.begin({ command: 'letters discard', counts: { planned: 1 }, letters: ['d'] });
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(await readBy(office, 'jane')).toEqual([
    {
      id: expect.any(String),
      command: 'letters discard',
      who: 'jane',
      why: undefined,
      at,
      endedAt: undefined,
      filter: undefined,
      counts: { planned: 1 },
      meant: new Set(['d']),
      did: new Set(),
    },
    {
      id: expect.any(String),
      command: 'letters replay',
      who: 'jane',
      why: 'mended',
      at,
      endedAt: at,
      filter: { kind: ['rejected'] },
      counts: { sent: 2, failed: 1 },
      meant: new Set(['a', 'b', 'c']),
      did: new Set(['a', 'b']),
    },
  ]);
  const [, replay] = await readBy(office, 'jane', { isWanted: (letter: string) => letter === 'b' });
  expect([replay?.meant, replay?.did]).toEqual([new Set(['b']), new Set(['b'])]);
});

test('of what operators did, only what has not ended is open', async () => {
  const office = await offices.open();
  const audit = as(office, 'jo');
  const letters = Array.from({ length: 1_001 }, (_, at) => `letter-${at}`);
  const { end } = await audit.begin({ command: 'letters discard' });
  await audit.begin({ command: 'letters replay', counts: { planned: 1_001 }, letters });
  await end({ discarded: 1 });
  const open = await openCommands(office.target, never);
  expect(open.filter(({ who }) => who === 'jo')).toMatchObject([
    { command: 'letters replay', counts: { planned: 1_001 }, endedAt: undefined },
  ]);
});

test('a command on very many letters is one, with all of them', async () => {
  const office = await offices.open();
  const letters = Array.from({ length: 2_500 }, (_, at) => `letter-${at}`);
  const { end } = await as(office, 'joe').begin({
    command: 'letters replay',
    reason: 'all',
    counts: { planned: 2_500 },
    letters,
  });
  await end({ sent: 2_500 });
  const [command, ...others] = await readBy(office, 'joe');
  expect(others).toEqual([]);
  expect(command).toMatchObject({ why: 'all', counts: { sent: 2_500 } });
  expect([command?.meant.size, command?.did.size]).toEqual([2_500, 2_500]);
});

test('what is no entry, or older than was asked for, is left out', async () => {
  const office = await offices.open();
  await listAsOld(office);
  const entry = (more: object = {}) => ({
    at: new Date().toISOString(),
    who: 'jim',
    command: 'publish',
    ...more,
  });
  for (const each of ['no JSON', '[]', {}, entry({ letters: 'all' })]) await put(office, each);
  await put(office, entry(), { moment: 'check' as 'begin' });
  await put(office, entry(), { id: '00000003', hours: 0.3 });
  await put(office, entry(), { id: '00000015', hours: 1.5 });
  // A command that began before then, and has ended since.
  await put(office, entry(), { id: '0000001f', hours: 2 });
  await put(office, entry({ counts: { sent: 1 } }), { id: '0000001f', moment: 'end', hours: 0.5 });
  expect((await readBy(office, 'jim')).map(({ id }) => id)).toEqual(['00000003', '0000001f']);
});

describe('an operator cannot', () => {
  const at = new Date().toISOString();

  test('write what only a lead may: the entry is left out, and named', async () => {
    const office = await offices.open();
    const line = { at, who: 'boss', command: 'snapshots approve', reason: 'all is well' };
    const forged = await put(office, line, { role: 'operator' });
    const unknown = await put(office, { ...line, command: 'Publish' }, { role: 'operator' });
    const log = await readAuditLog(office.target, { sinceMs: Date.now() - hourMs, signal: never });
    expect(log.commands.filter(({ who }) => who === 'boss')).toEqual([]);
    expect(log.forged).toEqual([forged, unknown].sort());
    expect(leftOutTexts(log)).toEqual([expect.stringContaining('2 of its entries')]);
    expect((await openCommands(office.target, never)).filter(({ who }) => who === 'boss')).toEqual([]);
  });

  test('change what is shown of a lead’s, or end it', async () => {
    const office = await offices.open();
    const { id } = await as(office, 'chief').begin({ command: 'publish', counts: { planned: 5 } });
    const line = { at, who: 'chief', command: 'letters replay', reason: 'forged', counts: { sent: 1 } };
    for (const audit of ['begin', 'end'] as const)
      await put(office, { ...line, audit, id }, { id, moment: audit, role: 'operator' });
    const shown = (await readBy(office, 'chief')).find(({ command }) => command === 'publish');
    expect(shown).toMatchObject({ id, why: undefined, counts: { planned: 5 }, endedAt: undefined });
    const open = await openCommands(office.target, never);
    expect(open.filter(({ who, command }) => who === 'chief' && command === 'publish')).toHaveLength(1);
  });

  test.each([
    ['a large one', undefined],
    ['one that nobody may read', { name: 'InvalidObjectState', $metadata: { httpStatusCode: 403 } }],
  ])('hide the log by %s', async (what, refusal) => {
    const office = await offices.open();
    await as(office, what).begin({ command: 'letters replay', reason: 'mended' });
    const key = await put(office, refusal ? '{}' : ' '.repeat(1024 ** 2 + 1), { role: 'operator' });
    const s3 = await office.target.s3();
    s3.middlewareStack.add(
      (next, { commandName }) =>
        async (sent) => {
          if (refusal && commandName === 'GetObjectCommand' && Object(sent.input).Key === key)
            throw Object.assign(new Error('no'), refusal);
          return next(sent);
        },
      { name: 'refusing' },
    );
    onTestFinished(() => void s3.middlewareStack.remove('refusing'));
    const log = await readAuditLog(office.target, { sinceMs: Date.now() - hourMs, signal: never });
    expect(log.unread).toEqual([key]);
    expect(leftOutTexts(log).join()).toContain(`cannot be read, or are larger than any`);
    for (const commands of [log.commands, await openCommands(office.target, never)])
      expect(commands.filter(({ who }) => who === what)).toHaveLength(1);
    await s3.send(new DeleteObjectCommand({ Bucket: office.bucket, Key: key }));
  });

  test('say by its line that it is another entry, or when it was written', async () => {
    const office = await offices.open();
    await listAsOld(office);
    const id = '0badc0de';
    const line = {
      audit: 'end',
      id: '00000000',
      at: '2020-01-01T00:00:00Z',
      who: 'eve',
      command: 'letters edit',
    };
    await put(office, line, { id, role: 'operator', hours: 0.5, day: new Date(Date.now() + 24 * hourMs) });
    const [shown] = await readBy(office, 'eve');
    expect(shown).toMatchObject({ id, endedAt: undefined });
    expect(Date.parse(shown?.at ?? '')).toBeGreaterThan(Date.now() - hourMs);
    expect(Date.parse(shown?.at ?? '')).toBeLessThan(Date.now() - 0.4 * hourMs);
  });
});

test('all days since then are listed in one request, from the first of them on', async () => {
  const office = await offices.open();
  await listAsOld(office);
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * hourMs);
  for (const days of [0, 1, 9, 12])
    await put(
      office,
      { at: daysAgo(days), who: 'jill', command: 'publish' },
      { day: daysAgo(days), id: `0000000${days}`.slice(-8), hours: 24 * days },
    );
  const s3 = await office.target.s3();
  const listings: unknown[] = [];
  s3.middlewareStack.add(
    (next, { commandName }) =>
      (sent) => {
        if (commandName === 'ListObjectsV2Command') listings.push(sent.input);
        return next(sent);
      },
    { name: 'listings' },
  );
  const sinceMs = daysAgo(10).getTime();
  expect((await readBy(office, 'jill', { sinceMs })).map(({ id }) => Number(id))).toEqual([0, 1, 9]);
  s3.middlewareStack.remove('listings');
  const StartAfter = `audit/${daysAgo(10).toISOString().slice(0, 10).replaceAll('-', '/')}`;
  expect(listings).toMatchObject([{ StartAfter }]);
});

test('without a bucket it cannot be read', async () => {
  const office = await offices.open();
  const target = { ...office.target, bucket: async () => undefined };
  await expect(readAuditLog(target, { sinceMs: 0, signal: never })).rejects.toThrow(
    /^The bucket is not known/,
  );
});
