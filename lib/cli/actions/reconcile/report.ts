import { writeNewFile } from '../../../deployment/new-file.ts';
import { listReports, readComparison } from '../../../reconcile/desk/read.ts';
import type { CommandContext } from '../../command-context.ts';
import { maxRunsDrawn, reconcilePage } from '../../print/reconcile-page.ts';

export const act = async (
  context: CommandContext,
  run: string | undefined,
  { html: to }: { html: string | true },
): Promise<void> => {
  const isPiped = to === '-';
  const { target, terminal, signal, print } = isPiped ? context.besideData() : context;
  const [comparison, reports] = await Promise.all([
    readComparison(target, { run, limit: 0, signal }),
    listReports(target, { limit: maxRunsDrawn, signal }),
  ]);
  const page = await reconcilePage(comparison, { reports, name: target.prefix.slice(0, -1) });
  if (isPiped) return terminal.write(page);
  const file = to === true ? `reconcile-${comparison.report.id}.html` : to;
  await writeNewFile(file, page);
  print({ id: comparison.report.id, file }, () => [`Written to ${file}.`]);
};
