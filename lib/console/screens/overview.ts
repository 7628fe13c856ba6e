import { createKept } from '../../aws/kept.ts';
import type { Status } from '../../connection/status.ts';
import { readAuditLog } from '../../deployment/audit-log.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import { type PausedFunction, pauseFunctions, resumeFunctions } from '../../deployment/pause.ts';
import { needsDecision } from '../../failure.ts';
import { bars, hourly } from '../../markup/chart.ts';
import { button, hiddenFields, reasonField } from '../../markup/forms.ts';
import { badge, type Html, html, later, notes, said } from '../../markup/html.ts';
import { table } from '../../markup/table.ts';
import { ageOf, countOf } from '../../views/amounts.ts';
import { causeText, kindTone } from '../../views/letters.ts';
import { lastComparisonNote } from '../../views/reconcile.ts';
import { waitingSnapshotText } from '../../views/snapshots.ts';
import { connectionNotes, incidentNotes, isPaused, pausedText, windowText } from '../../views/status.ts';
import { href } from '../../views/view.ts';
import { nextOfGroup, waitText, wakePlanNotes, wokenNotes } from '../../views/waiting.ts';
import type { WaitingGroup } from '../../waiting/waiting.ts';
import { type WakePlan, wakeMessages } from '../../waiting/wake.ts';
import { addLive, addScreen, addVerb, type Desk, filterFrom, reasonIn } from '../desk.ts';
import { clock, origin } from './cells.ts';

const dayMs = 24 * 3_600_000;

export const addOverview = (desk: Desk): void => {
  const { target, audit, integrations, runs, lists } = desk;
  const look = async () => {
    const { value, atMs } = await desk.status.get();
    const part = () => html`${overview(value, desk)}<p class="quiet">As of ${clock(atMs)}.</p>`;
    return { version: atMs, part };
  };
  addScreen(
    desk,
    ['/', 'Overview'],
    async () => html`<div data-live="/overview/live">${(await look()).part()}</div>
<section><h2>The last day</h2>${later('/trends', 'Letters by hour, and what was done about them')}</section>`,
  );
  addLive(desk, '/overview/live', look);

  const readDeeds = () => readAuditLog(target, { sinceMs: Date.now() - dayMs, signal: desk.signal });
  const deeds = createKept(readDeeds, { freshMs: 60_000 });
  addScreen(desk, ['/trends', 'Trends'], async () => {
    const [{ value: letters }, { value: log }] = await Promise.all([lists.letters.get(), deeds.get()]);
    const right = log.commands.map(({ at, counts: { sent = 0, discarded = 0 }, command }) => ({
      ...{ atMs: Date.parse(at), count: command.startsWith('letters ') ? sent + discarded : 0 },
    }));
    return html`<div id="part">${hourly('By hour, UTC', [
      { name: 'became letters, and still are', tone: 'bad', events: letters.all },
      { name: 'sent again or discarded', tone: 'good', events: right },
    ])}</div>`;
  });

  addVerb(desk, '/wake', (form) => {
    const { filter } = filterFrom(form);
    const reason = form.get('reason') || undefined;
    return runs.begin('Wake what waits', async (at) => {
      const confirm = async (plan: WakePlan): Promise<boolean> => {
        at.show('Plan', html`${wakeTable(plan.groups)}${notes(wakePlanNotes(plan))}`);
        const act = `Wake ${countOf(plan.messages, 'message')}`;
        const text = 'The functions handle them now. A message whose cause remains waits again.';
        return plan.messages > 0 && (await at.ask({ text, act })) !== undefined;
      };
      const options = { filter, reason, dryRun: false, audit, signal: at.signal, confirm };
      const woken = await wakeMessages(target, { ...options, onWoken: at.progress('Woken') });
      at.show('Result', notes(wokenNotes(woken)));
    });
  });
  const addPausing = (path: string, title: string, verb: typeof pauseFunctions): void =>
    void addVerb(desk, path, (form) => {
      const reason = verb === pauseFunctions ? reasonIn(form) : undefined;
      const [functions, known] = [form.getAll('function'), [...integrations.keys()]];
      if (functions.length === 0) throw new UsageError('Which function?');
      const named = known.filter((each) => functions.includes(each)).join(', ');
      return runs.begin(`${title} ${named}`, async (at) => {
        const changes = await verb(target, { functions, known, reason, audit, signal: at.signal });
        const told = changes.map(({ function: name, was, state, done }) => ({
          tone: done ? ('good' as const) : ('warn' as const),
          text: `${name}: its event-source mapping was ${was} and is ${state}${done ? '.' : '. AWS has not finished the change.'}`,
        }));
        at.show('Result', notes(told));
      });
    });
  addPausing('/pause', 'Pause', pauseFunctions);
  addPausing('/resume', 'Resume', resumeFunctions);
};

const wakeTable = (groups: readonly WaitingGroup[]): Html =>
  table('What is woken', groups, {
    Messages: ({ messages }) => messages,
    ...origin,
    Error: ({ error }) => said(error),
  });

const sumOf = <Row>(rows: readonly Row[], countIn: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + countIn(row), 0);

const overview = (status: Status, desk: Desk): Html => {
  const { queues, letters, waiting, connection, pace, incidents = [], paused = [] } = status;
  const all = [...queues, { function: 'dead-letters', ...letters.counts }];
  const total = sumOf(letters.groups, (group) => group.letters);
  const kinds = [...Map.groupBy(letters.groups, ({ kind }) => kind)].map(([kind, groups]) => ({
    ...{ label: kind, href: href('/letters', { kind }), tone: kindTone(kind) },
    value: sumOf(groups, (group) => group.letters),
  }));
  kinds.sort((one, other) => other.value - one.value);
  const calls = (pace.calls ?? []).flatMap(({ function: name, priority, calls: count, refused }) => [
    { label: `${name} (${priority})`, value: count },
    ...(refused > 0 ? [{ label: `${name}: refused`, value: refused, tone: 'bad' }] : []),
  ]);
  return html`<section class="first"><h2>What to do first</h2>${firstOf(status)}</section><div class="cards">
<section><h2>${countOf(total, 'letter')}</h2>${letters.unread === undefined ? '' : html`<p class="problem">${said(letters.unread)}</p>`}
${bars('Letters by kind', kinds)}${total > 0 ? html`<p><a href="/causes">By cause, and what to do</a></p>` : ''}</section>
<section><h2>${waitText(sumOf(waiting, ({ messages }) => messages))}</h2>${bars(
    'What waits, by cause',
    waiting.map(({ messages: value, kind, function: name }) => ({
      ...{ label: `${name}: ${kind}`, value, tone: 'warn', href: href('/waiting', { function: name, kind }) },
    })),
  )}${waiting.map((group) => waitingOf(group, desk))}</section>
<section><h2>Platform</h2>${notes([...connectionNotes(connection), ...incidents.flatMap(incidentNotes)])}
${connection?.scopes ? html`<p class="quiet">Scopes asked for: ${said(connection.scopes.join(' '))}</p>` : ''}</section>
<section><h2>Pace</h2><p>${windowText(pace.window)}</p>${budgetOf(pace.window)}<p>Calls since ${clock(pace.sinceMs)}:</p>${bars('Calls to the platform', calls)}</section>
<section class="wide"><h2>Queues</h2>${table('Queues', all, {
    Function: ({ function: name }) => name,
    Visible: ({ visible }) => visible,
    'In flight': ({ inFlight }) => inFlight,
    Delayed: ({ delayed }) => delayed,
    Deliveries: ({ function: name }) => (name === 'dead-letters' ? '' : deliveriesOf(name, paused, desk)),
  })}</section></div>`;
};

const budgetOf = (window: Status['pace']['window']): Html => {
  if (typeof window !== 'object' || window.budget === undefined || window.used === undefined) return html``;
  return html`<label>Budget used <meter max="${window.budget}" value="${window.used}" high="${0.9 * window.budget}"></meter></label>`;
};

const waitingOf = (group: WaitingGroup, { readOnly }: Desk): Html => {
  const { kind, function: name, error, remedy, oldestMs } = group;
  return html`<details><summary>${badge(kind)} ${said(name)}: ${said(error)}</summary>${remedy ? html`<p class="todo">→ ${said(remedy)}</p>` : ''}
<p class="quiet">The oldest has waited ${ageOf(oldestMs)}; next try: ${nextOfGroup(group)}.</p>
${readOnly ? '' : html`<form method="post" action="/wake">${hiddenFields({ function: name, kind })}${reasonField(false)}<button>Wake all of ${name} that wait because of this</button></form>`}</details>`;
};

const deliveriesOf = (name: string, paused: readonly PausedFunction[], { readOnly }: Desk): Html => {
  const stopped = paused.find((each) => each.function === name && isPaused(each));
  const fields = { function: name };
  if (stopped)
    return html`<span class="problem">${said(pausedText(stopped))}</span> ${readOnly ? '' : button('/resume', 'Resume', fields)}`;
  if (readOnly) return html`on`;
  return html`<details><summary>on</summary><form method="post" action="/pause">${hiddenFields(fields)}${reasonField(true)}<button>Pause ${name}</button></form></details>`;
};

/** What stops everything, then what only a person can decide, then the largest causes. */
const firstOf = ({ letters: { groups }, ...status }: Status): Html => {
  const { connection, paused = [], incidents = [], snapshots = [], waiting, comparison } = status;
  const undecided = sumOf(groups, ({ kind, letters }) => (needsDecision(kind) ? letters : 0));
  const todo = (what: Html, remedy: string): Html => html`${what} → ${said(remedy)}`;
  const causes = groups.filter(({ kind }) => !needsDecision(kind)).slice(0, 3);
  const all = [
    ...(connection?.problems ?? []).map(({ what, remedy }) => todo(said(what), remedy)),
    ...incidents.map(({ message, remedy }) => todo(said(message), remedy)),
    ...paused.map((each) => said(pausedText(each))),
    ...snapshots.map((each) => html`<a href="/snapshots/${each.id}">${waitingSnapshotText(each)}</a>`),
    comparison &&
      comparison.faults > 0 &&
      html`<a href="/reconcile">${lastComparisonNote(comparison)?.text}</a>`,
    undecided > 0 &&
      html`<a href="/uncertain">${countOf(undecided, 'letter needs', 'letters need')} your decision</a>`,
    ...causes.map(({ letters, kind, function: name, cause, remedy, ...why }) => {
      const what = html`<a href="/causes#${cause}">${countOf(letters, 'letter')} of ${said(name || 'no function')}</a> ${badge(kind)} ${said(causeText(why))}`;
      return todo(what, remedy);
    }),
  ].filter(Boolean);
  if (all.length > 0) return html`<ol>${all.map((each) => html`<li>${each}</li>`)}</ol>`;
  return waiting.length > 0
    ? html`<p>Nothing: messages that wait continue by themselves.</p>`
    : html`<p class="good">Nothing. All is well.</p>`;
};
