import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { discardLetters } from '../../../lib/desk/messages/archive/discard.ts';
import { exportLetters } from '../../../lib/desk/messages/archive/export.ts';
import { replayLetters } from '../../../lib/desk/messages/replay/replay.ts';
import { archive, createAudit } from '../../../lib/stage/audit.ts';
import { readAuditLog } from '../../../lib/stage/audit-log.ts';
import { readCaller } from '../../../lib/stage/caller.ts';
import { localClient } from '../../local/aws/aws.ts';
import { never, type Office, officesForTests } from '../desk/cli/office.ts';

const offices = officesForTests();

test('a change is written down before it begins and when it has ended, in the bucket and for a log', async () => {
  const office = await offices.open();
  const said: string[] = [];
  const audit = createAudit(office.target, ({ line }) => said.push(line));
  const { end } = await audit.begin({
    command: 'letters replay',
    filter: { kind: ['rejected'] },
    reason: 'mended',
    counts: { planned: 3 },
  });
  const begun = [...(await office.objects('audit/')).values()];
  await end({ sent: 2, failed: 1 });
  const objects = await office.objects('audit/');
  expect(begun).toHaveLength(1);
  expect([...objects.values()].map((text) => text.trim()).sort()).toEqual([...said].sort());
  expect(
    [...objects.keys()].every((key) =>
      /^audit\/\d{4}\/\d\d\/\d\d\/[\d:.]+-[0-9a-f]{8}-(begin|end)-operator\.json$/.test(key),
    ),
  ).toBe(true);
  const common = {
    who: 'a test',
    target: office.target.prefix.slice(0, -1),
    command: 'letters replay',
    filter: { kind: ['rejected'] },
    reason: 'mended',
  };
  expect(said.map((line) => JSON.parse(line))).toMatchObject([
    { audit: 'begin', ...common, counts: { planned: 3 } },
    { audit: 'end', ...common, counts: { sent: 2, failed: 1 } },
  ]);
});

test('an entry says whose credentials acted, beside the name that was given, and cannot be written over', async () => {
  const office = await offices.open();
  const caller = async () => 'arn:aws:sts::000000000000:assumed-role/Operators/lena@university.edu';
  const target = { ...office.target, who: 'somebody else', caller };
  const conditions: unknown[] = [];
  (await target.s3()).middlewareStack.add(
    (next) => (args) => {
      const { method, headers } = args.request as { method: string; headers: Record<string, string> };
      if (method === 'PUT') conditions.push(headers['if-none-match']);
      return next(args);
    },
    { step: 'finalizeRequest' },
  );
  const { end } = await createAudit(target, () => {}).begin({ command: 'letters discard' });
  await end({ discarded: 1 });
  // What a letter was is not written over either.
  await archive(target, 'discarded/once.jsonl', 'a letter');
  const [command] = (await readAuditLog(target, { sinceMs: Date.now() - 60_000, signal: never })).commands;
  expect(command).toMatchObject({
    who: 'assumed-role/Operators/lena@university.edu (as somebody else)',
    counts: { discarded: 1 },
  });
  // The local S3 does not look at it; the bucket's policy asks for it.
  expect(conditions).toEqual(['*', '*', '*']);
});

test('AWS tells whose credentials act', async () => {
  const asked: string[] = [];
  const Arn = 'arn:aws:sts::000000000000:assumed-role/Operators/lena@university.edu';
  const server = createServer(async (request, response) => {
    asked.push(`${await buffer(request)}`);
    response.setHeader('content-type', 'text/xml');
    response.end(
      `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>${Arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`,
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const options = localClient(`http://127.0.0.1:${port}`);
  expect(await readCaller(options)).toBe(Arn);
  expect(asked).toEqual([expect.stringContaining('Action=GetCallerIdentity')]);
  server.close();
  server.closeAllConnections();
  expect(await readCaller({ ...options, maxAttempts: 1 })).toMatch(/^not known \(\w+\)$/);
});

test('without a bucket nothing may begin', async () => {
  const office = await offices.open();
  const audit = createAudit({ ...office.target, bucket: async () => undefined }, () => {});
  await expect(audit.begin({ command: 'publish' })).rejects.toThrow(/Pass --bucket, or set SIS_RELAY_BUCKET/);
});

describe('the letters of a change', () => {
  /** Every line of one moment, in the order of its parts. */
  const linesOf = async (office: Office, moment: string) =>
    [...(await office.objects('audit/')).entries()]
      .filter(([key]) => key.includes(`-${moment}`))
      .map(([, text]) => JSON.parse(text))
      .filter(({ target }) => target === office.target.prefix.slice(0, -1))
      .sort((one, other) => (one.part ?? 1) - (other.part ?? 1));

  test('are named: those that are meant, and in the end those that it was done to', async () => {
    const office = await offices.open();
    const said: string[] = [];
    const audit = createAudit(office.target, ({ line }) => said.push(line));
    const { end } = await audit.begin({ command: 'letters replay', letters: ['a', 'b', 'c'] });
    await end({ sent: 2 }, ['a', 'c']);
    expect(said.map((line) => JSON.parse(line).letters)).toEqual([
      ['a', 'b', 'c'],
      ['a', 'c'],
    ]);
    expect((await linesOf(office, 'begin'))[0]).toMatchObject({ letters: ['a', 'b', 'c'] });
    expect((await linesOf(office, 'end'))[0]).toMatchObject({ letters: ['a', 'c'], counts: { sent: 2 } });
  });

  test.each([51, 1_000, 1_001, 2_500])(
    'are all named in the bucket, and only counted in a log: %i',
    async (count) => {
      const office = await offices.open();
      const said: string[] = [];
      const ids = Array.from({ length: count }, (_, at) => `letter-${at}`);
      const { end } = await createAudit(office.target, ({ line }) => said.push(line)).begin({
        command: 'letters replay',
        filter: { kind: ['rejected'] },
        letters: ids,
      });
      await end({ sent: count });
      for (const moment of ['begin', 'end']) {
        const lines = await linesOf(office, moment);
        expect(lines).toHaveLength(Math.ceil(count / 1_000));
        expect(lines.flatMap(({ letters }) => letters)).toEqual(ids);
        for (const line of lines) expect(line).toMatchObject({ who: 'a test', command: 'letters replay' });
        expect(lines[0]).toMatchObject({ filter: { kind: ['rejected'] } });
        expect(new Set(lines.map(({ id }) => id)).size).toBe(1);
      }
      expect(said).toHaveLength(2);
      expect(said.join('')).not.toContain('letter-0');
      expect(JSON.parse(said[1] ?? '')).toMatchObject({ counts: { sent: count } });
    },
  );
});

test('a replay, a discard and an export name the letters that they were done to', async () => {
  const office = await offices.open();
  const ids = await office.park([{}, { failure: { kind: 'invalid' } }, {}]);
  const [one = '', wrong = '', other = ''] = ids;
  const common = { audit: office.audit, signal: never };
  const limits = { canary: 0, waitSeconds: 0.2, rate: 500, stopAfter: 5, probe: true };
  const written: string[] = [];
  await exportLetters(office.target, {
    ...common,
    filter: { kind: ['invalid'] as const },
    reason: 'a test',
    file: 'letters.jsonl',
    write: async (line: string) => void written.push(line),
  });
  await discardLetters(office.target, {
    ...common,
    filter: { id: [wrong] },
    reason: 'a test',
    dryRun: false,
    confirm: async () => true,
  });
  await replayLetters(
    office.target,
    { ...limits, filter: { kind: ['rejected'] }, dryRun: false, includeUncertain: false },
    { ...common, confirm: async () => true },
  );
  expect(
    office.audited.map(({ audit, command, letters }) => [audit, command, (letters as string[])?.toSorted()]),
  ).toEqual([
    ['begin', 'letters export', undefined],
    ['end', 'letters export', [wrong]],
    ['begin', 'letters discard', [wrong]],
    ['end', 'letters discard', [wrong]],
    ['begin', 'letters replay', [one, other].toSorted()],
    ['end', 'letters replay', [one, other].toSorted()],
  ]);
  expect(written).toHaveLength(1);
});

test('a replay that SQS takes in part names what was sent in the end, and what was meant before', async () => {
  const office = await offices.open();
  const ids = await office.park(Array.from({ length: 5 }, () => ({})));
  await office.fault({
    action: 'SendMessageBatch',
    name: office.queueOf('grade-push').url.split('/').at(-1),
    failedEntries: 2,
    times: 20,
  });
  await replayLetters(
    office.target,
    {
      canary: 0,
      waitSeconds: 0.1,
      rate: 500,
      stopAfter: 5,
      probe: true,
      filter: {},
      dryRun: false,
      includeUncertain: false,
    },
    { audit: office.audit, signal: never, confirm: async () => true },
  );
  await office.clearFaults();
  const [begin, end] = office.audited as { letters: string[]; counts: { sent: number } }[];
  expect(begin?.letters.toSorted()).toEqual(ids.toSorted());
  expect(end?.counts.sent).toBe(end?.letters.length);
  expect(end?.letters.length).toBeLessThan(ids.length);
});
