import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MessageFailure } from '../../../lib/message/failure.ts';
import { safe } from '../../../lib/message/safe-text.ts';
import type { ExportsQuery } from '../../../lib/option.ts';
import { readAcceptedExports } from '../../../lib/options/snapshots/accepted-exports.ts';
import { feedFor } from '../../../lib/options/snapshots/feed.ts';
import { acceptedKeyOf, stateKey } from '../../../lib/options/snapshots/state/record.ts';
import { type SeenFunction, snapshotsNow } from '../../../lib/options/snapshots/state/snapshots-now.ts';
import type { Platform } from '../../../lib/platform/client/client.ts';
import { type SqlEngine, withSqlEngine } from '../../../lib/runtime/files/tables/engine.ts';
import { filled } from '../../lib/crosswalk/filled.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../temporary-folder.ts';
import { bucketFolder } from './bucket-folder.ts';
import { importedOf } from './imports.ts';
import { csvOf, enrollment, entriesOfSis, result, smallSis, zipOf } from './sis.ts';
import { stateRows } from './state-rows.ts';

let bucket: ReturnType<typeof bucketFolder>;
let dropped = 0;
const newBucket = (): void => {
  bucket = bucketFolder(temporaryFolder());
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
};
afterAll(removeTemporaryFolders);

/** Drops a file, which is accepted; `sending`: what it says is not all sent yet. */
const drop = async (key: string, content: string | Buffer, more: { sending?: true } = {}) => {
  dropped += 1;
  const droppedMs = Date.parse('2026-11-23T02:00:00Z') + dropped * 60_000;
  const { id, accepted } = await importedOf(bucket, { key, content, droppedMs, isApproved: true });
  bucket.write(acceptedKeyOf(feedFor(key)), JSON.stringify({ ...accepted, ...more }));
  return { id, droppedMs };
};

const columns = ['COURSE', 'LOGIN', 'ROLE', 'NEWS'];
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

/** What the crosswalk was asked for, and how it refuses all codes but one, whose move an operator has accepted. */
let asked: unknown[] = [];
const hasMoved = (): Error => new MessageFailure('ambiguous-id', safe`It has moved`);
let refusal = hasMoved;
const reading = (db: SqlEngine, folder: string): Omit<ExportsQuery, 'functions' | 'insert'> => ({
  db,
  folder,
  store: bucket.store,
  platform: {} as Platform,
  crosswalk: {
    platformIds: async ([sisId], { orgUnitId, platform }) => {
      asked.push({ ...sisId, orgUnitId, platform });
      if (sisId?.value === 'NEW') return {};
      throw refusal();
    },
  },
});

type Row = [fn: string, orgUnitId: number | null, userId: number | null, data: string, droppedMs: number];
const rows = (functions: SeenFunction[]): Promise<Row[]> =>
  withSqlEngine(async (db, folder) => {
    await db.run(
      'CREATE TABLE found (fn VARCHAR, org_unit_id BIGINT, user_id BIGINT, data VARCHAR, dropped_ms BIGINT)',
    );
    const insert = 'INSERT INTO found SELECT fn, org_unit_id, user_id, data, $1 FROM said';
    await readAcceptedExports({ ...reading(db, folder), functions, insert });
    return (await Array.fromAsync(db.rows<Row>('FROM found'))).flat();
  });

const now = async (functions: SeenFunction[] = ['enrollment-create', 'grade-push']): Promise<string[]> =>
  (await rows(functions))
    .map(([name, , , data, droppedMs]) => {
      const at = new Date(droppedMs).toISOString().slice(0, 16).replace(/[-:]/g, '');
      return `${at.slice(0, 13)} ${name} ${JSON.stringify(Object.values(JSON.parse(data)))}`;
    })
    .sort();

describe('what the snapshots say now', () => {
  beforeEach(newBucket);

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

  test('is also what the last table of each name has, by the mapping that it was accepted by, and nothing of one that is empty', async () => {
    bucket.write('snapshot-mapping.json', JSON.stringify(mapping));
    const row = (LOGIN: string) => ({ COURSE: 'BIO', LOGIN, ROLE: 'S', NEWS: 'yes' });
    const { id } = await drop('snapshots/one.csv', csvOf(columns, []));
    expect(await stateRows(bucket.at(stateKey(id)))).toEqual([]);
    expect(await now()).toEqual([]);
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

  test('cannot be read where it is damaged, and is nothing where it is gone', async () => {
    const { id } = await drop('snapshots/export.zip', await zipOf(entriesOfSis(smallSis())));
    const path = bucket.at(stateKey(id));
    const whole = readFileSync(path);
    expect(await now()).toHaveLength(7);
    writeFileSync(path, whole.subarray(0, -20));
    await expect(now()).rejects.toThrow('No magic bytes found at end of file');
    rmSync(path);
    expect(await now()).toEqual([]);
  });
});

// They share one table, as an import costs as much for one of them as for all.
describe('a name of the SIS', () => {
  const signs = ["'); DROP TABLE said; --", '"$1"', '\\"x', "it's $2", 'ü%_'];
  const quoting = "x' OR '1'='1";
  beforeAll(async () => {
    newBucket();
    bucket.write(
      ...filled('orgUnitCode', [
        ['BIO', 2001],
        ['GONE', []],
        ['TWO', [2002, 2003]],
        ['BOTH', 2004],
        ['OLD', 2001, 1999],
        ['NEW', 2002, 1998],
        [quoting, 2006],
      ]),
    );
    const [key, other] = filled('orgUnitCode', [['BOTH', 2005]]);
    bucket.write(key.replace('platform', 'file'), other);
    const users = signs.map((name, at): [string, number] => [name, 401 + at]);
    bucket.write(...filled('userName', [['ada', 301], ...users]));
    bucket.write('snapshot-mapping.json', JSON.stringify(mapping));
    const row = (COURSE: string, LOGIN: string) => ({ COURSE, LOGIN, ROLE: 'S', NEWS: '' });
    const table = [
      ...['BIO', 'GONE', 'TWO', 'BOTH', 'OLD', 'NEW'].map((code) => row(code, 'ada')),
      row('BIO', 'nobody'),
      ...signs.map((name) => row(quoting, name)),
    ];
    await drop('snapshots/one.csv', csvOf(columns, table));
  });
  beforeEach(() => {
    asked = [];
    refusal = hasMoved;
  });

  const idsOf = async (...names: [code: string, login: string][]) => {
    const found = new Map(
      (await rows(['enrollment-create'])).map(([, orgUnitId, userId, data]) => {
        const { orgUnitCode, userName } = JSON.parse(data);
        return [`${orgUnitCode} ${userName}`, [orgUnitId, userId]];
      }),
    );
    return names.map((name) => found.get(name.join(' ')));
  };

  test('stands for what the crosswalk knows for sure', async () => {
    expect(
      await idsOf(['BIO', 'ada'], ['BIO', 'nobody'], ['GONE', 'ada'], ['TWO', 'ada'], ['BOTH', 'ada']),
    ).toEqual([
      [2001, 301],
      [2001, null],
      [null, 301],
      [null, 301],
      [null, 301],
    ]);
  });

  test('that has moved stands for nothing until an operator accepts that', async () => {
    expect(await idsOf(['OLD', 'ada'], ['NEW', 'ada'])).toEqual([
      [null, 301],
      [2002, 301],
    ]);
    const code = {
      field: 'orgUnitCode',
      platformField: 'orgUnitId',
      orgUnitId: undefined,
      platform: expect.any(Object),
    };
    for (const value of ['OLD', 'NEW']) expect(asked).toContainEqual({ ...code, value });
    expect(asked).toHaveLength(2);
  });

  test('that has moved stands for nothing if the platform does not know it', async () => {
    refusal = () => new MessageFailure('unknown-id', safe`No such code`);
    expect(await idsOf(['OLD', 'ada'])).toEqual([[null, 301]]);
  });

  test.each([
    new MessageFailure('throttled', safe`Slowly`),
    new MessageFailure('unavailable', safe`Later`),
    new TypeError('a defect'),
  ])('that has moved is not decided if the platform could not be asked: %s', async (refused) => {
    refusal = () => refused;
    await expect(idsOf(['OLD', 'ada'])).rejects.toThrow(refused.message);
  });

  test('is no part of a statement, whatever it is', async () => {
    expect(await idsOf(...signs.map((name): [string, string] => [quoting, name]))).toEqual(
      signs.map((_, at) => [2006, 401 + at]),
    );
  });
});
