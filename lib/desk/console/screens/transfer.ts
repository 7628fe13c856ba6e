import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { fileOf, type Input } from '../../../stage/input.ts';
import { exportLetters } from '../../messages/archive/export.ts';
import {
  type ImportResult,
  importLetters,
  linesOf,
  type OutdatedLine,
} from '../../messages/archive/import.ts';
import { exportedView, importableIn, leftOutView, outdatedView, problemView } from '../../views/changes.ts';
import { countOf } from '../../views/format.ts';
import { text } from '../../views/view.ts';
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

/** An export is kept in memory until it is saved. */
const maxExportBytes = 64 * 1024 * 1024;

export const addTransfer = (services: ConsoleServices): void => {
  const { app, target, audit, runs } = services;
  addChosen(services, {
    path: '/export',
    title: 'Export',
    empty: 'There is nothing to export.',
    sentence: 'The file holds personal data, unmasked. The letters stay in the queue.',
    form: (letters) => ({ fields: [{ reason: 'required' }], buttons: [{ text: `Export ${letters}` }] }),
  });

  const files = new Map<string, string>();
  addAction(services, '/export', (form) => {
    const { filter, given } = filterFrom(form);
    const reason = reasonIn(form);
    const run = runs.begin(
      'Export',
      async (at) => {
        const lines: string[] = [];
        let bytes = 0;
        const result = await exportLetters(target, {
          filter,
          reason,
          file: 'letters.jsonl',
          audit,
          signal: at.signal,
          onProgress: at.progress('Reading letters'),
          write: async (line) => {
            bytes += Buffer.byteLength(line);
            if (bytes > maxExportBytes)
              throw new RefusedError(
                'These letters take more than 64 MiB. Set a filter, or export them by the command: `letters export`.',
              );
            lines.push(line);
          },
        });
        if (at.signal.aborted) throw new RefusedError('It was stopped, so there is no file.');
        const { id } = run;
        if (result.exported > 0) files.set(id, lines.join(''));
        at.show('Result', [
          ...exportedView(result, 'a file'),
          result.exported > 0 && { links: [{ text: 'Save the file', to: `/exports/${id}` }] },
        ]);
      },
      runOn('/export', given),
    );
    return run;
  });
  app.get('/exports/:id', (context) => {
    const id = context.req.param('id');
    const file = files.get(id);
    if (file === undefined) throw new RefusedError('This file was saved already. Export the letters again.');
    files.delete(id);
    return context.body(file, 200, {
      'Content-Type': 'application/x-ndjson; charset=utf-8',
      'Content-Disposition': 'attachment; filename="letters.jsonl"',
    });
  });

  addAction(services, '/import', async (_, context) => {
    const input = await fileIn(context, 'file');
    if (input === undefined) throw new UsageError('Choose a file that is not empty.');
    return beginImport(services, input, 'Import');
  });
};

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
