import { readComparison } from '../../../../operate/reviews/reconcile/read.ts';
import { comparisonView, findingsView } from '../../../views/comparison.ts';
import type { CommandContext } from '../../command-context.ts';
import { documentOf, isFine, maxFindings } from './document.ts';

export const act = async (
  { target, signal, isJson, print, finish, withProgress }: CommandContext,
  run: string | undefined,
  { findings: listed, limit }: { findings?: string | true; limit: number },
): Promise<void> => {
  const of = typeof listed === 'string' ? [listed] : undefined;
  const comparison = await withProgress('Reading findings', () =>
    readComparison(target, { run, of, limit: isJson ? maxFindings : limit, signal }),
  );
  print(documentOf(comparison), () =>
    listed === undefined ? comparisonView(comparison) : findingsView(comparison),
  );
  finish(isFine(comparison));
};
