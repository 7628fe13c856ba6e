import { describe, expect, test } from 'vitest';
import { type Office, officesForTests } from '../../cli/office.ts';
import { discardFrom, importInto } from '../operator.ts';

const offices = officesForTests();

const archived = async (office: Office, addresses: string[]) => {
  const objects = await office.objects('discarded/');
  return addresses
    .map((address) => objects.get(address.replace(`s3://${office.bucket}/`, '')) ?? '')
    .join('');
};

describe('a discarded letter', () => {
  test('is archived whole, then gone, and the audit log says who and why', async () => {
    const office = await offices.open();
    await office.park([
      { body: 'the body', failure: { kind: 'rejected' } },
      { failure: { kind: 'unavailable' } },
    ]);
    const { discarded, failed, archives } = await discardFrom(office, { filter: { kind: ['rejected'] } });
    expect({ discarded, failed }).toEqual({ discarded: 1, failed: [] });
    expect(JSON.parse(await archived(office, archives))).toMatchObject({
      kind: 'rejected',
      body: 'the body',
      function: 'grade-push',
    });
    expect(await office.take(office.deadLetters.url)).toHaveLength(1);
    expect(office.audited).toMatchObject([
      { audit: 'begin', command: 'letters discard', reason: 'a test', counts: { planned: 1 } },
      { audit: 'end', counts: { discarded: 1, failed: 0 } },
    ]);
  });

  test('can be taken back from its archive, as it was', async () => {
    const office = await offices.open();
    const attributes = { bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2, 255]) } };
    await office.park([{ body: 'the body', attributes, replays: 2 }]);
    const before = await office.take(office.deadLetters.url);
    await office.send(
      office.deadLetters.url,
      before.map(({ Body = '', MessageAttributes = {} }) => ({ MessageBody: Body, MessageAttributes })),
    );
    await office.list();
    const { archives } = await discardFrom(office);
    await importInto(office, (await archived(office, archives)).split('\n'));
    const after = await office.take(office.deadLetters.url);
    const core = (messages: typeof after) =>
      messages.map(({ Body, MessageAttributes: { letterId: _, ...attributes } = {} }) => ({
        Body,
        attributes,
      }));
    expect(core(after)).toEqual(core(before));
  });

  test('may be anything at all', async () => {
    const office = await offices.open();
    await office.send(office.deadLetters.url, [{ MessageBody: 'garbage \u{1F600}' }]);
    await office.list();
    const { discarded, archives } = await discardFrom(office);
    expect(discarded).toBe(1);
    expect(JSON.parse(await archived(office, archives))).toMatchObject({
      kind: 'unknown-source',
      body: 'garbage \u{1F600}',
    });
  });
});

describe('nothing is discarded', () => {
  test.each([
    ['the archive cannot be written', 'no-such-bucket', /bucket/],
    ['there is no bucket to archive it in', undefined, 'Pass --bucket'],
  ])('where %s', async (_, bucket, reason) => {
    const office = await offices.open();
    await office.park([{}, {}]);
    const broken = { ...office, target: { ...office.target, bucket: async () => bucket } };
    await expect(discardFrom(broken)).rejects.toThrow(reason);
    expect(await office.take(office.deadLetters.url)).toHaveLength(2);
  });

  test('in a dry run, nor where it is not confirmed', async () => {
    const office = await offices.open();
    await office.park([{}]);
    expect(await discardFrom(office, { dryRun: true })).toMatchObject({ discarded: 0, plan: { letters: 1 } });
    expect(await discardFrom(office, { confirm: async () => false })).toMatchObject({ discarded: 0 });
    expect(office.audited).toEqual([]);
    expect(await office.take(office.deadLetters.url)).toHaveLength(1);
  });
});

test('that is interrupted ends after what is under way, and knows how many are left', async () => {
  const office = await offices.open();
  await office.park(Array.from({ length: 120 }, () => ({})));
  const interrupted = new AbortController();
  const { discarded, left } = await discardFrom(office, {
    signal: interrupted.signal,
    onDiscarded: () => interrupted.abort(),
  });
  expect({ discarded, left }).toEqual({ discarded: 100, left: 20 });
  expect(await office.take(office.deadLetters.url)).toHaveLength(20);
});

test('letters that cannot be deleted are named, and stay', async () => {
  const office = await offices.open();
  await office.park(Array.from({ length: 12 }, () => ({})));
  const name = office.deadLetters.url.split('/').at(-1);
  await office.fault({ action: 'DeleteMessageBatch', name, failedEntries: 1, times: 6 });
  const { discarded, failed } = await discardFrom(office);
  expect([discarded, failed.length]).toEqual([10, 2]);
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});
