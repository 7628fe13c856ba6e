import type { RunHooks, RunOptions } from '../../../../operate/messages/replay/run.ts';
import { runDefaults } from '../../../../operate/messages/replay/run-defaults.ts';
import { isYes } from '../../command-context.ts';
import type { Terminal } from '../../print/terminal.ts';

/** The options for sending letters, as typed. */
export type GivenRun = Omit<RunOptions, 'waitSeconds'> & {
  /** The name of the option in one of the two commands. */
  canaryWait?: number;
  wait?: number;
  continueUndecided?: boolean;
};

export const runOptionsOf = (
  {
    canary,
    canaryWait,
    wait = canaryWait ?? runDefaults.waitSeconds,
    rate: asked,
    stopAfter,
    continueUndecided,
  }: GivenRun,
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
