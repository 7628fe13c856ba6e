import type { Group } from '../../dead-letters/reading/groups.ts';
import type {
  Canary,
  CauseCounts,
  ReplayCounts,
  RunHooks,
  RunOptions,
} from '../../dead-letters/replay/run.ts';
import { choice } from '../../markup/forms.ts';
import { type Html, html, notes } from '../../markup/html.ts';
import { table } from '../../markup/table.ts';
import { canarySentence } from '../../views/plan.ts';
import { href } from '../../views/view.ts';
import type { Answer, Work } from '../runs.ts';
import { failed, groupTable, origin } from './cells.ts';

/** What the screens share that send letters. */

const rates = [5, 20, 50, 200, 500];

/** As the command does it where nothing else is asked for, but for the rate, which is asked for with the plan. */
export const runDefaults: RunOptions = { canary: 5, waitSeconds: 60, rate: 50, stopAfter: 5 };

export const sendingFields = ({ rate }: RunOptions, reason?: Html): Html =>
  html`${choice('rate', 'Messages a second', { options: rates.map(String), chosen: [String(rate)] })}${reason ?? ''}`;

export const rateIn = ({ rate }: Answer): number => rates.find((each) => String(each) === rate) ?? 5;

/** Shows what a run of letters tells. */
export const sendingHooks = (at: Work): RunHooks & { onProgress(done: number, of: number): void } => ({
  signal: at.signal,
  onProgress: at.progress('Taking letters'),
  onSent: at.progress('Sent'),
  onCanary: (canary) => canary.letters > 0 && at.show('Canary', canaryOf(canary)),
  continueUndecided: async () => {
    const text =
      'Some letters of the canary have no outcome yet. Send the rest of their causes all the same?';
    return (await at.ask({ text, act: 'Send them' })) !== undefined;
  },
});

const canaryOf = (canary: Canary): Html =>
  html`<p>${canarySentence(canary)}</p>${groupTable('What came back or waits', [...canary.cameBack, ...canary.waits])}`;

/** Per cause what was sent, went through, came back and was not tried, and where to go next. */
export const countsOf = ({ byCause, cameBackAs, waitFor }: ReplayCounts): Html =>
  html`${table('The outcome of each cause', byCause, {
    Sent: ({ sent }) => sent,
    Through: ({ through }) => through,
    'Came back': ({ cameBack }) => cameBack,
    Waits: ({ waits }) => waits,
    Unknown: ({ unknown }) => unknown,
    'Not tried': ({ setAside, notTried }) => setAside + notTried,
    ...origin,
    ...failed,
    Next: nextOf,
  })}${comeBack('They came back as', cameBackAs)}${comeBack('They wait for', waitFor)}`;

const comeBack = (title: string, groups: readonly Group[]): Html =>
  groups.length === 0
    ? html``
    : html`<h3>${title}</h3>${groupTable(title, groups)}${notes(groups.map(({ remedy }) => ({ tone: 'todo', text: remedy })))}`;

const nextOf = ({
  function: name,
  cause,
  cameBack,
  waits,
  unknown,
  setAside,
  notTried,
}: CauseCounts): Html => {
  if (cameBack + setAside > 0) return html`<a href="/causes">Look at the causes</a>`;
  if (waits > 0) return html`<a href="${href('/waiting', { function: name })}">What waits</a>`;
  const left = notTried > 0 ? html`<a href="${href('/letters', { cause })}">Those left</a>` : html``;
  if (unknown > 0) return html`<a href="/">Check whether its function is paused</a> ${left}`;
  return notTried > 0 ? left : html`<span class="good">✓</span>`;
};
