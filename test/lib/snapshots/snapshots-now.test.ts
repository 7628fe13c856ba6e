import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { loadIntegrations } from '../../../lib/deployment/integrations.ts';
import { type AcceptedEvent, acceptedEvents, snapshotsNow } from '../../../lib/snapshots/snapshots-now.ts';
import { examine } from '../../../lib/snapshots/examine.ts';
import { acceptedKeyOf, linesKey, stateKey } from '../../../lib/snapshots/record.ts';
import { linesOfState } from '../../../lib/snapshots/state-lines.ts';
import { bucketFolder } from './bucket-folder.ts';
import { csvOf, enrollment, entriesOfSis, result, smallSis, zipOf } from './sis.ts';
import { stateLine } from './state-line.ts';
import { stateRows } from './state-rows.ts';

const integrations = await loadIntegrations();
const folders: string[] = [];
let bucket: ReturnType<typeof bucketFolder>;
let dropped = 0;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'accepted-events-'));
  folders.push(folder);
  bucket = bucketFolder(folder);
  dropped = 0;
  bucket.write(
    'snapshot-settings.json',
    JSON.stringify({
      roles: { student: 110, teacher: 109 },
      functions: [
        'enrollment-create',
        'enrollment-remove',
        'grade-object-create',
        'grade-push',
        'news-item-create',
      ],
    }),
  );
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Drops a file, which is accepted; `sending`: what it says is not all sent yet. */
const drop = async (key: string, content: string | Buffer, more: { sending?: true } = {}) => {
  bucket.write(key, content);
  dropped += 1;
  const droppedMs = Date.parse('2026-11-23T02:00:00Z') + dropped * 60_000;
  const services = { store: bucket.store, integrations, limits: { eventsPerPart: 100 } };
  const examined = await examine({ key, etag: '', droppedMs }, { services, startedAt: 'now' });
  if (examined.is === 'over') throw new Error(examined.message);
  bucket.write(acceptedKeyOf(key), JSON.stringify({ ...examined.accepted, ...more }));
  return { id: examined.id, droppedMs };
};

const mapping = {
  messages: [
    {
      function: 'enrollment-create',
      data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { from: 'ROLE', values: { S: 110 } } },
      key: ['COURSE', 'LOGIN'],
    },
    {
      function: 'news-item-create',
      when: { NEWS: ['yes'] },
      data: {
        orgUnitCode: 'COURSE',
        title: { value: 'Hi' },
        'body.text': 'NEWS',
        startDate: { value: '2026-12-01T08:00:00Z' },
      },
      key: ['COURSE'],
    },
  ],
};

const now = async (only?: AcceptedEvent['function'][]): Promise<string[]> => {
  const events: string[] = [];
  for await (const { snapshotId, function: name, data } of acceptedEvents(
    bucket.store,
    await snapshotsNow(bucket.store),
    only,
  ))
    events.push(`${snapshotId.slice(0, 13)} ${name} ${JSON.stringify(Object.values(data))}`);
  return events.sort();
};

describe('what the snapshots say now', () => {
  test('is nothing before the first is accepted', async () => {
    expect(await now()).toEqual([]);
  });

  test('is what the last zip has: enrollments that hold, and grades', async () => {
    await drop('snapshots/export.zip', await zipOf(entriesOfSis(smallSis())));
    const sis = smallSis();
    sis.enrollments = [
      enrollment('bio', 'ada', { role: 'teacher' }),
      enrollment('art', 'ada', { beginDate: '2027-01-01' }),
    ];
    sis.results = [result('essay', 'ben', '3', { comment: 'Ünder the line' })];
    const { id, droppedMs } = await drop('snapshots/export.zip', await zipOf(entriesOfSis(sis)));
    expect(await now()).toEqual([
      '20261123T0202 enrollment-create ["BIO-101","ada",109]',
      '20261123T0202 grade-push ["BIO-101","Essay","ben",{"type":"numeric","points":3,"outOf":20},"Ünder the line"]',
    ]);
    expect(await now(['enrollment-create'])).toHaveLength(1);
    expect(await snapshotsNow(bucket.store)).toMatchObject([{ id, droppedMs, isSending: false }]);
  });

  test('is also what the last table of each name has, by the mapping that it was accepted by', async () => {
    bucket.write('snapshot-mapping.json', JSON.stringify(mapping));
    const columns = ['COURSE', 'LOGIN', 'ROLE', 'NEWS'];
    const row = (LOGIN: string) => ({ COURSE: 'BIO', LOGIN, ROLE: 'S', NEWS: 'yes' });
    await drop('snapshots/one.csv', csvOf(columns, [row('ada')]));
    await drop('snapshots/two.csv', csvOf(columns, [row('ben')]), { sending: true });
    await drop('snapshots/one.csv', csvOf(columns, [row('ada'), row('cleo')]));
    // It may be another one by now.
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages: mapping.messages.slice(1) }));
    expect(await now()).toEqual([
      '20261123T0202 enrollment-create ["BIO","ben",110]',
      '20261123T0203 enrollment-create ["BIO","ada",110]',
      '20261123T0203 enrollment-create ["BIO","cleo",110]',
    ]);
    expect((await snapshotsNow(bucket.store)).map(({ isSending }) => isSending)).toEqual([false, true]);
  });

  test('leaves out a snapshot whose state is gone', async () => {
    const { id } = await drop('snapshots/export.zip', await zipOf(entriesOfSis(smallSis())));
    expect(await now()).toHaveLength(7);
    rmSync(bucket.at(stateKey(id)));
    expect(await now()).toEqual([]);
  });

  test('is nothing of one that is empty', async () => {
    bucket.write('snapshot-mapping.json', JSON.stringify(mapping));
    const { id } = await drop('snapshots/one.csv', csvOf(['COURSE', 'LOGIN', 'ROLE', 'NEWS'], []));
    expect(await stateRows(bucket.at(stateKey(id)))).toEqual([]);
    expect(await now()).toEqual([]);
    asLines(id, '');
    expect(await now()).toEqual([]);
  });

  test('cannot be read where it is damaged', async () => {
    const { id } = await drop('snapshots/export.zip', await zipOf(entriesOfSis(smallSis())));
    const path = bucket.at(stateKey(id));
    writeFileSync(path, readFileSync(path).subarray(0, -20));
    await expect(now()).rejects.toThrow('No magic bytes found at end of file');
    asLines(id, gzipSync('2\tkey\t{}').subarray(0, -9));
    await expect(now()).rejects.toThrow('unexpected end of file');
    asLines(id, 'no gzip');
    await expect(now()).rejects.toThrow('incorrect header check');
  });

  test('is also what a version before this one accepted, as lines', async () => {
    const { id } = await drop('snapshots/export.zip', await zipOf(entriesOfSis(smallSis())));
    const data = { orgUnitCode: 'BIO-101', userName: 'ada', roleId: 110 };
    asLines(
      id,
      gzipSync(
        ['2', '3'].map((kind) => `${stateLine(kind, 'a', { data, pending: kind === '3' })}\n`).join(''),
      ),
    );
    expect(await now()).toEqual(['20261123T0201 enrollment-create ["BIO-101","ada",110]']);
  });
});

/** As a version before this one kept it. */
const asLines = (id: string, state: string | Buffer): void => {
  const accepted = JSON.parse(readFileSync(bucket.at(acceptedPath()), 'utf8'));
  bucket.write(acceptedPath(), JSON.stringify({ ...accepted, holds: 'resources' }));
  bucket.write(linesKey(id), state);
};

const acceptedPath = (): string =>
  ['snapshots/export.zip', 'snapshots/one.csv']
    .map(acceptedKeyOf)
    .find((key) => existsSync(bucket.at(key))) ?? '';

describe('the lines of a state', () => {
  test('are whole wherever its pieces end', async () => {
    const path = join(folders[0] ?? '', 'lines');
    const text = Array.from({ length: 10_000 }, (_, at) => `2\tk${at}\t"${'ü'.repeat(at % 40)}"\n`).join('');
    writeFileSync(path, gzipSync(text));
    const lines = await Array.fromAsync(linesOfState(createReadStream(path, { highWaterMark: 7 })));
    expect(`${lines.flat().join('\n')}\n`).toBe(text);
    expect(gunzipSync(readFileSync(path)).toString()).toBe(text);
  });

  test('are read no further than is asked for', async () => {
    const path = join(folders[0] ?? '', 'lines');
    const packed = createReadStream(path, { highWaterMark: 16 });
    for await (const _ of linesOfState(packed)) break;
    await expect.poll(() => packed.closed).toBe(true);
    expect(packed.bytesRead).toBeLessThan(readFileSync(path).length);
  });
});
