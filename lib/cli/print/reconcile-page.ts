import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { raw } from 'hono/html';
import { columns } from '../../markup/chart.ts';
import { type Html, html, notes, said } from '../../markup/html.ts';
import { type Columns, table } from '../../markup/table.ts';
import { classes, classMeanings, type EffectClass } from '../../reconcile/classes.ts';
import type { FindingGroup } from '../../reconcile/desk/groups.ts';
import { type Comparison, countsOf } from '../../reconcile/desk/read.ts';
import type { Report } from '../../reconcile/record.ts';
import { reasons } from '../../reconcile/select.ts';
import { numberOf } from '../../views/amounts.ts';
import {
  claims,
  comparisonNotes,
  groupFacts,
  groupTitle,
  groupTone,
  noGroupsText,
  runFacts,
  runState,
  runTitle,
} from '../../views/reconcile.ts';

/** So many runs are drawn, this one among them. */
export const maxRunsDrawn = 30;

type Page = {
  /** The last runs. */
  reports: readonly Report[];
  /** Of the deployment. */
  name: string;
};

/** A run as one file that needs nothing else: neither a script, nor a picture, nor a network. */
export const reconcilePage = async (comparison: Comparison, { reports, name }: Page): Promise<string> => {
  const look = await readFile(new URL('../../markup/look.css', import.meta.url), 'utf8');
  const { report, groups } = comparison;
  const style = `\n${look}${own}`;
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'`;
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Comparison ${report.id} · ${name}</title><meta name="viewport" content="width=device-width, initial-scale=1">
<style>${raw(style)}</style></head><body>
<header class="head"><p class="stage">${name}</p><p>Proof of effect: does the platform hold what was sent to it?</p></header>
<main><h1>${runTitle(report)}</h1><p>${runFacts(report)}.</p>
<section class="first"><h2>What is known</h2>${notes([...claims(report), ...comparisonNotes(comparison)])}</section>
<section><h2>What the platform shows</h2>${classTable(report)}</section>
<section><h2>What was checked</h2>${lookedTable(report)}${snapshotsOf(report)}</section>
<section><h2>What differs, and what to do</h2>${groups.length === 0 ? html`<p>${noGroupsText(report)}</p>` : groups.map(groupOf)}</section>
<section><h2>The last runs</h2>${drawn(reports)}${runTable(reports)}</section>
<section><h2>What these figures mean</h2>${meanings(report)}</section></main>
<footer><p>Made by sis-relay at ${timeOf(Date.now())} from the records of this run. It names users and org units only by the platform’s ids, and holds no grades and no comments.</p></footer>
</body></html>
`;
  return String(await page);
};

/** Beside the look of the console: what tells a group apart, and sheets of paper. */
const own = `
.cause { border-left: 4px solid var(--line); }
.cause.bad { border-left-color: var(--bad); color: inherit; }
.cause.warn { border-left-color: var(--warn); color: inherit; }
.cards figure { margin: 0; }
@media print { @page { margin: 15mm; } h2 { break-after: avoid; } footer { display: block; } tr { break-inside: avoid; } }
`;

const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const kinds = { grade: 'Grades', enrollment: 'Enrollments' } as const;

const reasonTexts: Record<(typeof reasons)[number], string> = {
  recent: 'written recently',
  slice: 'its turn',
  sample: 'by chance',
  snapshot: 'in a snapshot',
};

/** By class, and why each was looked at. */
const classTable = (report: Report): Html => {
  const counts = countsOf(report);
  const { tallies, byKind } = report;
  return table('Writes by class', classes, {
    Class: (each) => html`<strong>${each}</strong> <span class="quiet">${classMeanings[each]}</span>`,
    All: (each) => counts[each],
    ...Object.fromEntries(
      Object.entries(kinds).map(([kind, title]) => [
        title,
        (each: EffectClass) => byKind[kind as keyof typeof kinds][each],
      ]),
    ),
    ...Object.fromEntries(
      reasons.map((reason) => [
        sentenceCase(reasonTexts[reason]),
        (each: EffectClass) => tallies[reason].byClass[each],
      ]),
    ),
  });
};

const sentenceCase = (text: string): string => text.replace(/^./, (first) => first.toUpperCase());

const lookedTable = ({ tallies }: Report): Html =>
  table('What was checked', reasons, {
    Why: (reason) => sentenceCase(reasonTexts[reason]),
    Chosen: (reason) => tallies[reason].selected,
    Checked: (reason) => tallies[reason].looked,
    'Not compared': (reason) => tallies[reason].uncompared,
  });

const snapshotsOf = ({ snapshots, sinceMs, startedMs, endedMs, nights, share }: Report): Html => {
  const since =
    sinceMs <= 0
      ? 'All writes that the ledger knows count as recent'
      : `Written recently: since ${timeOf(sinceMs)}`;
  const chance = share >= 1 ? 'all older ones' : `${(share * 100).toPrecision(2)} % of the older ones`;
  return html`<p>From ${timeOf(startedMs)} to ${timeOf(endedMs)}. ${since}. By chance: ${chance}. Each older one has its turn once in ${numberOf(nights)} nights.</p>
${snapshots.length === 0 ? '' : html`<p>Compared with these snapshots of the SIS: ${snapshots.map((each) => html`${said(each)} `)}</p>`}`;
};

const groupOf = (group: FindingGroup): Html => html`<div class="cause ${groupTone(group)}">
<h3><code>${group.id}</code> ${said(groupTitle(group))}</h3><p>${groupFacts(group)}.</p>
<p>${said(group.remedy)}</p><p class="quiet">Such as ${group.examples.map((each) => html`<code>${said(each)}</code> `)}</p></div>`;

const tones: Partial<Record<EffectClass, string>> = {
  ...{ same: 'good', changed: 'warn', extra: 'warn' },
  ...{ missing: 'bad', older: 'bad', different: 'bad', unreadable: 'bad' },
};

/** A small drawing for each class that occurs: beside what is the same, the others would not be seen. */
const drawn = (reports: readonly Report[]): Html => {
  const all = reports.toReversed().map((report) => ({ label: dayOf(report), counts: countsOf(report) }));
  const labels = all.map(({ label }) => label);
  const valuesOf = (each: EffectClass): number[] => all.map(({ counts }) => counts[each]);
  const shown = classes.filter((each) => valuesOf(each).some((count) => count > 0));
  return html`<div class="cards">${shown.map((each) =>
    columns(sentenceCase(each), labels, [
      { name: 'writes', tone: tones[each] ?? 'plain', values: valuesOf(each) },
    ]),
  )}</div>`;
};

const dayOf = ({ startedMs }: Report): string =>
  new Date(startedMs).toISOString().slice(0, 16).replace('T', ' ');

const runTable = (reports: readonly Report[]): Html => {
  const counted: Columns<Report> = Object.fromEntries(
    classes.map((each) => [sentenceCase(each), (report: Report) => countsOf(report)[each]]),
  );
  return table('The last runs', reports, {
    Run: ({ id }) => id,
    State: (report) => runState(report),
    ...counted,
    Accepted: ({ accepted }) => accepted,
  });
};

const meanings = ({ nights }: Report): Html => html`<ul>
<li>sis-relay keeps a keyed digest of each field that it has written, for as long as its ledger remembers. A run reads the platform and compares what the platform shows with these digests. It changes nothing.</li>
<li>“All were compared” means that each of these writes was read on the platform and compared. “None differs” means that each still had the value that was sent last. What somebody has changed on the platform since is counted separately.</li>
<li>A figure “with 95 % confidence” is the upper bound of Clopper and Pearson for a random sample. If a larger share of all older writes differed, a sample would show so few of them in at most one of twenty runs. No such figure is given if only a part of the sample was checked.</li>
<li>What a person or another program has changed on the platform since is not a fault. It is counted separately. So is what is on the platform but not in the SIS.</li>
<li>A write cannot be compared if it is in progress, if its digest is missing or was made with a key that no longer exists, or if the platform does not show it.</li>
<li>Each older write has its turn once in ${numberOf(nights)} nights. So a fault in it is found within that time, if every run finishes.</li>
</ul>`;
