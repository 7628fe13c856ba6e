import { describe, expect, test } from 'vitest';
import { groupIdOf, groupsOf } from '../../../../lib/options/reconcile/desk/groups.ts';
import { enrollmentOf, findingOf } from './runs.ts';

describe('findings are of one group', () => {
  test('where kind, class and fields are the same, in any order', () => {
    const one = findingOf({ fields: ['grade', 'comments'] });
    const other = findingOf({ fields: ['comments', 'grade'], reason: 'sample' });
    expect(groupIdOf(one)).toBe(groupIdOf(other));
    expect(groupIdOf(one)).toMatch(/^[0-9a-f]{8}$/);
    const others = [
      findingOf({ fields: ['grade'] }),
      findingOf({ fields: ['grade', 'comments'], class: 'older' }),
      enrollmentOf({ fields: ['grade', 'comments'] }),
    ];
    expect(new Set([one, ...others].map(groupIdOf)).size).toBe(4);
  });

  test('where they cannot be read for the same cause, whatever the ids in the error and the fields are', () => {
    const error = (id: number) =>
      `The platform answered GET /svc/api/le/1.82/${id}/grades/5001/values/${id} with 403 Forbidden`;
    const unreadable = (id: number, more = {}) =>
      findingOf({ class: 'unreadable', error: error(id), kind: 'missing-permission', ...more });
    const all = [unreadable(2001), unreadable(2002, { fields: ['comments'] })];
    expect(groupsOf([...all, unreadable(2003, { kind: 'rejected' })])).toMatchObject([
      {
        findings: 2,
        class: 'unreadable',
        failure: 'missing-permission',
        fields: [],
        error: 'The platform answered GET /le/<id>/grades/<id>/values/<id> with 403 Forbidden',
      },
      { findings: 1, failure: 'rejected' },
    ]);
  });
});

test('a group counts users and org units once, and tells the first and the last write', () => {
  const subject = { kind: 'enrollment' as const, orgUnitId: 2001, userId: 7 };
  const [group, ...others] = groupsOf([
    enrollmentOf({ subject, writtenMs: 2_000 }),
    enrollmentOf({ subject: { ...subject, orgUnitId: 2002 }, writtenMs: 1_000 }),
    enrollmentOf({ subject: { ...subject, userId: 8 }, writtenMs: 3_000 }),
    enrollmentOf({ writtenMs: 2_500 }),
  ]);
  expect(others).toEqual([]);
  expect(group).toMatchObject({ findings: 4, users: 3, orgUnits: 2, earliestMs: 1_000, latestMs: 3_000 });
  expect(group?.examples).toHaveLength(3);
  expect(group?.remedy).not.toBe('');
});

test('what sis-relay has not written has no time, and faults come first', () => {
  const extra = () => enrollmentOf({ class: 'extra', writtenMs: undefined, messageId: undefined });
  const groups = groupsOf([
    extra(),
    extra(),
    findingOf(),
    findingOf({ class: 'older' }),
    findingOf({ class: 'older' }),
  ]);
  expect(groups.map(({ class: its, findings }) => [its, findings])).toEqual([
    ['older', 2],
    ['missing', 1],
    ['extra', 2],
  ]);
  expect(groups[2]).toMatchObject({ earliestMs: undefined, latestMs: undefined });
});
