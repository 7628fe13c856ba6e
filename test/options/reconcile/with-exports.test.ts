import { beforeAll, describe, expect, test } from 'vitest';
import { stateKey } from '../../../lib/options/snapshots/state/record.ts';
import { filled } from '../../lib/crosswalk/filled.ts';
import { enrollmentRows, type StateRow, stateFile, tableRow } from '../snapshots/state-file.ts';
import { comparisonForTests } from './comparison-for-tests.ts';
import { compare } from './effect/stage.ts';

const { learner, instructor, job, newStage, stageNow, enrollIn, removeFrom, rotate } = comparisonForTests();
const { controls, put } = job;

describe('with a snapshot of the SIS', () => {
  const id = '20261101T020000Z-0a1b2c3d';
  const tableId = '20261102T020000Z-0a1b2c3e';
  const users: Record<string, number> = { lena: 301, tom: 303, ina: 10_001, ute: 10_002, max: 10_003 };
  /** An org unit of its own for each case, with nobody in it. */
  const [plain, since, unknown, again, several, gone, twice] = [2101, 2102, 2103, 2104, 2105, 2106, 2107];
  const orgUnitIds = [plain, since, unknown, again, several, gone, twice];
  const codeOf = (orgUnitId: number) => `CODE-${orgUnitId}`;

  const rowsOf = (said: Record<number, string[]>, roleId = learner) =>
    Object.entries(said).flatMap(([orgUnitId, names]) =>
      names.map((userName) => ({ orgUnitCode: codeOf(Number(orgUnitId)), userName, roleId })),
    );
  const byName = JSON.stringify(['classCode', 'userName', 'username']);
  const accept = async (
    snapshotId: string,
    rows: StateRow[],
    { key = 'accepted', by = byName, ...more } = {},
  ) => {
    await put(stateKey(snapshotId), await stateFile(rows));
    const accepted = { id: snapshotId, number: 1, columns: {}, by, holds: 'tables', ...more };
    await put(`snapshot-records/${key}.json`, JSON.stringify(accepted));
  };
  type Said = Parameters<typeof enrollmentRows>[0];
  const snapshot = (said: Said[], more: object = {}) => accept(id, said.flatMap(enrollmentRows), more);
  /** Beside the zip. */
  const table = (said: Said[]) =>
    accept(
      tableId,
      said.map((data) => tableRow(data)),
      { key: 'accepted/more.csv', by: JSON.stringify([['enrollment-create', 'userName']]) },
    );
  const hasEnrolled = (orgUnitId: number, roleId: number, ...userIds: number[]) =>
    controls().seed({ enrollments: userIds.map((userId) => ({ orgUnitId, userId, roleId })) });
  const prepare = async () => {
    await controls().seed({
      users: [10_001, 10_002, 10_003].map((userId) => ({ userId })),
      orgUnits: orgUnitIds.map((orgUnitId) => ({ orgUnitId, code: codeOf(orgUnitId) })),
    });
    await put(
      ...filled(
        'orgUnitCode',
        orgUnitIds.map((orgUnitId) => [codeOf(orgUnitId), orgUnitId]),
      ),
    );
    await put(...filled('userName', Object.entries(users)));
  };

  describe('in one run', () => {
    let { report, findings } = {} as Awaited<ReturnType<typeof compare>>;
    const found = (orgUnitId: number) =>
      findings
        .filter(({ subject }) => subject.orgUnitId === orgUnitId)
        .map(({ class: its, subject, reason }) => `${its} ${subject.userId} ${reason}`)
        .sort();

    beforeAll(async () => {
      await newStage();
      await controls().reset();
      await prepare();
      await enrollIn(gone, 301, 10_001);
      await removeFrom(gone, 303);
      await hasEnrolled(gone, learner, 301);
      await rotate('c');
      await rotate('d');
      await hasEnrolled(plain, learner, 301, 10_003);
      await hasEnrolled(plain, instructor, 10_001);
      // In a role that no snapshot gives.
      await hasEnrolled(plain, 101, 303);
      await enrollIn(since, 301, 10_001);
      await removeFrom(since, 303);
      await hasEnrolled(unknown, learner, 10_003);
      await hasEnrolled(again, learner, 301, 303);
      await enrollIn(again, 10_001);
      await controls().remove({ enrollments: [{ orgUnitId: again, userId: 10_001 }] });
      await hasEnrolled(several, instructor, 301);
      await enrollIn(twice, 301);
      await controls().remove({ enrollments: [{ orgUnitId: twice, userId: 301 }] });
      await snapshot([
        ...rowsOf({ [plain]: ['lena', 'ute', 'ina'], [since]: ['lena', 'tom'], [unknown]: ['nobody knows'] }),
        ...rowsOf({ [again]: ['lena', 'tom', 'ina'], [several]: ['lena'], [gone]: ['lena', 'tom'] }),
        // As the platform's ids are known, the names need not be.
        { orgUnitCode: 'TWICE', userName: 'unknown', roleId: learner, orgUnitId: twice, userId: 301 },
      ]);
      await table(rowsOf({ [several]: ['lena'] }, instructor));
      ({ report, findings } = await compare(stageNow(), { whole: true }));
    });

    test('it names who is enrolled there and not here, and the other way round', () => {
      expect(found(plain)).toEqual([
        'different 10001 snapshot',
        'extra 10003 snapshot',
        'missing 10002 snapshot',
      ]);
      expect(report).toMatchObject({ snapshots: [tableId, id], entries: 8, findings: 5 });
    });

    test('what was written since holds in its place', () => {
      expect(found(since)).toEqual([]);
    });

    test('where it has users whom the crosswalk does not know, nobody is called too many', () => {
      expect(found(unknown)).toEqual([]);
      expect(report).toMatchObject({ unknown: 1 });
    });

    test('of an enrollment that is looked at once more, nobody beside it is called too many', () => {
      expect(found(again)).toEqual(['missing 10001 recent']);
    });

    test('what two of them contradict each other in is no fault where the platform has one of them', () => {
      expect(found(several)).toEqual([]);
    });

    test('what was written since by a key that is gone is not called missing, nor too many', () => {
      expect(found(gone)).toEqual([]);
    });

    test('what differs from the ledger and from a snapshot is found once', () => {
      expect(found(twice)).toEqual(['missing 301 recent']);
      expect(report.open).toMatchObject({ missing: 3, different: 1, extra: 1 });
      expect(report.tallies.snapshot.byClass).toMatchObject({ missing: 3, different: 1, extra: 1 });
    });
  });

  test('while one of two is being sent, it says nothing, and nobody whom it may have is called too many', async () => {
    await prepare();
    await hasEnrolled(plain, learner, 301, 303);
    await snapshot(rowsOf({ [plain]: ['lena', 'ina'] }), { sending: true });
    await table(rowsOf({ [plain]: ['tom'] }));
    const { findings, report } = await compare(stageNow(), { whole: true });
    expect(findings).toEqual([]);
    expect(report.snapshots).toEqual([tableId]);
  });
});
