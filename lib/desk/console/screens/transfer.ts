import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { fileOf, type Input } from '../../../stage/input.ts';
import { exportLetters } from '../../messages/archive/export.ts';
import {
  type ImportResult,
  importLetters,
  linesOf,
  type OutdatedLine,
} from '../../messages/archive/import.ts';
import {
  exportedView,
  exportRemarks,
  importableIn,
  leftOutView,
  outdatedView,
  problemView,
} from '../../views/changes.ts';
import { countOf } from '../../views/format.ts';
import { text, type View } from '../../views/view.ts';
import {
  addAction,
  addChosen,
  type ConsoleServices,
  fileIn,
  filterFrom,
  reasonIn,
  runOn,
} from '../console-services.ts';
import type { Run } from '../runs.ts';
import { beginDiscard } from './discard.ts';

/** An export is kept in memory until it is saved. */
const maxExportBytes = 64 * 1024 * 1024;

export const addTransfer = (services: ConsoleServices): void => {
  const { app } = services;
  addChosen(services, {
    path: '/export',
    title: 'Export',
    empty: 'There is nothing to export.',
    sentence:
      'The file holds personal data, unmasked. The letters stay in the queue; once the file is saved, you can discard them for the same reason.',
    form: (letters) => ({ fields: [{ reason: 'required' }], buttons: [{ text: `Export ${letters}` }] }),
  });

  const files: ExportFiles = new Map();
  addAction(services, '/export', (form) => beginExport(services, form, files));
  app.get('/exports/:id', (context) => {
    const id = context.req.param('id');
    const file = files.get(id);
    if (file?.content === undefined)
      throw new RefusedError('This file was saved already. Export the letters again.');
    const { content } = file;
    files.set(id, { ...file, content: undefined });
    file.onSaved();
    return context.body(content, 200, {
      'Content-Type': 'application/x-ndjson; charset=utf-8',
      'Content-Disposition': 'attachment; filename="letters.jsonl"',
    });
  });

  addAction(services, '/exports/:id/discard', (_, context) => {
    const file = files.get(context.req.param('id') ?? '');
    if (file === undefined || file.content !== undefined)
      throw new RefusedError('Save the file first. Then these letters can be discarded.');
    const { ids, reason } = file;
    const chosen = new URLSearchParams({ reason });
    for (const each of ids) chosen.append('id', each);
    return beginDiscard(services, chosen, ids.length);
  });

  addAction(services, '/import', async (_, context) => {
    const input = await fileIn(context, 'file');
    if (input === undefined) throw new UsageError('Choose a file that is not empty.');
    return beginImport(services, input, 'Import');
  });
};

type ExportFile = {
  /** Undefined: it was saved. */
  content: string | undefined;
  ids: readonly string[];
  reason: string;
  onSaved(): void;
};

type ExportFiles = Map<string, ExportFile>;

const beginExport = (
  { target, audit, runs }: ConsoleServices,
  form: URLSearchParams,
  files: ExportFiles,
): Run => {
  const { filter, given } = filterFrom(form);
  const reason = reasonIn(form);
  const run = runs.begin(
    'Export',
    async (at) => {
      const lines: string[] = [];
      const ids: string[] = [];
      let bytes = 0;
      const result = await exportLetters(target, {
        filter,
        reason,
        file: 'letters.jsonl',
        audit,
        signal: at.signal,
        onProgress: at.progress('Reading letters'),
        write: async (line, letter) => {
          bytes += Buffer.byteLength(line);
          if (bytes > maxExportBytes)
            throw new RefusedError(
              'These letters take more than 64 MiB. Set a filter, or export them by the command: `letters export`.',
            );
          lines.push(line);
          ids.push(letter);
        },
      });
      if (at.signal.aborted) throw new RefusedError('It was stopped, so there is no file.');
      const { id } = run;
      if (ids.length === 0) return at.show('Result', exportedView(result, 'a file'));
      const onSaved = (): void => at.show('Result', savedView(id, ids.length));
      files.set(id, { content: lines.join(''), ids, reason, onSaved });
      const what = `${countOf(ids.length, 'letter')}, unmasked`;
      at.show('Result', [
        { tone: 'todo', text: `Ready. Save the file: it holds ${what}.` },
        { links: [{ text: 'Save the file', to: `/exports/${id}` }] },
        ...exportRemarks(result),
      ]);
    },
    runOn('/export', given),
  );
  return run;
};

const savedView = (id: string, letters: number): View => [
  { tone: 'good', text: `The file was saved. It holds ${countOf(letters, 'letter')}, unmasked.` },
  {
    action: `/exports/${id}/discard`,
    buttons: [{ text: `Discard ${countOf(letters, 'letter')}`, isDestructive: true }],
  },
];

/** Puts the letters of a file back. */
export const beginImport = ({ target, audit, runs }: ConsoleServices, input: Input, title: string): Run =>
  runs.begin(title, async (at) => {
    const onSent = at.progress('Put back');
    const outdated: OutdatedLine[] = [];
    const importing = (dryRun: boolean): Promise<ImportResult> =>
      importLetters(target, {
        file: fileOf(input),
        lines: () => linesOf(input),
        dryRun,
        audit,
        signal: at.signal,
        onSent,
        onOutdated: (found) => outdated.splice(0, outdated.length, ...found),
      });
    const checked = await importing(true);
    const left = importableIn(checked);
    at.show('Plan', [
      text(`${countOf(left, 'letter')} can be restored.`),
      ...leftOutView(checked),
      ...outdatedView(outdated),
      ...problemView(checked.problems),
    ]);
    if (left === 0 || checked.problems.length > 0) return;
    if (!(await at.ask({ text: 'Put them back?', act: `Restore ${countOf(left, 'letter')}` }))) return;
    const { imported, problems: failed } = await importing(false);
    at.show('Result', [text(`${countOf(imported, 'letter')} restored.`), ...problemView(failed)]);
  });
