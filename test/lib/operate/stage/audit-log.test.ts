import { PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { createAudit } from '../../../../lib/operate/stage/audit.ts';
import { type AuditedCommand, openCommands, readAuditLog } from '../../../../lib/operate/stage/audit-log.ts';
import { never, type Office, officesForTests } from '../../show/cli/office.ts';

const offices = officesForTests();
const hourMs = 3_600_000;

const as = (office: Office, who: string) => createAudit({ ...office.target, who }, () => {});
/** All offices share a bucket. */
const readBy = async (office: Office, who: string, options: object = {}): Promise<AuditedCommand[]> => {
  const { commands, isWhole } = await readAuditLog(office.target, {
    ...{ sinceMs: Date.now() - hourMs, signal: never, ...options },
  });
  expect(isWhole).toBe(true);
  return commands.filter((each) => each.who === who);
};
const put = async (office: Office, entry: object | string, day = new Date()) => {
  const s3 = await office.target.s3();
  const Key = `audit/${day.toISOString().slice(0, 10).replaceAll('-', '/')}/${Math.random()}.json`;
  const Body = typeof entry === 'string' ? entry : JSON.stringify(entry);
  await s3.send(new PutObjectCommand({ Bucket: office.bucket, Key, Body }));
};

test('what operators did is read, the newest first, with its counts, letters and end', async () => {
  const office = await offices.open();
  const audit = as(office, 'jane');
  const { end } = await audit.begin({
    ...{ command: 'letters replay', filter: { kind: ['rejected'] }, reason: 'mended' },
    ...{ counts: { planned: 3 }, letters: ['a', 'b', 'c'] },
  });
  await end({ sent: 2, failed: 1 }, ['a', 'b']);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await audit.begin({ command: 'letters discard', counts: { planned: 1 }, letters: ['d'] });
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(await readBy(office, 'jane')).toEqual([
    {
      ...{ id: expect.any(String), command: 'letters discard', who: 'jane', why: undefined, at },
      ...{ endedAt: undefined, filter: undefined, counts: { planned: 1 } },
      ...{ meant: new Set(['d']), did: new Set() },
    },
    {
      ...{ id: expect.any(String), command: 'letters replay', who: 'jane', why: 'mended', at, endedAt: at },
      ...{ filter: { kind: ['rejected'] }, counts: { sent: 2, failed: 1 } },
      ...{ meant: new Set(['a', 'b', 'c']), did: new Set(['a', 'b']) },
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
    ...{ command: 'letters replay', reason: 'all', counts: { planned: 2_500 }, letters },
  });
  await end({ sent: 2_500 });
  const [command, ...others] = await readBy(office, 'joe');
  expect(others).toEqual([]);
  expect(command).toMatchObject({ why: 'all', counts: { sent: 2_500 } });
  expect([command?.meant.size, command?.did.size]).toEqual([2_500, 2_500]);
});

test('what is no entry, or older than was asked for, is left out', async () => {
  const office = await offices.open();
  const entry = (hours: number, more: object = {}) => ({
    ...{ audit: 'begin', id: `${hours}`, at: new Date(Date.now() - hours * hourMs).toISOString() },
    ...{ who: 'jim', command: 'publish', ...more },
  });
  for (const each of ['no JSON', '[]', {}, entry(0.1, { audit: 'check' }), entry(0.2, { letters: 'all' })])
    await put(office, each);
  await put(office, entry(0.3));
  await put(office, entry(1.5));
  // A command that began before then, and has ended since.
  await put(office, { ...entry(2), id: 'long' });
  await put(office, { ...entry(0.5), id: 'long', audit: 'end', counts: { sent: 1 } });
  expect((await readBy(office, 'jim')).map(({ id }) => id)).toEqual(['0.3', 'long']);
});

test('all days since then are listed in one request, from the first of them on', async () => {
  const office = await offices.open();
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * hourMs);
  for (const days of [0, 1, 9, 12])
    await put(
      office,
      { audit: 'begin', id: `${days}`, at: daysAgo(days), who: 'jill', command: 'publish' },
      daysAgo(days),
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
  expect((await readBy(office, 'jill', { sinceMs })).map(({ id }) => id)).toEqual(['0', '1', '9']);
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
