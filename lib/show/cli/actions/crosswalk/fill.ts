import { awaitFill, startFill } from '../../../../operate/reviews/crosswalk/fill.ts';
import { filledView } from '../../../views/crosswalk.ts';
import { text } from '../../../views/view.ts';
import type { CommandContext } from '../../command-context.ts';

const oneMinuteMs = 60_000;

type Given = { classlists?: boolean; acceptRemovals?: boolean; reason?: string; wait: number };

export const act = async (
  { target, terminal, audit, signal, print, agreed, finish, withProgress }: CommandContext,
  { classlists = false, acceptRemovals = false, reason, wait }: Given,
): Promise<void> => {
  if (acceptRemovals && !(await agreed('Remove what the sources lack, however much it is?')))
    return finish(false);
  const id = await startFill(target, { classlists, acceptRemovals, reason, audit });
  terminal.err('The fill has started.\n');
  const filled = await withProgress('Filling', () =>
    awaitFill(target, id, { signal, patienceMs: wait * oneMinuteMs }),
  );
  print({ id, ...(filled ?? { outcome: 'running' }) }, () =>
    filled === undefined
      ? [text('The fill is still running. Its function continues by itself.')]
      : filledView(filled),
  );
  finish(filled?.outcome === 'filled');
};
