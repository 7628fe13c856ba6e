import { type Command, InvalidArgumentError } from 'commander';
import type { RunHooks, RunOptions } from '../../../dead-letters/replay/run.ts';
import { isYes, wholeNumber } from '../../command-context.ts';
import type { Terminal } from '../../print/terminal.ts';

/** How letters are sent, as it was typed. */
export type GivenRun = Omit<RunOptions, 'waitSeconds'> & {
  /** As one of the two is called. */
  canaryWait?: number;
  wait?: number;
  continueUndecided?: boolean;
};

/** The options of commands that send letters. */
export const addRunOptions = (
  command: Command,
  defaults: { rate: number; wait: '--wait' | '--canary-wait' },
): Command =>
  command
    .option(
      '--canary <n>',
      'send n letters first, and one of each cause at least, and wait for their outcome; 0: none',
      wholeNumber(0, 100),
      5,
    )
    .option(
      `${defaults.wait} <seconds>`,
      'wait n seconds for what becomes of what was sent',
      wholeNumber(1, 3_600),
      60,
    )
    .option('--continue-undecided', 'send causes, too, of whose canary nothing is known by then')
    .option('--rate <n>', 'messages a second, at most 500', rate, defaults.rate)
    .option(
      '--stop-after <n>',
      'stop when n letters in a row come back with the same error',
      wholeNumber(1, 1_000),
      5,
    );

export const runOptionsOf = (
  { canary, canaryWait, wait = canaryWait ?? 60, rate: asked, stopAfter, continueUndecided }: GivenRun,
  { terminal, isJson }: { terminal: Terminal; isJson: boolean },
): RunOptions & Required<Pick<RunHooks, 'continueUndecided'>> => ({
  ...{ canary, waitSeconds: wait, rate: asked, stopAfter },
  continueUndecided: async () => {
    if (continueUndecided) return true;
    const answer = isJson
      ? undefined
      : await terminal.ask('Send the rest of causes of which nothing is known? [y/N] ');
    return isYes(answer ?? '');
  },
});

function rate(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= 500) return number;
  throw new InvalidArgumentError('It must be a number above 0, up to 500.');
}
