import { streamSSE } from 'hono/streaming';
import type { Status } from '../../connection/status.ts';
import { readAuditLog } from '../../deployment/audit-log.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import { pauseFunctions, resumeFunctions } from '../../deployment/pause.ts';
import { needsDecision } from '../../failure.ts';
import { bars, columns } from '../../markup/chart.ts';
import { type Html, href, html, said } from '../../markup/html.ts';
import { badge, notes, toneOf } from '../../markup/notes.ts';
import { table } from '../../markup/table.ts';
import { wakeMessages } from '../../waiting/wake.ts';
import { ageOf, countOf, numberOf } from '../../wording/amounts.ts';
import type { Note } from '../../wording/notes.ts';
import { connectionNotes, incidentNotes, isPaused, pausedText, windowText } from '../../wording/status.ts';
import { wokenNotes } from '../../wording/waiting.ts';
import { type App, type Desk, filterFrom, formOf, render } from '../desk.ts';
import { createKept } from '../kept.ts';
import { button, hiddenFields, later, reasonField } from '../page.ts';

const liveMs = 5_000;

export const addOverview = (app: App, desk: Desk): void => {
  const { target, audit, integrations, runs, lists } = desk;
  const content = async (): Promise<Html> => {
    const { value, atMs } = await desk.status.get();
    return html`${overview(value, desk)}<p class="quiet">As of ${timeOf(atMs)}.</p>`;
  };
  app.get('/', async (context) =>
    render(
      desk,
      context,
      'Overview',
      html`<div data-live="/live">${await content()}</div>
<section><h2>The last day</h2>${later('/trends', 'Letters by hour, and what was put right')}</section>`,
    ),
  );
  app.get('/live', (context) =>
    streamSSE(
      context,
      async (stream) => {
        for (let before = ''; !stream.aborted && !desk.signal.aborted; ) {
          const now = String(await content());
          if (now !== before) await stream.writeSSE({ data: now });
          before = now;
          await stream.sleep(liveMs);
        }
      },
      // The page asks anew what is wrong, and tells it.
      async () => {},
    ),
  );

  const deeds = createKept(
    () => readAuditLog(target, { sinceMs: Date.now() - dayHours * hourMs, signal: desk.signal }),
    { freshMs: 60_000 },
  );
  app.get('/trends', async (context) => {
    const [{ value: letters }, { value: log }] = await Promise.all([lists.letters.get(), deeds.get()]);
    const rightAt = log.commands.flatMap(({ at, command, counts }) =>
      command.startsWith('letters')
        ? [{ atMs: Date.parse(at), count: (counts.sent ?? 0) + (counts.discarded ?? 0) }]
        : [],
    );
    return render(desk, context, 'Trends', html`<div id="part">${trend(letters.all, rightAt)}</div>`);
  });

  app.post('/wake', async (context) => {
    const form = await formOf(context);
    const { filter } = filterFrom(form);
    const reason = form.get('reason') || undefined;
    const run = runs.begin('Wake what waits', async (at) => {
      const woken = await wakeMessages(target, {
        ...{ filter, reason, dryRun: false, signal: at.signal, audit },
        confirm: async () => true,
        onWoken: at.progress('Woken'),
      });
      at.show('result', notes(wokenNotes(woken)));
    });
    return context.redirect(`/runs/${run.id}`, 303);
  });
  for (const [path, verb, title] of [
    ['/pause', pauseFunctions, 'Pause'],
    ['/resume', resumeFunctions, 'Resume'],
  ] as const)
    app.post(path, async (context) => {
      const form = await formOf(context);
      const [functions, reason] = [form.getAll('function'), form.get('reason')?.trim() || undefined];
      if (path === '/pause' && reason === undefined) throw new UsageError('A pause needs a reason.');
      const known = [...integrations.keys()];
      const run = runs.begin(`${title} ${functions.join(', ')}`, async (at) => {
        const changes = await verb(target, { functions, known, reason, audit, signal: at.signal });
        at.show(
          'result',
          notes(
            changes.map(
              ({ function: name, was, state, done }): Note => ({
                tone: done ? 'good' : 'warn',
                text: `${name}: its event-source mapping was ${was} and is ${state}${done ? '.' : ': AWS has not done it yet.'}`,
              }),
            ),
          ),
        );
      });
      return context.redirect(`/runs/${run.id}`, 303);
    });
};

const dayHours = 24;
const hourMs = 3_600_000;

const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(11, 19)} UTC`;

const overview = (status: Status, desk: Desk): Html => {
  const { queues, letters, waiting, connection, pace, incidents = [], paused = [] } = status;
  const { groups, counts } = letters;
  const total = groups.reduce((sum, group) => sum + group.letters, 0);
  const kinds = [...Map.groupBy(groups, ({ kind }) => kind)].map(([kind, each]) => ({
    ...{ label: kind, href: href('/letters', { kind }), tone: toneOf(kind) },
    value: each.reduce((sum, group) => sum + group.letters, 0),
  }));
  return html`<section class="first"><h2>What to do first</h2>${firstOf(status)}</section>
<div class="cards">
<section><h2>${countOf(total, 'letter')}</h2>${
    letters.unread === undefined
      ? bars(
          'Letters by kind',
          kinds.sort((one, other) => other.value - one.value),
        )
      : html`<p class="problem">${said(letters.unread)}</p>`
  }${total > 0 ? html`<p><a href="/causes">By cause, and what to do</a></p>` : html`<p class="quiet">There are no dead letters.</p>`}</section>
<section><h2>${countOf(
    waiting.reduce((sum, { messages }) => sum + messages, 0),
    'message waits',
    'messages wait',
  )}</h2>${bars(
    'What waits, by cause',
    waiting.map(({ messages, kind, function: name }) => ({
      ...{ label: `${name}: ${kind}`, value: messages, tone: 'warn' },
      href: href('/waiting', { function: name, kind }),
    })),
  )}${waiting.map(
    ({ kind, function: name, error, remedy, oldestMs, nextMs }) =>
      html`<details><summary>${badge(kind)} ${said(name)}</summary>
<p>${said(error)}</p>${remedy ? html`<p class="todo">→ ${said(remedy)}</p>` : ''}
<p class="quiet">The oldest since ${ageOf(oldestMs)}${nextMs === undefined ? '' : `; the next try in ${ageOf(2 * Date.now() - nextMs)}`}.</p>
${desk.readOnly ? '' : html`<form method="post" action="/wake">${hiddenFields({ function: name, kind })}${reasonField(false)}<button>Wake them now</button></form>`}</details>`,
  )}</section>
<section><h2>Platform</h2>${notes(connectionNotes(connection))}${
    connection?.scopes ? html`<p class="quiet">Scopes asked for: ${connection.scopes.join(' ')}</p>` : ''
  }${notes(incidents.flatMap(incidentNotes))}</section>
<section><h2>Pace</h2><p>${windowText(pace.window)}</p>${
    typeof pace.window === 'object' && pace.window.budget !== undefined && pace.window.used !== undefined
      ? html`<label>Budget used <meter max="${pace.window.budget}" value="${pace.window.used}" high="${0.9 * pace.window.budget}"></meter></label>`
      : ''
  }${bars(
    'Calls of the platform',
    (pace.calls ?? []).flatMap(({ function: name, priority, calls, refused }) => [
      { label: `${name} (${priority})`, value: calls },
      ...(refused > 0 ? [{ label: `${name}: refused`, value: refused, tone: 'bad' }] : []),
    ]),
  )}<p class="quiet">Calls since ${timeOf(pace.sinceMs)}.</p></section>
<section class="wide"><h2>Queues</h2>${table(
    'Queues',
    [
      { title: 'Function', cell: ({ function: name }) => name },
      ...(['visible', 'inFlight', 'delayed'] as const).map((which) => ({
        title: { visible: 'Visible', inFlight: 'In flight', delayed: 'Delayed' }[which],
        isNumber: true,
        cell: (queue: (typeof queues)[number]) => (queue[which] === 0 ? '–' : numberOf(queue[which])),
      })),
      { title: 'Deliveries', cell: ({ function: name }) => deliveriesOf(name, paused, desk) },
    ],
    [...queues, { function: 'dead-letters', ...counts, oldestMs: undefined }],
  )}</section></div>`;
};

const deliveriesOf = (name: string, paused: NonNullable<Status['paused']>, desk: Desk): Html | undefined => {
  const stopped = paused.find((each) => each.function === name && isPaused(each));
  if (name === 'dead-letters') return undefined;
  if (stopped)
    return html`<span class="problem">${said(pausedText(stopped))}</span> ${desk.readOnly ? '' : button('/resume', 'Resume', { function: name })}`;
  if (desk.readOnly) return html`on`;
  return html`<details><summary>on</summary><form method="post" action="/pause">${hiddenFields({ function: name })}${reasonField(true)}<button>Pause ${name}</button></form></details>`;
};

/** The most urgent first: what stops everything, then what only a person can decide, then the largest causes. */
const firstOf = ({ connection, paused, letters: { groups }, incidents, waiting }: Status): Html => {
  const undecided = groups.filter(({ kind }) => needsDecision(kind));
  const count = undecided.reduce((sum, { letters }) => sum + letters, 0);
  const others = groups.filter(({ kind }) => !needsDecision(kind)).slice(0, 3);
  const all = [
    ...(connection?.problems ?? []).map(({ what, remedy }) => html`${said(what)} → ${said(remedy)}`),
    ...(incidents ?? []).map(({ message, remedy }) => html`${said(message)} → ${said(remedy)}`),
    ...(paused ?? []).map((each) => html`${said(pausedText(each))}`),
    ...(count > 0
      ? [html`<a href="/uncertain">${countOf(count, 'letter needs', 'letters need')} your decision</a>`]
      : []),
    ...others.map(
      ({ letters, kind, function: name, cause, remedy }) =>
        html`<a href="/causes#${cause}">${countOf(letters, 'letter')} of ${said(name || 'no function')}</a> ${badge(kind)} → ${said(remedy)}`,
    ),
  ];
  if (all.length > 0) return html`<ol>${all.map((each) => html`<li>${each}</li>`)}</ol>`;
  return waiting.length > 0
    ? html`<p>Nothing: what waits goes on by itself.</p>`
    : html`<p class="good">Nothing. All is well.</p>`;
};

const trend = (
  letters: readonly { atMs: number }[],
  deeds: readonly { atMs: number; count: number }[],
): Html => {
  const first = Math.floor(Date.now() / hourMs) - dayHours + 1;
  const hours = Array.from({ length: dayHours }, (_, at) => first + at);
  const sums = (events: readonly { atMs: number; count?: number }[]): number[] => {
    const byHour = new Map<number, number>();
    for (const { atMs, count = 1 } of events) {
      const hour = Math.floor(atMs / hourMs);
      byHour.set(hour, (byHour.get(hour) ?? 0) + count);
    }
    return hours.map((hour) => byHour.get(hour) ?? 0);
  };
  return columns(
    'By hour, UTC',
    hours.map((hour) => `${String(hour % 24).padStart(2, '0')}:00`),
    [
      { name: 'became letters, and are still', tone: 'bad', values: sums(letters) },
      { name: 'sent again or discarded', tone: 'good', values: sums(deeds) },
    ],
  );
};
