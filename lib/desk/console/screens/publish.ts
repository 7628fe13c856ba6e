import { text as readText } from 'node:stream/consumers';
import { UsageError } from '../../../stage/command-errors.ts';
import { letterIndexOf } from '../../messages/letters/list.ts';
import { type BadRow, badRows, type GoodRow, goodRows } from '../../messages/publish/bad-rows.ts';
import { awaitOutcomes } from '../../messages/publish/outcomes.ts';
import { publishMessages } from '../../messages/publish/publish.ts';
import { mappingIn } from '../../messages/publish/rows.ts';
import { countOf, numberOf } from '../../views/format.ts';
import { outcomesView, publishedNotes } from '../../views/publish.ts';
import { type Cell, table, text, type View } from '../../views/view.ts';
import { addAction, addScreen, type ConsoleServices, fileIn, offered } from '../console-services.ts';
import { checkbox, choice } from '../html/forms.ts';
import { html } from '../html/html.ts';

/** Rows that the tables show; all are counted. */
const [maxRows, maxValid] = [200, 20];
const waitSeconds = 120;

export const addPublish = (services: ConsoleServices): void => {
  const { target, audit, runs, integrations, readOnly } = services;
  addScreen(
    services,
    ['/publish', 'Publish'],
    () => html`<p>A table (CSV, UTF-8) or JSON of messages. Each row is checked first. Nothing is sent before you agree.</p>
${offered(
  services,
  '/publish',
  html`<form method="post" action="/publish" enctype="multipart/form-data">
<label class="drop">Drop a file here, or choose one <input type="file" name="file" required autofocus accept=".csv,.json,.jsonl,.ndjson"></label>
<label>Mapping file, if the columns are the SIS’ own <input type="file" name="map" accept=".json"></label>
${choice('function', 'Function (for rows without an envelope)', { options: [...integrations.keys()], none: 'as each message says' })}
${checkbox('now', 'Each message gets the current time')}${checkbox('bulk', 'A large load: other messages go first')}<button>Check</button></form>`,
)}`,
  );

  addAction(services, '/publish', async (form, context) => {
    const name = form.get('function') ?? '';
    const [input, map] = [await fileIn(context, 'file'), await fileIn(context, 'map')];
    if (input === undefined) throw new UsageError('Choose a file that is not empty.');
    const source = {
      input,
      integrations,
      now: form.get('now') === 'yes',
      ...(name !== '' && { function: name }),
      ...(map && { mapping: mappingIn(map.name, await readText(map.open()), integrations) }),
    };
    return runs.begin('Publish', async (at) => {
      const { signal } = at;
      const options = { ...source, validOnly: true, bulk: form.get('bulk') === 'yes', audit, signal };
      const { valid, invalid, ...checked } = await publishMessages(target, { ...options, dryRun: true });
      const good = await goodRows(source, { ...checked, invalid, limit: maxValid, integrations });
      const bad = await badRows(source, { ...checked, limit: maxRows, integrations });
      at.show('Check', [
        text(`File: ${input.name}${map ? `. Mapping: ${map.name}` : ''}`),
        ...publishedNotes({ valid, invalid, ...checked }),
        ...gridOf(bad, invalid),
        ...validGrid(good, valid),
      ]);
      if (valid === 0 || readOnly) return;
      const leaveOut = `Leave out ${countOf(invalid, 'row that is', 'rows that are')} not valid`;
      const answer = await at.ask({
        text: invalid > 0 ? 'Not all rows are valid. Send the others?' : 'Send the messages?',
        act: `Send ${countOf(valid, 'message')}`,
        fields: invalid > 0 ? [{ checkbox: 'leaveOut', label: leaveOut, isRequired: true }] : [],
      });
      if (answer === undefined || (invalid > 0 && answer.leaveOut !== 'yes')) return;
      const onSent = at.progress('Sent');
      const published = await publishMessages(target, { ...options, dryRun: false, receipts: true, onSent });
      at.show('Sent', publishedNotes(published));
      const onKnown = at.progress('Waiting for the outcomes:');
      onKnown(0, published.sent);
      const awaited = await awaitOutcomes(letterIndexOf(target), published.messages, {
        waitSeconds,
        signal,
        onKnown,
      });
      at.show('Outcomes', outcomesView(awaited));
    });
  });
};

/** The first valid rows, with the fields of their messages. */
const validGrid = (rows: readonly GoodRow[], valid: number): View => [
  table('Valid rows', rows, {
    Line: ({ line }) => line,
    Function: ({ function: name }) => name,
    ...Object.fromEntries(
      [...new Set(rows.flatMap(({ cells }) => [...cells.keys()]))].map((name) => [
        name,
        ({ cells }: GoodRow) => cells.get(name) ?? '',
      ]),
    ),
  }),
  valid > rows.length && { more: `The first ${numberOf(rows.length)} of ${countOf(valid, 'valid message')}` },
];

/** The invalid rows as a table with the file's own columns; each problem is shown at its cell. */
const gridOf = (rows: readonly BadRow[], invalid: number): View => {
  const names = new Set(rows.flatMap(({ cells, wrong }) => [...cells.keys(), ...wrong.keys()]));
  const cellOf = ({ cells, wrong }: BadRow, name: string): Cell => {
    const [value = '', problem] = [cells.get(name), wrong.get(name)];
    return problem === undefined
      ? value
      : [
          { text: value, tone: 'bad' },
          { text: problem, tone: 'bad' },
        ];
  };
  const columns = [...names].map((name) => [name, (row: BadRow) => cellOf(row, name)] as const);
  return [
    table('Rows that are not valid', rows, {
      Line: ({ line }) => line,
      ...Object.fromEntries(columns),
      Problem: ({ problem }) => problem,
    }),
    invalid > rows.length && { more: `The first ${numberOf(rows.length)} of ${numberOf(invalid)}` },
  ];
};
