import { PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { comparedWith, originalOf } from '../../../../../lib/desk/messages/edit/original.ts';
import { eventBody, type Office, officesForTests } from '../../cli/office.ts';
import { editAt } from '../operator.ts';

const offices = officesForTests();
const put = async ({ target, bucket }: Office, Key: string, Body: string) => {
  await (await target.s3()).send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
  return `s3://${bucket}/${Key}`;
};

test('the original of an edited letter is read back to the byte', async () => {
  const office = await offices.open();
  const body = `${eventBody()} `;
  const [id = ''] = await office.park([{ body }]);
  const { originals } = await editAt(office, { filter: { id: [id] } });
  expect(await originalOf(office.target, originals[id] ?? '')).toEqual({ body });
});

test('nothing but an original is read, whatever address a message names', async () => {
  const office = await offices.open();
  const secret = JSON.stringify({ body: 'secret', attributes: {}, source: '' });
  const missing = { missing: expect.stringContaining('is not among the originals') };
  for (const key of [
    'letters/grade-push/one.jsonl',
    'audit/2026/01/31/one.jsonl',
    'edited/one.jsonl',
    'edited/2026-01-31/deep/one.jsonl',
    'edited/2026-01-31/one.json',
    'edited/2026-01-31/../one.jsonl',
    'edited/2026-01-31/one.jsonl?versionId=1',
    'edited/2026-1-31/one.jsonl',
  ]) {
    const address = `s3://${office.bucket}/${key}`;
    if (/^[\w/.-]+$/.test(key) && !key.includes('..')) await put(office, key, secret);
    expect(await originalOf(office.target, address), key).toEqual(missing);
  }
  const address = await put(office, 'edited/2026-01-31/one.jsonl', secret);
  expect(await originalOf(office.target, address)).toEqual({ body: 'secret' });
  for (const other of [
    address.replace(office.bucket, 'another'),
    address.replace('s3:', 'https:'),
    `x${address}`,
    '',
  ])
    expect(await originalOf(office.target, other), other).toEqual(missing);
});

test('why there is none is told', async () => {
  const office = await offices.open();
  const address = await put(office, 'edited/2026-01-31/broken.jsonl', 'no letter');
  expect(await originalOf(office.target, address)).toEqual({ missing: 'the file is not a letter' });
  expect(await originalOf(office.target, address.replace('broken', 'gone'))).toEqual({
    missing: 'NoSuchKey',
  });
  expect(await originalOf({ ...office.target, bucket: async () => undefined }, address)).toEqual({
    missing: 'the bucket is not known: set SIS_RELAY_BUCKET',
  });
});

test('a message is compared with its original, and nobody reads what is personal in either', () => {
  const [before, after] = [
    { userId: 301, comments: 'Dear Jane', grade: { type: 'numeric', points: 12 } },
    { userId: 302, comments: 'Dear Joan', grade: { type: 'numeric', points: 7 }, note: 'late' },
  ].map((data) => JSON.stringify({ id: 'event-1', data }));
  const { difference, ...whole } = comparedWith(before ?? '', after ?? '');
  expect(difference).toEqual([
    { field: 'data.userId', before: 301, after: 302 },
    { field: 'data.comments', before: '•••', after: '•••' },
    { field: 'data.grade.points', before: '•••', after: '•••' },
    { field: 'data.note', before: undefined, after: '•••' },
  ]);
  expect(whole).toEqual({
    before: {
      id: 'event-1',
      data: { userId: 301, comments: '•••', grade: { type: 'numeric', points: '•••' } },
    },
    after: {
      id: 'event-1',
      data: { userId: 302, comments: '•••', grade: { type: 'numeric', points: '•••' }, note: '•••' },
    },
  });
  expect(comparedWith('{"Jane', '{"data":"Jane"}')).toEqual({
    difference: [
      { field: 'the whole message', before: '•••', after: undefined },
      { field: 'data', before: undefined, after: '•••' },
    ],
    before: undefined,
    after: { data: '•••' },
  });
});
