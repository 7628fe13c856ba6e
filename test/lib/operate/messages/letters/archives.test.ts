import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { type Archive, listArchives } from '../../../../../lib/operate/messages/archive/archives.ts';
import { discardLetters } from '../../../../../lib/operate/messages/archive/discard.ts';
import { editLetters } from '../../../../../lib/operate/messages/edit/edit.ts';
import { never, officesForTests } from '../../../show/cli/office.ts';

const offices = officesForTests();
const hourMs = 3_600_000;

/** An office with a bucket of its own. */
const opened = async (name: string) => {
  const office = await offices.open();
  const s3 = await office.target.s3();
  await s3.send(new CreateBucketCommand({ Bucket: name }));
  const put = (Key: string) => s3.send(new PutObjectCommand({ Bucket: name, Key, Body: 'a line' }));
  return { office, put, target: { ...office.target, bucket: async () => name } };
};

test('what was discarded and what was edited is listed, the newest first, with its size', async () => {
  const { office, target, put } = await opened('archives');
  const [one = '', other = ''] = await office.park([{}, {}]);
  const common = { reason: 'a test', audit: office.audit, signal: never, confirm: async () => true };
  const { archives: discarded } = await discardLetters(target, {
    ...{ ...common, filter: { id: [one] }, dryRun: false },
  });
  // S3 tells times to the second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const { originals } = await editLetters(target, {
    ...{ ...common, filter: { id: [other] }, includeUncertain: false, reveal: false, isOpened: false },
    ...{ canary: 0, rate: 500, stopAfter: 5, waitSeconds: 0.1 },
    change: async (body) => body.replace('"points":8.5', '"points":7'),
  });
  await put('audit/2026/01/31/none.json');
  const { archives, isWhole } = await listArchives(target, {
    sinceMs: Date.now() - hourMs,
    signal: never,
  });
  expect(isWhole).toBe(true);
  const archive = (what: Archive['what'], address = '') => ({
    ...{ address, what, at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) },
    bytes: expect.any(Number),
  });
  expect(archives).toEqual([archive('edited', originals[other]), archive('discarded', discarded[0])]);
  expect(archives[0]?.bytes).toBeGreaterThan(100);
  const later = await listArchives(target, { sinceMs: Date.now() + hourMs, signal: never });
  expect(later).toEqual({ archives: [], isWhole: true });
});

test('of more than a thousand the list says that it is not whole', { tags: ['long'] }, async () => {
  const { target, put } = await opened('many-archives');
  const today = new Date().toISOString().slice(0, 10);
  for (let from = 0; from < 1_001; from += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, 1_001 - from) }, (_, at) =>
        put(`edited/${today}/letter-${from + at}-090000.jsonl`),
      ),
    );
  const { archives, isWhole } = await listArchives(target, {
    sinceMs: Date.now() - 100 * 24 * hourMs,
    signal: never,
  });
  expect([archives.length, isWhole]).toEqual([1_000, false]);
});

test('without a bucket nothing is listed', async () => {
  const { target } = await opened('no-archives');
  const options = { sinceMs: 0, signal: never };
  await expect(listArchives({ ...target, bucket: async () => undefined }, options)).rejects.toThrow(
    /^The bucket is not known/,
  );
});
