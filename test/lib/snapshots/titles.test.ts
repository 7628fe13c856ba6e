import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { loadIntegrations } from '../../../lib/deployment/integrations.ts';
import { examine } from '../../../lib/snapshots/examine.ts';
import { acceptedKeyOf, changesKey, reportKey } from '../../../lib/snapshots/record.ts';
import { bucketFolder } from './bucket-folder.ts';
import { entriesOfSis, result, type Sis, smallSis, zipOf } from './sis.ts';

const integrations = await loadIntegrations();
const folders: string[] = [];
let bucket: ReturnType<typeof bucketFolder>;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'titles-'));
  folders.push(folder);
  bucket = bucketFolder(folder);
  bucket.write('snapshot-settings.json', JSON.stringify({ roles: { student: 110, teacher: 109 } }));
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Drops an export on a day, which is accepted: what is sent of line items and grades, and what is refused. */
const drop = async (day: number, titles: Record<string, string>, points: Record<string, string> = {}) => {
  const key = 'snapshots/export.zip';
  const sis: Sis = {
    ...smallSis(),
    lineItems: Object.entries(titles).map(([sourcedId, title]) => ({
      ...{ sourcedId, title, classSourcedId: 'c-bio', resultValueMax: '20' },
    })),
    results: Object.entries(points).map(([item, score]) => result(item.slice(2), 'ada', score)),
  };
  bucket.write(key, await zipOf(entriesOfSis(sis)));
  const droppedMs = Date.parse('2026-09-01T02:00:00Z') + day * 86_400_000;
  const services = { store: bucket.store, integrations, limits: { eventsPerPart: 100 } };
  const examined = await examine({ key, etag: '', droppedMs }, { services, startedAt: 'now' });
  if (examined.is === 'over') throw new Error(examined.message);
  bucket.write(acceptedKeyOf(key), JSON.stringify(examined.accepted));
  const packed = readFileSync(bucket.at(changesKey(examined.id)));
  const lines = packed.length === 0 ? [] : `${gunzipSync(packed)}`.trimEnd().split('\n');
  const sent = lines
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type.includes('grade'))
    .map(({ type, data: { gradeObjectName, gradeObjectFormerNames, name, grade } }) => ({
      ...{ [type.split('.')[1]]: gradeObjectName ?? name },
      ...(gradeObjectFormerNames && { formerly: gradeObjectFormerNames }),
      ...(gradeObjectName && name && { name }),
      ...(grade && { points: grade.points }),
    }));
  return {
    sent,
    refused: readFileSync(bucket.at(reportKey(examined.id)), 'utf8')
      .split('\n')
      .slice(1, -1),
  };
};
const created = ['HW1', 'HW2'].map((name) => ({ 'grade-object-create': name }));

describe('a line item that gets another title', () => {
  test('has its grades go to the grade object of either title, as nobody knows whether the platform took the new one', async () => {
    expect((await drop(1, { 'l-1': 'HW1', 'l-2': 'HW2' })).sent).toEqual(created);
    expect((await drop(2, { 'l-1': 'HW1', 'l-2': 'HW3' }, { 'l-2': '5' })).sent).toEqual([
      { 'grade-object-update': 'HW2', name: 'HW3' },
      { 'grade-push': 'HW3', formerly: ['HW2'], points: 5 },
    ]);
    const third = await drop(3, { 'l-1': 'HW1', 'l-2': 'HW4' }, { 'l-2': '6' });
    expect(third.sent).toEqual([
      { 'grade-object-update': 'HW3', formerly: ['HW2'], name: 'HW4' },
      { 'grade-push': 'HW4', formerly: ['HW2', 'HW3'], points: 6 },
    ]);
    const later = await drop(60, { 'l-1': 'HW1', 'l-2': 'HW4' }, { 'l-2': '7' });
    expect(later.sent).toEqual([{ 'grade-push': 'HW4', points: 7 }]);
  });

  test('keeps the former one from others, so that no grade comes to it by the title of another', async () => {
    await drop(1, { 'l-1': 'HW1', 'l-2': 'HW2' });
    await drop(2, { 'l-1': 'HW1', 'l-2': 'HW3' });
    const third = await drop(3, { 'l-1': 'HW2', 'l-2': 'HW3' }, { 'l-1': '9' });
    expect(third.sent).toEqual([{ 'grade-push': 'HW1', points: 9 }]);
    expect(third.refused).toEqual([
      expect.stringContaining('another line item of the class had this title in the last 40 days'),
    ]);
    expect((await drop(41, { 'l-1': 'HW2', 'l-2': 'HW3' })).sent).toEqual([]);
    expect((await drop(43, { 'l-1': 'HW2', 'l-2': 'HW3' })).sent).toEqual([
      { 'grade-object-update': 'HW1', name: 'HW2' },
    ]);
  });

  test('may have the former one again', async () => {
    await drop(1, { 'l-1': 'HW1', 'l-2': 'HW2' });
    await drop(2, { 'l-1': 'HW1', 'l-2': 'HW3' });
    const third = await drop(3, { 'l-1': 'HW1', 'l-2': 'HW2' }, { 'l-2': '8' });
    expect(third.sent).toEqual([
      { 'grade-object-update': 'HW3', name: 'HW2' },
      { 'grade-push': 'HW2', formerly: ['HW3'], points: 8 },
    ]);
  });
});
