import type { CommandContext } from '../../../desk/cli/command-context.ts';
import { sheetOf } from '../../../desk/console/html/sheet.ts';
import { text } from '../../../desk/views/view.ts';
import { writeNewFile } from '../../../stage/new-file.ts';
import { listReports, readComparison } from './read.ts';
import { comparisonView, meaningsView, runsView } from './views/comparison.ts';

/** Number of runs that are drawn, including this one. */
const maxRuns = 30;

export const report = async (
  context: CommandContext,
  run: string | undefined,
  { html: to }: { html: string | true },
): Promise<void> => {
  const isPiped = to === '-';
  const { target, name, terminal, signal, print } = isPiped ? context.besideData() : context;
  const [comparison, reports] = await Promise.all([
    readComparison(target, { run, limit: 0, signal }),
    listReports(target, { limit: maxRuns, signal }),
  ]);
  const view = [...comparisonView(comparison), ...runsView(reports), ...meaningsView(comparison.report)];
  const page = await sheetOf(view, {
    title: 'Does the platform hold what was sent to it?',
    name,
    foot: `Made by sis-relay from the records of this run at ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC. It names users and org units only by the platform’s ids, and holds no grades and no comments.`,
  });
  if (isPiped) return terminal.write(page);
  const file = to === true ? `reconcile-${comparison.report.id}.html` : to;
  await writeNewFile(file, page);
  print({ id: comparison.report.id, file }, () => [text(`Written to ${file}.`)]);
};
