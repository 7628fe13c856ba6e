import type { RunHooks, RunOptions } from '../../../operate/messages/replay/run.ts';
import { runDefaults } from '../../../operate/messages/replay/run-defaults.ts';
import { canaryView, outcomesText } from '../../views/plan.ts';
import { type Field, text } from '../../views/view.ts';
import type { Answer, Work } from '../runs.ts';

/** Rates that the forms offer, in messages per second. */
const rates = [5, 20, 50, 200, 500];

export const sendingFields = ({ rate }: RunOptions): Field[] => [
  { choice: 'rate', label: 'Messages a second', options: rates.map(String), chosen: [String(rate)] },
];

export const rateIn = ({ rate }: Answer): number =>
  rates.find((each) => String(each) === rate) ?? runDefaults.rate;

/** Shows the progress of a run. `options`: its rate may change until it begins to send. */
export const sendingHooks = (
  at: Work,
  options: Pick<RunOptions, 'rate'>,
): RunHooks & { onProgress(done: number, of: number): void } => ({
  signal: at.signal,
  onProgress: at.progress('Taking letters'),
  onSent: at.progress('Sent'),
  onOutcomes: (counts) => at.show('Outcomes', [text(outcomesText(counts, options))]),
  onCanary: (canary) => canary.letters > 0 && at.show('Canary', canaryView(canary)),
  continueUndecided: async () => {
    const question =
      'Some letters of the canary have no outcome yet. Send the rest of their causes all the same?';
    return (await at.ask({ text: question, act: 'Send them' })) !== undefined;
  },
});
