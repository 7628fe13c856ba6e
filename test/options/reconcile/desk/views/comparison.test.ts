import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sheetOf } from '../../../../../lib/desk/console/html/sheet.ts';
import { groupsOf } from '../../../../../lib/options/reconcile/desk/groups.ts';
import { countsOf, type ReviewedRun } from '../../../../../lib/options/reconcile/desk/read.ts';
import {
  comparisonView,
  meaningsView,
  runsView,
} from '../../../../../lib/options/reconcile/desk/views/comparison.ts';
import { findingOf, reportOf, tallyOf } from '../runs.ts';

const attack = '"><script>alert(1)</script>\u202E';
const report = reportOf({
  entries: 30_000,
  tallies: { recent: tallyOf(1_000, { missing: 2 }), sample: tallyOf(290) },
  snapshots: [attack],
});
const findings = [
  findingOf(),
  findingOf({ class: 'unreadable', error: attack, resource: `grade/${attack}` }),
];
const comparison: ReviewedRun = {
  report,
  counts: countsOf(report),
  groups: groupsOf(findings),
  findings: [],
  omitted: 0,
  faults: 2,
  acceptedSince: 0,
  unread: 0,
  newer: undefined,
};
const pageOf = (told: ReviewedRun, reports = [report, reportOf()]) =>
  sheetOf([...comparisonView(told), ...runsView(reports), ...meaningsView(told.report)], {
    title: 'A comparison',
    name: 'sis-relay-prod',
    foot: 'It holds no grades.',
  });
const page = await pageOf(comparison);

test('the page needs nothing else: no script, no picture, no other address', () => {
  expect(page.match(/<(script|img|link|iframe|object|embed|base|form)\b/g)).toBeNull();
  expect(page.match(/\b(?:src|href|action|style|on\w+)=/g)).toBeNull();
  expect(page).not.toMatch(/url\(|@import|https?:/);
});

test('its policy allows its own style sheet alone', () => {
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? [];
  const [, policy = ''] = /Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
  expect(policy.replaceAll('&#39;', "'")).toBe(
    `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'`,
  );
  expect(style).toContain('@media print');
});

test('what the bucket holds is text, whatever it says', () => {
  expect(page).not.toContain('<script>');
  expect(page.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  expect(page).toContain('&lt;script&gt;');
});

test('it tells the claims, the counts, the groups, the last runs and what all that means', () => {
  for (const text of [
    `Run ${report.id}: complete`,
    '1,000 writes of the last 25 hours: all were compared; 2 differ: 2 missing.',
    '0 of 290 sampled older writes differ: with 95 % confidence, less than 1.1 % of all',
    'Grades missing (grade)',
    'Send it again.',
    'Clopper and Pearson',
    'aria-label="Missing"',
  ])
    expect(page).toContain(text);
  // As the drawing of each class that occurs, and no other.
  expect([...page.matchAll(/<figcaption>(\w+):/g)].map(([, name]) => name)).toEqual(['Same', 'Missing']);
});

test('a run that found nothing has a page, too', async () => {
  const fine = { ...comparison, groups: [], faults: 0, report: reportOf() };
  expect(await pageOf(fine, [])).toContain('There is nothing to decide.');
});
