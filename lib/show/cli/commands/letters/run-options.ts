import { type Command, InvalidArgumentError } from 'commander';
import { runDefaults } from '../../../../operate/messages/replay/run-defaults.ts';
import { wholeNumber } from '../../options.ts';

export const addRunOptions = (command: Command, wait: '--wait' | '--canary-wait'): Command =>
  command
    .option(
      '--canary <n>',
      'send n letters first, at least one of each cause, and wait for their outcomes; 0: none',
      wholeNumber(0, 100),
      runDefaults.canary,
    )
    .option(
      `${wait} <seconds>`,
      'wait n seconds for the outcomes',
      wholeNumber(1, 3_600),
      runDefaults.waitSeconds,
    )
    .option('--continue-undecided', 'also send the rest of causes whose canary has no outcome by then')
    .option('--rate <n>', 'messages a second, at most 500', rate, runDefaults.rate)
    .option(
      '--stop-after <n>',
      'stop when n letters in a row come back with the same error',
      wholeNumber(1, 1_000),
      runDefaults.stopAfter,
    );

function rate(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= 500) return number;
  throw new InvalidArgumentError('It must be a number above 0, up to 500.');
}
