import { acceptFindings } from '../../../../operate/reviews/reconcile/accept.ts';
import { countOf } from '../../../views/amounts.ts';
import { chosenView } from '../../../views/comparison.ts';
import { text } from '../../../views/view.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  { target, audit, signal, isJson, print, agreed, finish }: CommandContext,
  of: string[],
  { reason, run }: { reason: string; run?: string },
): Promise<void> => {
  const accepted = await acceptFindings(target, {
    ...{ run, of, reason, audit, signal },
    confirm: async (chosen) => {
      if (!isJson) print(undefined, () => chosenView(chosen));
      return agreed(`Accept ${countOf(chosen.findings.length, 'difference')}?`);
    },
  });
  if (accepted) {
    const count = accepted.findings.length;
    const document = { run: accepted.run, accepted: count, groups: accepted.groups };
    print(document, () => [text(`${countOf(count, 'difference')} accepted.`)]);
  }
  finish(accepted !== undefined);
};
