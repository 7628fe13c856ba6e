import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { CreateBucketCommand, DeleteObjectCommand } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, test } from 'vitest';
import type { CrosswalkKind, CrosswalkSource } from '../../lib/crosswalk/kinds.ts';
import { bucketOf, type CrosswalkTable, createCrosswalkTable } from '../../lib/crosswalk/table.ts';
import { waitSeconds } from '../../lib/message/backoff.ts';
import { compareListed, writeBuckets } from '../../lib/options/crosswalk-fill/compare.ts';
import { atMost } from '../../lib/options/crosswalk-fill/files.ts';
import { type FillAnswer, fillJob } from '../../lib/options/crosswalk-fill/fill.ts';
import { createFillServices } from '../../lib/options/crosswalk-fill/fill-services.ts';
import { fillSettings } from '../../lib/options/crosswalk-fill/fill-settings.ts';
import { heldIn, heldKey } from '../../lib/options/crosswalk-fill/held-names.ts';
import { createQuickDynamoDb } from '../../lib/runtime/aws/dynamodb-quick.ts';
import { readSettings } from '../../lib/runtime/aws/setting.ts';
import { localClient } from '../local/aws/aws.ts';
import { addCrosswalkTable } from '../local/aws/tables.ts';
import { eventOf } from '../local/examples.ts';
import { answerOf, executionHere, jobServicesHere } from '../local/in-this-process.ts';
import { durableOptionsOf } from '../local/stack.ts';
import { useOf } from '../peak-memory.ts';
import { invalidToken, jobForTests } from './job-for-tests.ts';

const name = 'crosswalk-fill';
let table: CrosswalkTable;
let tries = 0;
const bucket = () => `crosswalk-${tries}`;
const job = jobForTests(name, {
  settings: () => ({
    WAIT_MINIMUM_SECONDS: '1',
    WAIT_MAXIMUM_SECONDS: '1',
    WAIT_LONGEST_HOURS: '1',
    CROSSWALK_TABLE: bucket(),
    CROSSWALK_BUCKET: bucket(),
  }),
  bucket,
});
const { stack, controls, settings, logged, metrics, put, textAt, jsonAt, inProcess } = job;

beforeEach(async () => {
  tries += 1;
  const { dynamodb: url } = stack().description;
  await addCrosswalkTable(url, bucket());
  await stack().s3.send(new CreateBucketCommand({ Bucket: bucket() }));
  const dynamodb = createQuickDynamoDb(localClient(url));
  table = createCrosswalkTable({ dynamodb, table: bucket(), nowMs: Date.now });
});

const containers = new Map<string, ReturnType<typeof createFillServices>>();
const servicesBy = async (given: Record<string, string>) => ({
  ...(await createFillServices(readSettings(fillSettings, given))),
  ...jobServicesHere(stack(), bucket()),
});

/** The function in this process. @throws Error where the execution fails. */
const fill = async (event: unknown = {}, more: Record<string, string> = {}): Promise<FillAnswer> => {
  const given = { ...settings(), ...more };
  const key = JSON.stringify(given);
  const services = containers.get(key) ?? servicesBy(given);
  containers.set(key, services);
  return answerOf(
    await executionHere(
      stack(),
      fillJob(() => services),
      { name, event },
    ),
  );
};

/** What a name stands for in the table. */
const entryOf = async (kind: CrosswalkKind, source: CrosswalkSource, text: string) => {
  const bucket = bucketOf(kind, source, text);
  return (await table.namesIn([bucket])).get(bucket)?.get(text);
};
const codeOf = (code: string) => entryOf('orgUnitCode', 'platform', code);
const inFile = (code: string) => entryOf('orgUnitCode', 'file', code);
const userOf = (text: string) => entryOf('userName', 'file', text);

const remove = (key: string) => stack().s3.send(new DeleteObjectCommand({ Bucket: bucket(), Key: key }));
const users = (body: string | Uint8Array) => put('crosswalk/users.csv', body);
const report = () => textAt('crosswalk/report.csv');
/** Which names are held, and why, as operators are told. */
const retained = async () => heldIn(await jsonAt(heldKey)).held;
const of = ({ fills }: FillAnswer, kind: string, source: string) =>
  fills.find((each) => each.kind === kind && each.source === source);
/** Enough org units that one of them is less than 5 percent. */
const many = (more: object[] = []) =>
  controls().seed({
    orgUnits: [
      ...Array.from({ length: 60 }, (_, at) => ({ orgUnitId: 7000 + at, code: `MANY-${at}` })),
      ...more,
    ],
  });
const lists = async () => (await controls().requests()).filter(({ path }) => path.endsWith('/orgstructure/'));

describe('org units', () => {
  test('are found by their codes, page by page from where the list breaks off; those without a code are skipped, and those with the same one make it ambiguous; then those that did not change are not written again, those that are gone are not known any more, and those of a half list stay as they were, which is told, unless the share is configured', async () => {
    await many([
      { orgUnitId: 7101, code: '' },
      { orgUnitId: 7102, code: 'TWICE' },
      { orgUnitId: 7103, code: 'TWICE' },
      { orgUnitId: 7100, code: 'GONE' },
    ]);
    await controls().settings({ pageSize: 20 });
    await controls().fault({ status: 503 }, { path: 'orgstructure/$', times: 1 });
    // Some of them meet the pace; the last step is repeated.
    const refusal = { type: 'AccessDeniedException', status: 400 };
    await controls().awsFault('dynamodb', { action: 'UpdateItem', times: 9, ...refusal });
    const answer = await fill();
    expect(answer).toMatchObject({
      outcome: 'filled',
      message: 'The crosswalk is filled from the platform’s list of org units.',
      withoutUsers: true,
      files: [],
      fills: [
        { kind: 'orgUnitCode', source: 'platform', names: 68, added: 68, removed: 0, changed: 0, moved: 0 },
      ],
    });
    expect(await codeOf('BIO-101')).toEqual({ ids: [2001] });
    expect(await codeOf('MANY-59')).toEqual({ ids: [7059] });
    expect(await codeOf('bio-101')).toBeUndefined();
    expect(await codeOf('TWICE')).toEqual({ ids: [7102, 7103] });
    expect(await codeOf('')).toBeUndefined();
    // Four pages, and the one that was not answered.
    expect(await lists()).toHaveLength(5);
    expect((await table.fills()).get('orgUnitCode/platform')).toMatchObject({ names: 68 });
    expect(metrics('CrosswalkFills')).toEqual([
      ['filled', 1],
      ['held', 0],
    ]);
    for (const source of ['platform', 'file'])
      expect(await jsonAt(`crosswalk-state/filled/moved-${source}.json`)).toEqual({
        codes: [],
      });

    const writtenMs = await table.writtenMs(bucketOf('orgUnitCode', 'platform', 'BIO-101'));
    await controls().reset();
    await many([{ orgUnitId: 7001, code: 'NEW' }]);
    expect(of(await fill(), 'orgUnitCode', 'platform')).toMatchObject({
      names: 66,
      added: 1,
      removed: 3,
      outcome: 'changed',
    });
    expect([await codeOf('NEW'), await codeOf('GONE')]).toEqual([{ ids: [7001] }, undefined]);
    expect(await table.writtenMs(bucketOf('orgUnitCode', 'platform', 'BIO-101'))).toBe(writtenMs);

    await controls().reset();
    const half = await fill();
    expect(half).toMatchObject({
      outcome: 'held',
      message: expect.stringContaining(
        'of 66 names (orgUnitCode, platform) would change: 60 would be removed',
      ),
      fills: [{ outcome: 'held', names: 66, removed: 60 }],
    });
    expect(await codeOf('MANY-2')).toEqual({ ids: [7002] });
    expect(logged().join('\n')).toContain('the crosswalk is not updated');
    expect(metrics('CrosswalkFills').slice(-2)).toEqual([
      ['filled', 0],
      ['held', 1],
    ]);
    const [held, ...others] = await retained();
    expect([held, others]).toMatchObject([
      { of: 'orgUnitCode/platform', problem: expect.stringContaining('60 would be removed') },
      [],
    ]);
    await fill();
    expect(await retained()).toEqual([held]);
    expect(await fill({}, { CROSSWALK_MAXIMUM_REMOVALS_PERCENT: '95' })).toMatchObject({ outcome: 'filled' });
    expect(await retained()).toEqual([]);
    expect(await codeOf('MANY-2')).toBeUndefined();
  });

  test('that may not be listed fail the fill, and name the permission', async () => {
    await controls().seed({ roles: [{ roleId: 101, permissions: [] }] });
    await expect(fill()).rejects.toThrow(/The org units could not be listed: .*SeeOrgUnits/);
  });
});

test('a code that moves to another org unit is told, and what it was stays until an operator accepts it; not one that is back again', async () => {
  const found: (readonly unknown[])[] = [];
  const reports: unknown[] = [];
  const codes = ['BIO-101', 'BACK', 'COMES-BACK', 'AMBIGUOUS'];
  const listed = async (...ids: [number, string][]) => {
    await controls().reset();
    await many(ids.map(([orgUnitId, code]) => ({ orgUnitId, code })));
    reports.push((of(await fill(), 'orgUnitCode', 'platform') as { moved: number }).moved);
    found.push(await Promise.all(codes.map(codeOf)));
  };
  await listed([7300, 'BACK'], [7100, 'COMES-BACK'], [7400, 'AMBIGUOUS']);
  const others: [number, string][] = [
    [2001, 'BIO-101-OLD'],
    [7002, 'BIO-101'],
  ];
  await listed(...others, [7301, 'BACK'], [7400, 'AMBIGUOUS'], [7401, 'AMBIGUOUS']);
  expect(logged().join('\n')).toContain('codes have moved to other org units');
  expect(metrics('CrosswalkMoved').at(-1)?.[1]).toBe(2);
  const back = { code: 'BACK', ids: [7301], was: [7300], sinceMs: expect.any(Number) };
  const moved = { code: 'BIO-101', ids: [7002], was: [2001], sinceMs: expect.any(Number) };
  expect(await jsonAt('crosswalk-state/filled/moved-platform.json')).toEqual({
    codes: [moved, back],
  });
  const last: [number, string][] = [...others, [7300, 'BACK'], [7102, 'COMES-BACK'], [7401, 'AMBIGUOUS']];
  await listed(...last);
  expect(reports).toEqual([0, 2, 3]);
  const moves = { ids: [7002], was: [2001] };
  expect(found).toEqual([
    [{ ids: [2001] }, { ids: [7300] }, { ids: [7100] }, { ids: [7400] }],
    [moves, { ids: [7301], was: [7300] }, undefined, { ids: [7400, 7401], was: [7400] }],
    // Told also where it was gone in between, or ambiguous.
    [moves, { ids: [7300] }, { ids: [7102], was: [7100] }, { ids: [7401], was: [7400] }],
  ]);

  await table.accept('BIO-101', moves);
  expect(of(await fill(), 'orgUnitCode', 'platform')).toMatchObject({ moved: 2, changed: 1 });
  expect(await codeOf('BIO-101')).toEqual({ ids: [7002] });
  expect(metrics('CrosswalkMoved').at(-1)?.[1]).toBe(2);
  expect(of(await fill(), 'orgUnitCode', 'platform')).toMatchObject({ outcome: 'same' });
});

describe('users.csv', () => {
  const numberOf = (text: string) => entryOf('orgDefinedId', 'file', text);

  test('tells user names and numbers, in columns of any order and with any delimiter, and is read again where it is another', async () => {
    const rows = '0042;301;x;lena\n;302;y;"liam; jr."\n0043;303;z;\n;304;;ä\n;305;;ä\n;304;;ä\n';
    await users(`\ufefforgDefinedId;userId;note;userName\n${rows}`);
    await put('crosswalk/a/users.csv', '');
    await put('crosswalk/user.csv', '');
    const answer = await fill();
    expect(answer).toMatchObject({
      message: 'The crosswalk is filled from the platform’s list of org units, crosswalk/users.csv.',
      unread: ['crosswalk/a/users.csv', 'crosswalk/user.csv'],
      withoutUsers: false,
    });
    await remove('crosswalk/a/users.csv');
    await remove('crosswalk/user.csv');
    expect(answer.files).toMatchObject([
      { key: 'crosswalk/users.csv', rows: 6, badRows: 0, isWhole: true, kinds: ['userName', 'orgDefinedId'] },
    ]);
    expect(await userOf('lena')).toEqual({ ids: [301] });
    expect(await userOf('liam; jr.')).toEqual({ ids: [302] });
    expect(await userOf('ä')).toEqual({ ids: [304, 305] });
    expect(await numberOf('0042')).toEqual({ ids: [301] });
    expect(await numberOf('42')).toBeUndefined();
    expect(await report()).toBe('file,line,column,problem\n');

    await users(
      `userId,note,userName,orgDefinedId\r\n${'302,y,"liam, jr.",\r\n301,x,lena,0042\r\n303,z,,0043\r\n304,,ä,\r\n305,,ä,\r\n302,y,liam; jr.,\r\n'}`,
    );
    expect((await fill()).files).toHaveLength(1);
    expect(await userOf('liam, jr.')).toEqual({ ids: [302] });
  });

  test('has bad rows told by line and column, whose names stay what they were', async () => {
    await users(
      `userId,userName\n${Array.from({ length: 60 }, (_, at) => `${at + 1},user-${at + 1}\n`).join('')}`,
    );
    await fill();
    await users(
      [
        'userId,userName',
        ...Array.from({ length: 50 }, (_, at) => `${at + 1},user-${at + 1}`),
        '0,user-51',
        '-5,user-52',
        '1e3,user-53',
        '54.0,user-54',
        '9007199254740993,user-55',
        '"5\n6",user-56',
        '57,user-57,more',
        '58,"user\t58"',
        '=1+1,new',
        '70,user-70',
        '',
      ].join('\n'),
    );
    expect((await fill()).files).toMatchObject([{ badRows: 9, isWhole: false }]);
    // Of a file without a column of numbers.
    expect((await table.fills()).get('orgDefinedId/file')).toMatchObject({ names: 0 });
    const id = 'userId,is not a positive whole number';
    expect((await report())?.split('\n')).toEqual([
      'file,line,column,problem',
      ...[52, 53, 54, 55, 56, 57].map((line) => `crosswalk/users.csv,${line},${id}`),
      'crosswalk/users.csv,59,,"has 3 cells, but the header has 2"',
      'crosswalk/users.csv,60,userName,is too long or has control characters',
      `crosswalk/users.csv,61,${id}`,
      '',
    ]);
    expect(await userOf('user-51')).toEqual({ ids: [51] });
    // Row 59 is not legible: it may be that of any name that is missing.
    expect(await userOf('user-60')).toEqual({ ids: [60] });
    expect(await userOf('user-70')).toEqual({ ids: [70] });
    expect(await userOf('new')).toBeUndefined();
    expect(logged().join('\n')).not.toContain('user-5');
  });

  const whole = `userId,userName,orgDefinedId\n${Array.from({ length: 40 }, (_, at) => `${at + 1},u${at},n${at}\n`).join('')}`;
  /** What else makes a file unreadable is tested where tables are compared. */
  const broken: [string, string, string][] = [
    ['lost a column', whole.replace('orgDefinedId', 'other'), 'has lost the column orgDefinedId'],
    ['lost its ids', whole.replace('userId', 'id'), 'has no column userId'],
    [
      'lost both names',
      whole.replace('userName', 'a').replace('org', 'b'),
      'has no column userName or orgDefinedId',
    ],
    [
      'opens a quotation mark and never closes it',
      `${whole}41,"${'x,y\n'.repeat(40_000)}`,
      'is not CSV from line 42 on: a row is longer than',
    ],
    ['is half', whole.slice(0, whole.length / 2), 'would be removed'],
  ];

  test('that is broken, slips by one row, or is taken away changes nothing, which is told each time until it is put right or somebody accepts that, and does not keep org-units.csv from being read', async () => {
    await users(whole);
    await fill();
    await put('crosswalk/org-units.csv', 'orgUnitCode,orgUnitId\nSIS-1,2001\n');
    for (const [title, body, says] of broken) {
      await users(body);
      const { outcome, message } = await fill();
      const held = [await userOf('u39'), await numberOf('n7')];
      expect([title, outcome, message, held]).toEqual([
        title,
        'held',
        expect.stringContaining(says),
        [{ ids: [40] }, { ids: [8] }],
      ]);
      expect(await inFile('SIS-1')).toEqual({ ids: [2001] });
      if (says.startsWith('has no')) expect(await report()).toContain(`crosswalk/users.csv,1,,${says}`);
    }
    expect(await fill()).toMatchObject({ outcome: 'held' });
    expect((await retained()).map((each) => each.of)).toEqual(['userName/file', 'orgDefinedId/file']);
    await users(whole);
    expect(await fill()).toMatchObject({ outcome: 'filled' });
    expect(await retained()).toEqual([]);

    const [header, ...rows] = whole
      .trim()
      .split('\n')
      .map((row) => row.split(','));
    const slipped = rows.map(([id, ...names], at) => [rows[at + 1]?.[0] ?? id, ...names]);
    await users([header, ...slipped].map((row) => `${row?.join(',')}\n`).join(''));
    expect(await fill()).toMatchObject({
      outcome: 'held',
      message: expect.stringContaining('would stand for other ids'),
      fills: expect.arrayContaining([
        expect.objectContaining({ kind: 'userName', outcome: 'held', removed: 0 }),
      ]),
    });
    expect(await userOf('u20')).toEqual({ ids: [21] });
    expect(await fill({ acceptRemovals: true })).toMatchObject({ outcome: 'filled' });
    expect(await userOf('u20')).toEqual({ ids: [22] });
    // So it is where the file is taken away.
    await remove('crosswalk/users.csv');
    expect(await fill()).toMatchObject({ outcome: 'held' });
    expect(await userOf('u20')).toEqual({ ids: [22] });
    expect(await fill({ acceptRemovals: true })).toMatchObject({ outcome: 'filled' });
    expect(await userOf('u20')).toBeUndefined();
  });
});

test('a file that the bucket gives to nobody, or that is far too large, keeps neither the other file nor org units from being filled', async () => {
  await many();
  await users('userId,userName\n301,lena\n');
  await put('crosswalk/org-units.csv', 'orgUnitCode,orgUnitId\nSIS-1,2001\n');
  // Put in a storage class, or under a key, that the function cannot read.
  const refusal = { type: 'InvalidObjectState', status: 403 };
  await controls().awsFault('s3', {
    action: 'GetObject',
    name: `${bucket()}/crosswalk/users.csv`,
    times: 900,
    ...refusal,
  });
  const why = 'crosswalk/users.csv cannot be read (InvalidObjectState)';
  expect(await fill()).toMatchObject({ outcome: 'held', message: expect.stringContaining(why) });
  expect([await inFile('SIS-1'), await codeOf('MANY-1')]).toEqual([{ ids: [2001] }, { ids: [7001] }]);
  await controls().clearAwsFaults();
  const large = async function* () {
    for (let at = 0; at < 3; at += 1) yield Buffer.from('too large');
  };
  await expect(buffer(atMost(20, large(), 'users.csv'))).rejects.toThrow(
    /^users\.csv is larger than 20 bytes/,
  );
  expect(await fill()).toMatchObject({ outcome: 'filled' });
});

describe('a code that changes its source', () => {
  const toFile = (rows: string) => put('crosswalk/org-units.csv', `orgUnitId,orgUnitCode\n${rows}`);

  test('or moves within org-units.csv has moved where either gives it another org unit than the other did, also when it comes back, and is settled once that is accepted, though the file is the same', async () => {
    const inPlatform = [
      { orgUnitId: 7100, code: 'LEAVES' },
      { orgUnitId: 7101, code: 'RETURNS' },
      { orgUnitId: 7102, code: 'STAYS' },
    ];
    await many(inPlatform);
    await toFile('1,MOVES\n');
    await fill();
    await controls().reset();
    await many();
    await toFile('7200,LEAVES\n7201,RETURNS\n7102,STAYS\n2,MOVES\n');
    await fill();
    const moves = { ids: [2], was: [1] };
    expect(await inFile('MOVES')).toEqual(moves);
    const leaves = { ids: [7200], was: [7100] };
    const returns = { ids: [7201], was: [7101] };
    expect([await inFile('LEAVES'), await inFile('RETURNS')]).toEqual([leaves, returns]);
    // Both give it the same org unit.
    expect(await inFile('STAYS')).toEqual({ ids: [7102] });
    expect(metrics('CrosswalkMoved').at(-1)?.[1]).toBe(3);
    await table.accept('LEAVES', leaves);
    await table.accept('RETURNS', returns);
    await table.accept('MOVES', moves);
    await fill();
    expect(await Promise.all(['LEAVES', 'RETURNS', 'MOVES'].map(inFile))).toEqual([
      { ids: [7200] },
      { ids: [7201] },
      { ids: [2] },
    ]);
    expect(metrics('CrosswalkMoved').at(-1)?.[1]).toBe(0);
    expect((await fill()).files).toEqual([]);
    await toFile('1,OTHER\n');
    await many(inPlatform.filter(({ code }) => code === 'RETURNS'));
    await fill({ acceptRemovals: true });
    expect(await codeOf('RETURNS')).toEqual({ ids: [7101], was: [7201] });
  });
});

test('whatever signs names and columns have, they are no part of a statement, and stay what they are', async () => {
  const signs = [
    `'); DROP TABLE rows; --`,
    `" FROM problems; --`,
    `{'a': 1}`,
    '$1',
    '\\"\\',
    '\u2028',
    '😀',
    'null',
  ];
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const header = ['userId', 'userName', ...signs].map(quoted).join(',');
  const rows = signs.map((text, at) => `${at + 1},${[text, ...signs].map(quoted).join(',')}\n`);
  await users(`${header}\n${rows.join('')}`);
  const codes = [...signs, 'A\tB', 'A\nB', '\u0001', '\ud800'];
  await controls().seed({ orgUnits: codes.map((code, at) => ({ orgUnitId: 7001 + at, code })) });
  await fill();
  await users(`${header}\n${rows.toReversed().join('')}`);
  const { fills } = await fill();
  expect(fills.map(({ outcome }) => outcome)).toEqual(fills.map(() => 'same'));
  const found = await Promise.all([...signs.map(userOf), ...codes.map(codeOf)]);
  expect(found.map((entry) => entry?.ids)).toEqual([
    ...signs.map((_, at) => [at + 1]),
    ...codes.map((_, at) => [7001 + at]),
  ]);
});

describe('classlists', () => {
  const userOf = (text: string) => entryOf('userName', 'platform', text);

  test('tell users where there is no file of them, are read later where they fail for now, once a night by the schedule, and not by each fill; names that privacy hides are skipped', async () => {
    await controls().seed({ users: [{ userId: 303, userName: 'nora', orgDefinedId: 'S-303' }] });
    await controls().seed({ enrollments: [{ orgUnitId: 2001, userId: 303, roleId: 110 }] });
    await controls().fault({ status: 503 }, { path: '2001/classlist', times: 1 });
    const scheduled = { 'detail-type': 'Scheduled Event', source: 'aws.scheduler' };
    const hour = { CROSSWALK_CLASSLISTS_HOUR: String(new Date().getUTCHours()) };
    const answer = await fill(scheduled, hour);
    expect(answer.fills).toHaveLength(3);
    expect(of(answer, 'userName', 'platform')).toMatchObject({ names: 4 });
    expect(await userOf('lena.learner')).toEqual({ ids: [301] });
    expect(await userOf('liam.learner')).toBeUndefined();
    expect(await entryOf('orgDefinedId', 'platform', 'S-303')).toEqual({ ids: [303] });
    expect(logged().join('\n')).toMatch(/names in classlists are hidden by privacy settings.*"count":5/);
    expect((await fill(scheduled, hour)).fills).toHaveLength(1);
    expect((await fill(null)).fills).toHaveLength(1);

    // As if the day before, in the same hour. Those that cannot be read remove nobody.
    const readMs = Date.now() - 24 * 3_600_000;
    await put('crosswalk-state/filled/classlists.json', JSON.stringify({ readMs }));
    await controls().fault({ status: 403 }, { path: '2001/classlist', times: 100 });
    const next = await fill(scheduled, hour);
    expect([next.outcome, next.fills.length]).toEqual(['filled', 3]);
    expect(await userOf('lena.learner')).toEqual({ ids: [301] });
    expect(logged().join('\n')).toContain('classlists could not be read, so no user is removed');

    // A file of users replaces them.
    await users('userId,userName\n301,lena.learner\n');
    const before = (await controls().requests()).length;
    expect(await fill(await eventOf(name))).toMatchObject({ outcome: 'filled' });
    expect(
      (await controls().requests()).slice(before).filter(({ path }) => path.includes('classlist')),
    ).toEqual([]);
    expect(await userOf('lena.learner')).toBeUndefined();
    expect(await entryOf('userName', 'file', 'lena.learner')).toEqual({ ids: [301] });
  });

  test('that wait for a credential tell it at once, as a refusal', async () => {
    await controls().fault(invalidToken, { path: '2001/classlist', times: 1 });
    expect(await fill({ classlists: true })).toMatchObject({ outcome: 'filled' });
    expect(logged()).toContainEqual(expect.stringMatching(/"kind":"credentials".*"Refusals":\[1\]/));
  });

  test('guard the first file of users: one that slipped by a row waits for a person', async () => {
    const ids = [303, 304, 305];
    await controls().seed({ users: ids.map((userId) => ({ userId, userName: `user-${userId}` })) });
    await controls().seed({
      enrollments: ids.map((userId) => ({ orgUnitId: 2001, userId, roleId: 110 })),
    });
    await fill({ classlists: true });
    await users('userId,userName\n304,user-303\n305,user-304\n303,user-305\n');
    expect(await fill()).toMatchObject({
      outcome: 'held',
      message: expect.stringContaining('3 would stand for other ids'),
    });
    expect(await userOf('user-303')).toEqual({ ids: [303] });
    expect(await entryOf('userName', 'file', 'user-303')).toBeUndefined();
    expect(await fill({ acceptRemovals: true })).toMatchObject({ outcome: 'filled' });
    expect(await entryOf('userName', 'file', 'user-303')).toEqual({ ids: [304] });
  });

  test('none of which can be read fail the fill', async () => {
    await controls().fault({ status: 403 }, { path: 'classlist', times: 100 });
    await expect(fill(await eventOf(name))).rejects.toThrow('No classlist could be read');
  });
});

describe('a fill that is ended while it writes', () => {
  test('leaves nothing half: the next one writes that first, and then compares', async () => {
    await many();
    await fill();
    await controls().seed({
      orgUnits: Array.from({ length: 60 }, (_, at) => ({ orgUnitId: 8000 + at, code: `NEW-${at}` })),
    });
    await controls().awsFault('dynamodb', {
      action: 'BatchWriteItem',
      times: 1,
      type: 'AccessDeniedException',
      status: 400,
    });
    job.meanwhile(() => {
      expect(logged().join('\n')).toContain('the fill of the crosswalk waits');
      const executions = stack().executions.of(durableOptionsOf(name).functionArn);
      stack().executions.stop(executions.at(-1)?.arn ?? '');
    });
    const ended = fill();
    await expect(ended).rejects.toThrow('it was stopped');
    const pending = 'crosswalk-state/filled/orgUnitCode-platform.json';
    expect(await textAt(pending)).toContain('true');

    // The platform tells again what it told before.
    await controls().reset();
    await many();
    await fill({ acceptRemovals: true });
    const codes = Array.from({ length: 60 }, (_, at) => [`NEW-${at}`, `MANY-${at}`]).flat();
    const held = await table.namesIn(codes.map((code) => bucketOf('orgUnitCode', 'platform', code)));
    for (let at = 0; at < 60; at += 1) {
      const idsOf = (code: string) => held.get(bucketOf('orgUnitCode', 'platform', code))?.get(code);
      expect([idsOf(`NEW-${at}`), idsOf(`MANY-${at}`)]).toEqual([undefined, { ids: [7000 + at] }]);
    }
    expect(await textAt(pending)).toContain('false');
  });
});

describe('what is listed must not stop the fills', () => {
  const bucketOfAll = 'userName/file/abcd';
  const next = 'crosswalk-state/filled/userName-file.next.gz';
  const pending = 'crosswalk-state/filled/userName-file.json';
  const lines = (names: readonly string[], rest: (at: number) => string) =>
    gzipSync(names.map((each, at) => `abcd\t${JSON.stringify(each)}\t${rest(at)}\n`).join(''));
  const many = (count: number, length: number) =>
    Array.from({ length: count }, (_, at) => String(at).padStart(length, 'x'));
  const bytesOf = async (of: string) => {
    const client = createQuickDynamoDb(localClient(stack().description.dynamodb));
    const Key = { bucket: { S: of } };
    const { Item } = await client.call('GetItem', { TableName: bucket(), Key });
    return Buffer.byteLength(Item?.names?.S ?? '');
  };

  test('a placeholder of 60,000 users is ambiguous, by five of their ids and the number of the others', async () => {
    const rows = Array.from({ length: 60_000 }, (_, at) => `${at + 1},n/a\n`);
    await users(`userId,orgDefinedId\n${rows.join('')}70000,S-1\n`);
    expect(await fill()).toMatchObject({ outcome: 'filled' });
    expect(await entryOf('orgDefinedId', 'file', 'n/a')).toEqual({ ids: [1, 2, 3, 4, 5], more: 59_995 });
    expect(await entryOf('orgDefinedId', 'file', 'S-1')).toEqual({ ids: [70_000] });
    await users(`userId,orgDefinedId\n70000,S-1\n${rows.join('')}`);
    expect(of(await fill(), 'orgDefinedId', 'file')).toMatchObject({ outcome: 'same' });
  });

  test('names that no message may have are left out and told', async () => {
    const code = 'c'.repeat(257);
    await controls().seed({
      orgUnits: [
        { orgUnitId: 7100, code },
        { orgUnitId: 7101, code: code.slice(1) },
      ],
    });
    await users(`userId,userName\n1,${code}\n2,${code.slice(1)}\n`);
    await fill();
    expect([await codeOf(code), await userOf(code)]).toEqual([undefined, undefined]);
    expect([await codeOf(code.slice(1)), await userOf(code.slice(1))]).toEqual([
      { ids: [7101] },
      { ids: [2] },
    ]);
    expect(await report()).toContain('users.csv,2,userName,is too long');
    expect(logged().join('\n')).toMatch(/names of more than 256 characters are left out.*"count":1/);
  });

  test('a bucket takes what fits into an item, first the names that it had, and the others are told', async () => {
    await put(
      'crosswalk-state/filled/userName-file.gz',
      lines(['x9'], () => '7\t'),
    );
    await put(
      'parts',
      lines([...many(2_000, 250), 'x9'], (at) => String(at + 1)),
    );
    const services = await servicesBy(settings());
    const [filled] = await compareListed(
      [{ kind: 'userName', source: 'file', parts: ['parts'], isWhole: true }],
      { ...services, acceptRemovals: true },
    );
    const { crowded = 0, names = 0 } = filled ?? {};
    expect([crowded > 1_000, names + crowded]).toEqual([true, 2_001]);
    const of = { kind: 'userName', source: 'file' } as const;
    await writeBuckets(of, { from: '', untilMs: Date.now() + 60_000 }, services);
    expect((await table.namesIn([bucketOfAll])).get(bucketOfAll)?.get('x9')).toEqual({ ids: [2_001] });
    expect(await bytesOf(bucketOfAll)).toBeLessThan(200_001);
  });

  test('a comparison of an earlier version that DynamoDB does not take is replaced by that of the right file', {
    tags: ['long'],
  }, async () => {
    await put(
      next,
      lines(many(2_000, 500), (at) => `${at + 1}\t`),
    );
    await put(pending, JSON.stringify({ isPending: true }));
    await users('userId,userName\n1,lena\n');
    expect(await fill()).toMatchObject({ outcome: 'filled' });
    expect(await userOf('lena')).toEqual({ ids: [1] });
    expect(await jsonAt(pending)).toEqual({ isPending: false });
  });

  const fillRefused = async () => {
    await users('userId,userName\n1,lena\n2,liam\n');
    await controls().awsFault('dynamodb', {
      action: 'BatchWriteItem',
      times: 1,
      type: 'ValidationException',
      status: 400,
    });
    const answer = await fill();
    expect(answer).toMatchObject({
      outcome: 'held',
      message: expect.stringContaining('AWS refuses to store the names (userName, file)'),
    });
    expect(await codeOf('BIO-101')).toEqual({ ids: [2001] });
  };

  test('names that AWS refuses in the midst of a fill are told, and hold up no others', fillRefused);

  test('names that AWS has refused are written whole by the next fill', { tags: ['long'] }, async () => {
    await fillRefused();
    // As if it had been written halfway.
    await table.put([{ bucket: bucketOfAll, entries: new Map([['half', { ids: [3] }]]) }]);
    expect(await fill()).toMatchObject({ outcome: 'filled' });
    expect([await userOf('lena'), await userOf('liam')]).toEqual([{ ids: [1] }, { ids: [2] }]);
    expect((await table.namesIn([bucketOfAll])).size).toBe(0);
    expect(await retained()).toEqual([]);
  });
});

test('a platform that asks for ten years makes no job wait for more than an hour', async () => {
  const { limits } = await servicesBy(settings());
  expect(waitSeconds({ receiveCount: 1, retryAfterSeconds: 315_360_000 }, limits.backoff)).toBe(3_600);
});

describe('one fill at a time', () => {
  test('another one waits until the first is over', async () => {
    await controls().fault({ delayMs: 200 }, { path: 'orgstructure/$', times: 1 });
    const first = fill();
    const hasWaited = job.meanwhile(() => first);
    const second = fill();
    expect(await first).toMatchObject({ outcome: 'filled' });
    expect(of(await second, 'orgUnitCode', 'platform')).toMatchObject({ outcome: 'same' });
    expect(hasWaited()).toBe(true);
  });
});

describe('killed at any moment', () => {
  test('it goes on, and the table is as if nothing had happened', { tags: ['long'] }, async () => {
    const count = 3_000;
    await controls().seed({
      orgUnits: Array.from({ length: count }, (_, at) => ({ orgUnitId: 10_000 + at, code: `K-${at}` })),
    });
    await users(
      `userId,userName\n${Array.from({ length: count }, (_, at) => `${at + 1},user-${at}\n`).join('')}`,
    );
    const { lambda } = await inProcess();
    let kills = 0;
    // Ever later after the one before: some of them come in the midst of its work, however quick the machine is.
    const killLater = (): NodeJS.Timeout =>
      setTimeout(
        () => {
          lambda.kill(name);
          kills += 1;
          if (kills < 6) killing = killLater();
        },
        250 * 1.5 ** kills,
      );
    let killing = killLater();
    const result = await lambda.invoke(name, {}).finally(() => clearTimeout(killing));
    expect(result).toMatchObject({ ok: true, payload: { outcome: 'filled' } });
    expect(kills).toBeGreaterThan(1);
    const codes = Array.from({ length: count }, (_, at) => `K-${at}`);
    const found = await table.namesIn(codes.map((code) => bucketOf('orgUnitCode', 'platform', code)));
    for (const [at, code] of codes.entries())
      expect(found.get(bucketOf('orgUnitCode', 'platform', code))?.get(code)).toEqual({ ids: [10_000 + at] });
    expect(await entryOf('userName', 'file', 'user-2999')).toEqual({ ids: [3_000] });
  });
});

test.each<[unknown, string]>([
  [{ acceptRemovals: 'yes' }, 'acceptRemovals'],
  [{ files: true }, 'files'],
  ['all', 'expected object'],
])('the event %j is none', async (event, says) => {
  await expect(fill(event)).rejects.toThrow(says);
});

/** The proof `measure-crosswalk` measures the whole of what is promised; without it a small part. */
const measured = {
  orgUnits: Number(process.env.CROSSWALK_ORG_UNITS ?? 2_000),
  users: Number(process.env.CROSSWALK_USERS ?? 5_000),
  atMostMb: 900,
  atMostSeconds: 600,
};

test.skipIf(process.platform !== 'linux')(
  `${measured.orgUnits} org units and ${measured.users} users take less than ${measured.atMostSeconds} s and ${measured.atMostMb} MB of memory`,
  { tags: ['long'], timeout: 3_600_000 },
  async () => {
    const { orgUnits, users: userCount } = measured;
    for (let from = 0; from < orgUnits; from += 5_000)
      await controls().seed({
        orgUnits: Array.from({ length: Math.min(5_000, orgUnits - from) }, (_, at) => ({
          orgUnitId: 100_000 + from + at,
          code: `2026-COURSE-${from + at}`,
        })),
      });
    const lines = Array.from(
      { length: userCount },
      (_, at) => `${500_000 + at},first.last${at},S${10_000_000 + at}`,
    );
    await users(`userId,userName,orgDefinedId\n${lines.join('\n')}\n`);
    const { lambda } = await inProcess();
    const useNow = () => {
      const [container] = lambda.containers(name);
      return container ? useOf(container.pid) : { cpuMs: 0, peakBytes: 0 };
    };
    const measure = async (title: string) => {
      const [startMs, { cpuMs: before }] = [performance.now(), useNow()];
      const result = await lambda.invoke(name, {});
      const seconds = (performance.now() - startMs) / 1000;
      const { cpuMs, peakBytes } = useNow();
      const mb = Math.round(peakBytes / 1024 ** 2);
      process.stdout.write(
        `\ncrosswalk-fill, ${title}: ${seconds.toFixed(1)} s, ${((cpuMs - before) / 1000).toFixed(1)} s of a processor, at most ${mb} MB\n`,
      );
      expect(result).toMatchObject({ ok: true, payload: { outcome: 'filled' } });
      expect(mb).toBeLessThan(measured.atMostMb);
      expect(seconds).toBeLessThan(measured.atMostSeconds);
    };
    await measure(`${orgUnits} org units and ${userCount} users, all new`);
    expect((await table.fills()).get('orgUnitCode/platform')).toMatchObject({ names: orgUnits + 6 });
    for (const at of [0, 1, Math.floor(userCount / 2), userCount - 1]) {
      expect(await entryOf('userName', 'file', `first.last${at}`)).toEqual({ ids: [500_000 + at] });
      expect(await entryOf('orgDefinedId', 'file', `S${10_000_000 + at}`)).toEqual({ ids: [500_000 + at] });
    }
    const changed = lines.with(1, '777,first.last1,S10000001');
    await users(`userId,userName,orgDefinedId\n${changed.join('\n')}\n`);
    await measure('one user changed');
    expect(await entryOf('userName', 'file', 'first.last1')).toEqual({ ids: [777] });
  },
);
