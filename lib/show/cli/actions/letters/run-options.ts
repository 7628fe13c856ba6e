import type { RunHooks, RunOptions } from '../../../../operate/messages/replay/run.ts';
import { isYes } from '../../command-context.ts';
import type { Terminal } from '../../print/terminal.ts';

/** How letters are sent, as it was typed. */
export type GivenRun = Omit<RunOptions, 'waitSeconds'> & {
  /** As one of the two is called. */
  canaryWait?: number;
  wait?: number;
  continueUndecided?: boolean;
};

export const runOptionsOf = (
  { canary, canaryWait, wait = canaryWait ?? 60, rate: asked, stopAfter, continueUndecided }: GivenRun,
  { terminal, isJson }: { terminal: Terminal; isJson: boolean },
): RunOptions & Required<Pick<RunHooks, 'continueUndecided'>> => ({
  ...{ canary, waitSeconds: wait, rate: asked, stopAfter },
  continueUndecided: async () => {
    if (continueUndecided) return true;
    const answer = isJson
      ? undefined
      : await terminal.ask('Send the rest of the causes whose canary has no outcome yet? [y/N] ');
    return isYes(answer ?? '');
  },
});
