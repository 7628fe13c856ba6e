import type { RunHooks, RunOptions } from '../../../operate/messages/replay/run.ts';
import { runDefaults } from '../../../operate/messages/replay/run-defaults.ts';
import { canaryView } from '../../views/plan.ts';
import type { Field } from '../../views/view.ts';
import type { Answer, Work } from '../runs.ts';

/** Rates that the forms offer, in messages per second. */
const rates = [5, 20, 50, 200, 500];

export const sendingFields = ({ rate }: RunOptions): Field[] => [
  { choice: 'rate', label: 'Messages a second', options: rates.map(String), chosen: [String(rate)] },
];

export const rateIn = ({ rate }: Answer): number =>
  rates.find((each) => String(each) === rate) ?? runDefaults.rate;

/** Shows the progress of a run. */
export const sendingHooks = (at: Work): RunHooks & { onProgress(done: number, of: number): void } => ({
  signal: at.signal,
  onProgress: at.progress('Taking letters'),
  onSent: at.progress('Sent'),
  onCanary: (canary) => canary.letters > 0 && at.show('Canary', canaryView(canary)),
  continueUndecided: async () => {
    const text =
      'Some letters of the canary have no outcome yet. Send the rest of their causes all the same?';
    return (await at.ask({ text, act: 'Send them' })) !== undefined;
  },
});
