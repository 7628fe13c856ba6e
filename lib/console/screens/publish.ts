import { Readable } from 'node:stream';
import { deskOf } from '../../dead-letters/reading/records.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import { jsonIn } from '../../json.ts';
import { type Html, html, said } from '../../markup/html.ts';
import { badge, notes } from '../../markup/notes.ts';
import { table } from '../../markup/table.ts';
import type { Input } from '../../publish/input.ts';
import { type Awaited, awaitOutcomes } from '../../publish/outcomes.ts';
import { type Published, publishMessages } from '../../publish/publish.ts';
import { openRows } from '../../publish/rows.ts';
import { countOf, numberOf } from '../../wording/amounts.ts';
import { publishedNotes } from '../../wording/publish.ts';
import { type App, type Desk, render } from '../desk.ts';

/** Rows that a grid shows; all are counted. */
const maxRows = 200;
const waitSeconds = 120;

export const addPublish = (app: App, desk: Desk): void => {
  const { target, audit, runs, integrations, readOnly } = desk;
  app.get('/publish', (context) =>
    render(
      desk,
      context,
      'Publish',
      html`<p>A table (CSV, UTF-8) or JSON of messages. Each row is checked first; nothing is sent before you agree.</p>
<form method="post" action="/publish" enctype="multipart/form-data">
<label class="drop">Drop a file here, or choose one <input type="file" name="file" required accept=".csv,.json,.jsonl,.ndjson"></label>
<label>Function, for rows without an envelope <select name="function"><option value="">as each message says</option>${[...integrations.keys()].map((name) => html`<option>${name}</option>`)}</select></label>
<label class="check"><input type="checkbox" name="now" value="yes"> Each message counts as said now</label>
<label class="check"><input type="checkbox" name="bulk" value="yes"> A large load, which leaves the platform to others</label>
<button>Check</button></form>`,
    ),
  );

  app.post('/publish', async (context) => {
    const form = await context.req.formData();
    const file = form.get('file');
    if (!(file instanceof File) || file.size === 0) throw new UsageError('Choose a file that is not empty.');
    const content = Buffer.from(await file.arrayBuffer());
    const input: Input = {
      name: file.name,
      open: () => Readable.from([content], { objectMode: false }),
      [Symbol.asyncDispose]: async () => {},
    };
    const name = form.get('function');
    const source = {
      ...{ input, integrations, now: form.get('now') === 'yes' },
      ...(typeof name === 'string' && name !== '' && { function: name }),
    };
    const run = runs.begin('Publish', async (at) => {
      const options = { ...source, bulk: form.get('bulk') === 'yes', audit, signal: at.signal };
      const checked = await publishMessages(target, { ...options, dryRun: true, validOnly: true });
      at.show(
        'check',
        html`<h2>Check</h2>${notes(publishedNotes(checked))}${await gridOf(checked, () => openRows(source, integrations))}`,
      );
      if (checked.valid === 0 || readOnly) return;
      const left = checked.invalid > 0 ? `, and leave ${numberOf(checked.invalid)} out` : '';
      if (!(await at.ask({ text: '', act: `Send ${countOf(checked.valid, 'message')}${left}` }))) return;
      const published = await publishMessages(target, {
        ...{ ...options, dryRun: false, validOnly: true, receipts: true },
        onSent: at.progress('Sent'),
      });
      at.show('sent', html`<h2>Sent</h2>${notes(publishedNotes(published))}`);
      at.progress('Waiting for what becomes of them')(0, published.sent);
      const options2 = { waitSeconds, signal: at.signal };
      const awaited = await awaitOutcomes(deskOf(target), published.messages, options2);
      at.show('outcome', outcomesOf(awaited));
    });
    return context.redirect(`/runs/${run.id}`, 303);
  });
};

/** The rows that are not valid, as a table of the file's own columns; what is wrong stands at its cell. */
const gridOf = async (
  { problems, invalid }: Published,
  open: () => ReturnType<typeof openRows>,
): Promise<Html> => {
  if (problems.length === 0) return html``;
  const byLine = new Map(problems.slice(0, maxRows).map(({ line, problem }) => [line, problem]));
  const rows: { line: number; problem: string; cells: Map<string, string> }[] = [];
  for await (const { line, body = '' } of (await open())()) {
    const problem = byLine.get(line);
    if (problem !== undefined) rows.push({ line, problem, cells: cellsIn(body) });
    if (rows.length === byLine.size) break;
  }
  const names = [
    ...new Set(rows.flatMap(({ cells, problem }) => [...cells.keys(), ...fieldsIn(problem).keys()])),
  ];
  return html`${table(
    'Rows that are not valid',
    [
      { title: 'Line', isNumber: true, cell: ({ line }) => numberOf(line) },
      ...names.map((name) => ({
        title: name,
        cell: ({ cells, problem }: (typeof rows)[number]) => {
          const wrong = fieldsIn(problem).get(name);
          const text = said(cells.get(name) ?? '');
          return wrong === undefined
            ? text
            : html`<span class="wrong">${text} <strong>${said(wrong)}</strong></span>`;
        },
      })),
      { title: 'Problem', cell: ({ problem }) => said(problem) },
    ],
    rows,
  )}${invalid > rows.length ? html`<p class="quiet">The first ${numberOf(rows.length)} of ${numberOf(invalid)}.</p>` : ''}`;
};

/** `data.grade.points: must be …; data.userId: …`, by column. */
const fieldsIn = (problem: string): Map<string, string> =>
  new Map(
    [...problem.matchAll(/(?:^|[;,] )(?:data\.)?([\w.[\]]+): ([^;]+)/g)].map(([, name = '', text = '']) => [
      name.replace(/\[(\d+)\]/g, '.$1'),
      text,
    ]),
  );

/** The leaves of the message's data, by column. */
const cellsIn = (body: string): Map<string, string> => {
  const cells = new Map<string, string>();
  const collect = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) collect(each, path === '' ? name : `${path}.${name}`);
    else if (path !== '') cells.set(path, String(value));
  };
  collect((jsonIn(body) as { data?: unknown } | undefined)?.data ?? {}, '');
  return cells;
};

const outcomesOf = ({ messages, outcomes, unread }: Awaited): Html =>
  html`<h2>Outcomes</h2><p>${Object.entries(outcomes)
    .flatMap(([outcome, count]) => (count > 0 ? `${numberOf(count)} ${outcome}` : []))
    .join(', ')}.</p>${unread ? html`<p class="warn">What became of the others could not be read.</p>` : ''}
${table(
  'What was not done',
  [
    { title: 'Line', isNumber: true, cell: ({ line }) => numberOf(line) },
    { title: 'Function', cell: ({ function: name }) => name },
    { title: 'Event', cell: ({ eventId }) => said(eventId) },
    { title: 'Outcome', cell: ({ outcome, kind }) => (kind ? html`${outcome} ${badge(kind)}` : outcome) },
    { title: 'Why', cell: ({ error }) => said(error ?? '') },
    {
      title: 'Letter',
      cell: ({ messageId, outcome }) =>
        outcome === 'letter' ? html`<a href="/letters/${messageId}">${messageId.slice(0, 8)}</a>` : '',
    },
  ],
  messages.filter(({ outcome }) => !['done', 'duplicate', 'superseded'].includes(outcome)).slice(0, maxRows),
  'All were done.',
)}`;
