import { describe, expect, test } from 'vitest';
import type { Note, View } from '../../../../../lib/desk/views/view.ts';
import { groupsOf } from '../../../../../lib/options/reconcile/desk/groups.ts';
import {
  comparisonNotes,
  coverageNotes,
  groupTitle,
  lastComparisonNote,
  percentText,
  resentNotes,
} from '../../../../../lib/options/reconcile/desk/views/reconcile.ts';
import type { Report } from '../../../../../lib/options/reconcile/record.ts';
import { findingOf, reportOf, tallyOf } from '../runs.ts';

const notesOf = (view: View): Note[] => view.filter(Boolean) as Note[];

const said = (changes: Parameters<typeof reportOf>[0]) =>
  coverageNotes(reportOf(changes)).map(({ tone, text }) => `${tone}: ${text}`);

test.each([
  [0.000099999, '0.01 %'],
  [0.0001000001, '0.011 %'],
  [0.0345, '3.5 %'],
  [0.125, '13 %'],
  [0.9501, '96 %'],
  [1, '100 %'],
  [0.0000012, '0.00012 %'],
])('a share of %s is below %s: it is rounded up', (share, text) => expect(percentText(share)).toBe(text));

describe('of recent writes', () => {
  const entries = 512_340;
  test('all were seen', () => {
    expect(said({ entries, tallies: { recent: tallyOf(512_340) } })).toEqual([
      'good: 512,340 writes of the last 25 hours: all were compared; none differs.',
      'plain: The ledger knows no older writes.',
    ]);
  });
  test('there was none', () => {
    expect(said({})[0]).toBe(
      'plain: There are no writes of the last 25 hours, so there was nothing to check.',
    );
  });
  test('some differ, and some were changed since, which is told apart', () => {
    const recent = tallyOf(1_000, { missing: 10, older: 2, changed: 3 });
    expect(said({ tallies: { recent } })[0]).toBe(
      'bad: 1,000 writes of the last 25 hours: all were compared; 12 differ: 10 missing, 2 older. Also: 3 changed on the platform since.',
    );
  });
  test('one differs', () => {
    expect(said({ tallies: { recent: tallyOf(1_000, { different: 1 }) } })[0]).toContain(
      'all were compared; 1 differs: 1 different.',
    );
  });
  test('some could not be read or compared: then not all were seen', () => {
    const recent = tallyOf(1_000, { unreadable: 4, uncompared: 6 });
    expect(said({ tallies: { recent } })[0]).toBe(
      'bad: 1,000 writes of the last 25 hours: 990 were compared, 4 could not be read, 6 could not be compared (in progress, without a digest, or not shown); none differs.',
    );
  });
  test('none could be compared: then nothing is known', () => {
    expect(said({ tallies: { recent: tallyOf(6, { uncompared: 6 }) } })[0]).toMatch(
      /^warn: 6 writes .*: 0 were compared, .*; nothing is known about them\.$/,
    );
  });
});

describe('of the sample of older ones', () => {
  const recent = tallyOf(40);
  const entries = 1_000_040;
  const sampleSaid = (sample: Report['tallies']['sample'], more = {}) =>
    said({ entries, tallies: { recent, sample }, ...more }).slice(1);

  test('none differs: below a figure', () => {
    expect(sampleSaid(tallyOf(29_956))).toEqual([
      'good: 0 of 29,956 sampled older writes differ: with 95 % confidence, less than 0.01 % of all 1,000,000 older writes differ.',
    ]);
  });
  test('some differ: the figure grows', () => {
    expect(sampleSaid(tallyOf(29_956, { older: 3 }))).toEqual([
      'bad: 3 of 29,956 sampled older writes differ (3 older): with 95 % confidence, less than 0.026 % of all 1,000,000 older writes differ.',
    ]);
  });
  test('what could not be compared is left out of the figure, and told', () => {
    const [viewText] = sampleSaid(tallyOf(30_000, { uncompared: 30, unreadable: 14, changed: 5 }));
    expect(viewText).toMatch(
      /^bad: 0 of 29,956 sampled older writes differ: with 95 % confidence, less than 0\.01 % .*Not counted: 14 could/,
    );
    expect(viewText).toMatch(
      /30 could not be compared .*\. The figure says nothing about such writes\. Also: 5 changed/,
    );
  });
  test('it was not looked at to its end: no figure', () => {
    const [viewText] = sampleSaid(tallyOf(10_000, { selected: 29_956 }), { state: 'partial' }).slice(1);
    expect(viewText).toBe(
      'warn: 0 of 10,000 sampled older writes differ. Of 29,956 writes in the random sample, 19,956 were not checked. A part of the sample says nothing about all 1,000,000 older writes.',
    );
    expect(viewText).not.toContain('confidence');
  });
  test('chance has chosen none, or none could be compared: nothing is known', () => {
    expect(sampleSaid(tallyOf(0))).toEqual([
      'warn: None of 1,000,000 older writes is in the random sample, so it says nothing about them.',
    ]);
    expect(sampleSaid(tallyOf(5, { unreadable: 5 }))).toEqual([
      'warn: Nothing is known about the sample of older writes: 5 could not be read.',
    ]);
  });
  test('it is all of them: then it is no estimate', () => {
    const viewText = said({ entries: 5_040, share: 1, tallies: { recent, sample: tallyOf(5_000) } });
    expect(viewText[1]).toBe('good: 5,000 older writes: all were compared; none differs.');
  });
});

test('a whole run counts all as one', () => {
  const recent = tallyOf(100_000, { missing: 1_000 });
  expect(said({ sinceMs: 0, entries: 100_000, share: 1, tallies: { recent } })).toEqual([
    'bad: 100,000 writes that the ledger knows: all were compared; 1,000 differ: 1,000 missing.',
  ]);
  expect(said({ sinceMs: 0 })).toEqual(['warn: The ledger knows no writes, so there was nothing to check.']);
});

test('of those whose turn it was, and of what a snapshot tells', () => {
  const snapshot = tallyOf(200, { missing: 2, extra: 3 });
  const viewText = said({
    tallies: { slice: tallyOf(100), snapshot },
    snapshots: ['20261123T020000Z-0a1b2c3d\u001B[31m'],
  });
  expect(viewText.slice(-2)).toEqual([
    'good: 100 older writes whose turn it was (each has its turn once in 28 nights): all were compared; none differs.',
    'bad: 200 enrollments of the SIS’ snapshot 20261123T020000Z-0a1b2c3d: all were compared; 2 differ: 2 missing. Also: 3 on the platform but not in the SIS.',
  ]);
});

test('what a run is that has not come to its end is said first', () => {
  const recent = tallyOf(10, { selected: 100 });
  expect(said({ state: 'running', endedMs: Date.now(), tallies: { recent } }).slice(0, 2)).toEqual([
    'plain: It is still running. This was its progress <1 min ago.',
    'warn: 100 writes of the last 25 hours: 10 were compared, 90 were not checked yet; none differs.',
  ]);
  expect(said({ state: 'partial' })[0]).toMatch(/^warn: It ended before everything was checked\. /);
  expect(said({ state: 'failed', why: 'the bucket\u0007 is full' })[0]).toBe(
    'bad: It failed: the bucket  is full. The results below are incomplete.',
  );
});

test('a run that was not over before it knew what to look at does not say that there is nothing', () => {
  expect(said({ state: 'running', endedMs: Date.now() }).slice(1)).toEqual([
    'warn: No write of the last 25 hours was checked.',
  ]);
  expect(said({ state: 'failed', sinceMs: 0 }).slice(1)).toEqual([
    'warn: No write that the ledger knows was checked.',
  ]);
});

test('what else is to be known', () => {
  const report = reportOf({ accepted: 2 });
  const newer = { id: report.id, state: 'failed' as const };
  expect(
    notesOf(comparisonNotes({ report, faults: 3, acceptedSince: 1, unread: 1, newer })).map(
      ({ text }) => text,
    ),
  ).toEqual([
    'Operators have accepted 3 differences.',
    '1 line or part of the findings cannot be read, so the groups lack them.',
    '3 faults are not accepted.',
    `There is a newer run, ${report.id}: failed.`,
  ]);
});

test('a group is named by what differs, and nothing in it obeys a terminal', () => {
  const titles = groupsOf([
    findingOf({ fields: ['grade', 'privateComments'] }),
    findingOf({ class: 'unreadable', error: '403\u001B[2J', kind: 'rejected' }),
  ]).map(groupTitle);
  expect(titles).toEqual(['Grades missing (grade, private comment)', 'Grades unreadable: 403']);
});

test('what became of a resend is told by outcome', () => {
  const counts = { sent: 2, newer: 1, 'not-held': 3, 'not-for-us': 1 };
  const plan = { run: '', findings: [], groups: [], withLetter: [] };
  const viewText = notesOf(
    resentNotes({ plan, outcome: 'done', counts, listForSis: 's3://bucket/list.csv' }),
  );
  expect(viewText.map(({ tone }) => tone)).toEqual(['good', 'plain', 'plain', 'todo']);
  expect(viewText.at(-1)?.text).toContain('s3://bucket/list.csv');
  expect(resentNotes({ plan, outcome: 'unheard', id: 'x', result: 's3://bucket/r' })[0]).toMatchObject({
    tone: 'warn',
  });
  expect(resentNotes({ plan, outcome: 'failed', counts, why: 'no queue' })[0]).toMatchObject({
    tone: 'bad',
    text: expect.stringContaining('It failed: no queue.'),
  });
});

test('the last comparison in a line', () => {
  const report = reportOf({ endedMs: Date.now() - 3_600_000 * 5 });
  expect(lastComparisonNote(undefined)).toBeUndefined();
  expect(lastComparisonNote({ report, faults: 0, atLeast: false })).toEqual({
    tone: 'good',
    text: 'Last comparison with the platform: 5 h ago (complete), no unaccepted faults.',
  });
  expect(lastComparisonNote({ report, faults: 7, atLeast: true })?.text).toMatch(
    /\), at least 7 unaccepted faults\./,
  );
});
