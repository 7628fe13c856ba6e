import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { type Archive, listArchives } from '../../../../../lib/desk/messages/archive/archives.ts';
import { importLetters, linesOf, objectInput } from '../../../../../lib/desk/messages/archive/import.ts';
import { never, officesForTests } from '../../cli/office.ts';
import { discardFrom, editAt } from '../operator.ts';

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

test('each discard and each edit is listed once, the newest first, with its size', async () => {
  const { office, target, put } = await opened('archives');
  const [one = '', ...others] = await office.park([{}, {}, {}, {}]);
  const { archives: discarded } = await discardFrom({ ...office, target }, { filter: { id: [one] } });
  // S3 tells times to the second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const { originals } = await editAt({ ...office, target }, { filter: { id: others } });
  await put('audit/2026/01/31/none.json');
  const archives = await listArchives(target, { sinceMs: Date.now() - hourMs, signal: never });
  const archive = (what: Archive['what'], files: number) => ({
    what,
    files,
    address: expect.any(String),
    bytes: expect.any(Number),
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    command: expect.stringMatching(/^[0-9a-f]{8}$/),
  });
  expect(archives).toEqual([archive('edited', 3), archive('discarded', 1)]);
  const [edits, discard] = archives.map(({ address }) => address);
  for (const original of Object.values(originals)) expect(original.startsWith(edits ?? '-')).toBe(true);
  expect(discarded[0]?.startsWith(discard ?? '-')).toBe(true);
  expect(archives[0]?.bytes).toBeGreaterThan(300);
  const later = await listArchives(target, { sinceMs: Date.now() + hourMs, signal: never });
  expect(later).toEqual([]);
});

test('a discard of many files stays in the list beside many edits, and is restored as one', async () => {
  const { office, target, put } = await opened('many-archives');
  const today = new Date().toISOString().slice(0, 10);
  const ids = await office.park(Array.from({ length: 101 }, () => ({})));
  const { archives: files } = await discardFrom({ ...office, target }, { filter: { id: ids } });
  expect(files).toHaveLength(2);
  for (let at = 0; at < 40; at += 1) await put(`edited/${today}/090000-0a1b2c3d-letter-${at}.jsonl`);
  for (let at = 0; at < 3; at += 1) await put(`edited/${today}/letter-${at}-090000.jsonl`);
  const archives = await listArchives(target, { sinceMs: Date.now() - hourMs, signal: never });
  const lines = archives.map(({ what, files: count }) => `${what} ${count}`).sort();
  expect(lines).toEqual(['discarded 2', 'edited 3', 'edited 40']);
  const { address = '' } = archives.find(({ what }) => what === 'discarded') ?? {};
  const input = objectInput(address, target);
  const { imported } = await importLetters(target, {
    file: 'letters.jsonl',
    lines: () => linesOf(input ?? expect.fail(address)),
    audit: office.audit,
    signal: never,
    dryRun: false,
  });
  expect(imported).toBe(101);
});

test('without a bucket nothing is listed', async () => {
  const { target } = await opened('no-archives');
  const options = { sinceMs: 0, signal: never };
  await expect(listArchives({ ...target, bucket: async () => undefined }, options)).rejects.toThrow(
    /^The bucket is not known/,
  );
});
