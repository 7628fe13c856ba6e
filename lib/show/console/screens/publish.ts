import { deskOf } from '../../../operate/messages/letters/records.ts';
import { type BadRow, badRows } from '../../../operate/messages/publish/bad-rows.ts';
import { awaitOutcomes } from '../../../operate/messages/publish/outcomes.ts';
import { publishMessages } from '../../../operate/messages/publish/publish.ts';
import { UsageError } from '../../../operate/stage/command-errors.ts';
import { type Input, inputOf } from '../../../operate/stage/input.ts';
import { countOf, numberOf } from '../../views/amounts.ts';
import { outcomesView, publishedNotes } from '../../views/publish.ts';
import { type Cell, table, type View } from '../../views/view.ts';
import { addScreen, addVerb, type Context, type Desk } from '../desk.ts';
import { checkbox, choice } from '../html/forms.ts';
import { html } from '../html/html.ts';

/** Rows that the grid shows; all are counted. */
const maxRows = 200;
const waitSeconds = 120;

export const addPublish = (desk: Desk): void => {
  const { target, audit, runs, integrations, readOnly } = desk;
  addScreen(
    desk,
    ['/publish', 'Publish'],
    () => html`<p>A table (CSV, UTF-8) or JSON of messages. Each row is checked first. Nothing is sent before you agree.</p>
<form method="post" action="/publish" enctype="multipart/form-data">
<label class="drop">Drop a file here, or choose one <input type="file" name="file" required accept=".csv,.json,.jsonl,.ndjson"></label>
${choice('function', 'Function (for rows without an envelope)', { options: [...integrations.keys()], none: 'as each message says' })}
${checkbox('now', 'Each message gets the current time')}${checkbox('bulk', 'A large load: other messages go first')}<button>Check</button></form>`,
  );

  addVerb(desk, '/publish', async (form, context) => {
    const name = form.get('function') ?? '';
    const source = {
      ...{ input: await fileIn(context), integrations, now: form.get('now') === 'yes' },
      ...(name !== '' && { function: name }),
    };
    return runs.begin('Publish', async (at) => {
      const { signal } = at;
      const options = { ...source, validOnly: true, bulk: form.get('bulk') === 'yes', audit, signal };
      const { valid, invalid, ...checked } = await publishMessages(target, { ...options, dryRun: true });
      const bad = await badRows(source, { ...checked, limit: maxRows, integrations });
      at.show('Check', [...publishedNotes({ valid, invalid, ...checked }), ...gridOf(bad, invalid)]);
      if (valid === 0 || readOnly) return;
      const left = invalid > 0 ? `, and leave ${numberOf(invalid)} out` : '';
      const answer = await at.ask({
        text: 'Send the valid messages?',
        act: `Send ${countOf(valid, 'message')}${left}`,
      });
      if (answer === undefined) return;
      const onSent = at.progress('Sent');
      const published = await publishMessages(target, { ...options, dryRun: false, receipts: true, onSent });
      at.show('Sent', publishedNotes(published));
      at.progress('Waiting for the outcomes:')(0, published.sent);
      const awaited = await awaitOutcomes(deskOf(target), published.messages, { waitSeconds, signal });
      at.show('Outcomes', outcomesView(awaited));
    });
  });
};

const fileIn = async (context: Context): Promise<Input> => {
  const file = (await context.req.formData()).get('file');
  if (!(file instanceof File) || file.size === 0) throw new UsageError('Choose a file that is not empty.');
  return inputOf(file.name, Buffer.from(await file.arrayBuffer()));
};

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
    ...(invalid > rows.length
      ? [{ more: `The first ${numberOf(rows.length)} of ${numberOf(invalid)}` }]
      : []),
  ];
};
