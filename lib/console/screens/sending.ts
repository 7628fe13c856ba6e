import type { Difference } from '../../dead-letters/edit/change.ts';
import type { Group } from '../../dead-letters/reading/groups.ts';
import type { PlannedGroup } from '../../dead-letters/replay/plan.ts';
import type {
  Canary,
  CauseCounts,
  ReplayCounts,
  RunHooks,
  RunOptions,
} from '../../dead-letters/replay/run.ts';
import { type Html, href, html, said } from '../../markup/html.ts';
import { badge } from '../../markup/notes.ts';
import { table } from '../../markup/table.ts';
import { numberOf } from '../../wording/amounts.ts';
import { valueText } from '../../wording/changes.ts';
import { causeText } from '../../wording/letters.ts';
import { canarySentence } from '../../wording/plan.ts';
import { reasonField } from '../page.ts';
import type { Answer, Work } from '../runs.ts';

/** What the screens share that send letters. */

export const groupTable = (caption: string, groups: readonly PlannedGroup[], empty?: string): Html =>
  table(
    caption,
    [
      { title: 'Letters', isNumber: true, cell: ({ letters }) => numberOf(letters) },
      { title: 'Function', cell: ({ function: name }) => said(name || '–') },
      { title: 'Kind', cell: ({ kind }) => badge(kind) },
      { title: 'What failed', cell: (group) => said(causeText(group)) },
    ],
    groups,
    empty,
  );

export const rates = [5, 20, 50, 200, 500] as const;

export const rateField = (chosen: number): Html =>
  html`<label>Messages a second <select name="rate">${rates.map(
    (each) => html`<option${each === chosen ? html` selected` : ''}>${each}</option>`,
  )}</select></label>`;

/** What is asked for beside the plan of what is sent. */
export const sendingFields = ({ rate, reason }: { rate: number; reason: string | undefined }): Html =>
  html`${rateField(rate)}${reasonField(false, reason)}`;

export const rateIn = ({ rate }: Answer, before: number): number =>
  rates.find((each) => String(each) === rate) ?? before;

/** As the command does it where nothing else is asked for. */
export const runDefaults: RunOptions = { canary: 5, waitSeconds: 60, rate: 50, stopAfter: 5 };

/** Shows what a run of letters tells. */
export const sendingHooks = (at: Work): RunHooks & { onProgress(done: number, of: number): void } => ({
  signal: at.signal,
  onProgress: at.progress('Taking letters'),
  onSent: at.progress('Sent'),
  onCanary: (canary) => at.show('canary', canaryOf(canary)),
  continueUndecided: async () =>
    (await at.ask({
      text: 'Of some of the canary nothing is known yet. Send the rest of their causes all the same?',
      act: 'Send them',
    })) !== undefined,
});

const canaryOf = (canary: Canary): Html =>
  html`<h2>Canary</h2><p>${canarySentence(canary)}</p>${
    canary.cameBack.length + canary.waits.length > 0
      ? groupTable('What came back or waits', [...canary.cameBack, ...canary.waits])
      : ''
  }`;

const figures = [
  ['sent', 'Sent'],
  ['through', 'Through'],
  ['cameBack', 'Came back'],
  ['waits', 'Waits'],
  ['unknown', 'Unknown'],
] as const satisfies [keyof CauseCounts, string][];

/** Per cause what was sent, went through, came back and was not tried, and where to go next. */
export const countsOf = ({ byCause, cameBackAs, waitFor }: ReplayCounts): Html =>
  html`${table(
    'What became of each cause',
    [
      ...figures.map(([name, title]) => ({
        ...{ title, isNumber: true },
        cell: (cause: CauseCounts) => (cause[name] === 0 ? '–' : numberOf(cause[name])),
      })),
      {
        ...{ title: 'Not tried', isNumber: true },
        cell: ({ setAside, notTried }) => (setAside + notTried === 0 ? '–' : numberOf(setAside + notTried)),
      },
      { title: 'Function', cell: ({ function: name }) => said(name || '–') },
      { title: 'Kind', cell: ({ kind }) => badge(kind) },
      { title: 'What failed', cell: (cause) => said(causeText(cause)) },
      { title: 'Next', cell: nextOf },
    ],
    byCause,
  )}${comeBack('They came back as', cameBackAs)}${comeBack('They wait for', waitFor)}`;

const comeBack = (title: string, groups: readonly Group[]): Html | string =>
  groups.length === 0
    ? ''
    : html`<h3>${title}</h3>${groupTable(title, groups)}<ul class="notes">${groups.map(
        ({ remedy }) => html`<li class="todo">→ ${said(remedy)}</li>`,
      )}</ul>`;

const nextOf = ({
  function: name,
  kind,
  cameBack,
  waits,
  unknown,
  setAside,
  notTried,
}: CauseCounts): Html => {
  const letters = href('/letters', { ...(name && { function: name }), kind });
  if (cameBack + setAside > 0) return html`<a href="/causes">Look at the causes</a>`;
  if (waits > 0) return html`<a href="${href('/waiting', { function: name })}">What waits</a>`;
  if (unknown > 0) return html`<a href="/">Is its function paused?</a>`;
  return notTried > 0 ? html`<a href="${letters}">Those left</a>` : html``;
};

export const differenceTable = (difference: readonly Difference[]): Html =>
  table(
    'What is changed',
    [
      { title: 'Field', cell: ({ field }) => said(field) },
      { title: 'Before', cell: ({ before }) => html`<del>${shown(before)}</del>` },
      { title: 'After', cell: ({ after }) => html`<ins>${shown(after)}</ins>` },
    ],
    difference,
  );

const shown = (value: unknown): Html => (value === undefined ? html`–` : said(valueText(value)));
