import { setTimeout } from 'node:timers/promises';
import type { IndexRecord } from '../../../delivery/letters/record.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { pausedFunctions } from '../../../stage/pause.ts';
import { readFlow } from '../../messages/letters/list.ts';
import { changeDeliveries, wake } from '../../operator-actions/deliveries.ts';
import type { OperatorContext } from '../../operator-actions/operator-context.ts';
import { readDone } from '../../stage-state/metric-counts.ts';
import { hourly } from '../../views/hourly.ts';
import { pausedSentence } from '../../views/pause.ts';
import { nextView, overviewView } from '../../views/status.ts';
import { type Block, stepOf, text, type View } from '../../views/view.ts';
import { createCachedValue } from '../cached-value.ts';
import {
  addAction,
  addLive,
  addScreen,
  asOf,
  type ConsoleServices,
  filterFrom,
  htmlOf,
  partOf,
  reasonIn,
  runOn,
  withdrawStale,
} from '../console-services.ts';
import { html } from '../html/html.ts';
import type { Run } from '../runs.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Runs of this console that do nothing until a person answers. */
const askingView = (runs: readonly Run[]): View =>
  runs
    .filter(({ question }) => question !== undefined)
    .map(
      ({ id, title }): Block =>
        stepOf(
          [
            { tone: 'todo', text: `${title}: this run waits for your answer`, to: `/runs/${id}` },
            { links: [{ text: 'Answer', to: `/runs/${id}` }] },
          ],
          'now',
        ),
    );

type Day = Awaited<ReturnType<typeof readFlow>> & {
  done: Awaited<ReturnType<typeof readDone>>;
  waiting: readonly IndexRecord[];
};

const chartOf = ({ arrived, left, done, waiting }: Day) => ({
  ...hourly('The last day by hour', [
    { name: 'done', tone: 'good', events: done ?? [], ...(done === undefined && { note: 'not known' }) },
    { name: 'letters', tone: 'bad', events: arrived },
    { name: 'settled', tone: 'plain', events: left },
    {
      name: 'waiting since',
      tone: 'warn',
      events: waiting.map(({ firstMs, atMs }) => ({ atMs: firstMs ?? atMs })),
    },
  ]),
  isApart: true,
});

/** The chart comes with the screen if it is read within this time; else the script fetches it. */
const patienceMs = 60;

export const addOverview = (services: ConsoleServices): void => {
  const { target, integrations, runs, lists } = services;
  const readDay = async () => {
    const { value: letters } = await lists.letters.get();
    const sinceMs = Date.now() - dayMs;
    const functions = [...integrations.keys()];
    const [flow, done] = await Promise.all([
      readFlow(target, letters.all, { sinceMs, signal: services.signal }),
      readDone(target, { functions, sinceMs, signal: services.signal }),
    ]);
    const { value: waiting } = await lists.waiting.get();
    return { ...flow, done, waiting };
  };
  const day = createCachedValue(readDay, { freshMs: 60_000 });
  const dayChart = async (): Promise<Block> => ({ charts: [chartOf((await day.get()).value)] });

  const look = async () => {
    await withdrawStale(services).catch(() => {});
    const [{ value, atMs }, known] = await Promise.all([
      services.status.get(),
      Promise.race([day.get().catch(() => undefined), setTimeout(patienceMs, undefined, { ref: false })]),
    ]);
    const chart: Block = known
      ? { charts: [chartOf(known.value)] }
      : { later: 'The last day, by hour', to: '/trends' };
    const done = known?.value.done?.filter(({ atMs: doneMs }) => doneMs > Date.now() - hourMs);
    const view = overviewView(value, {
      chart,
      asking: askingView(runs.all()),
      done: done?.reduce((sum, { count }) => sum + count, 0),
    });
    return { version: atMs, part: () => htmlOf(services, [...view, asOf(atMs)]) };
  };
  addScreen(
    services,
    ['/', 'Overview'],
    async () => html`<div data-live="/overview/live">${(await look()).part()}</div>`,
  );
  addLive(services, '/overview/live', look);
  addScreen(services, ['/next', 'Next'], async () =>
    partOf(services, nextView((await services.status.get()).value)),
  );
  addScreen(services, ['/trends', 'Trends'], async () => partOf(services, [await dayChart()]));

  addAction(services, '/wake', (form) => {
    const { filter, given } = filterFrom(form);
    const reason = form.get('reason') || undefined;
    const { about } = runOn('/waiting', given);
    return runs.begin(
      'Wake what waits',
      (at) => wake(at, { filter, reason, dryRun: false, isAgreed: true }),
      { about },
    );
  });
  for (const change of ['pause', 'resume'] as const)
    addAction(services, `/${change}`, (form) => {
      const reason = change === 'pause' ? reasonIn(form) : undefined;
      const [functions, known] = [form.getAll('function'), [...integrations.keys()]];
      if (functions.length === 0) throw new UsageError('Which function?');
      const named = known.filter((each) => functions.includes(each)).join(', ');
      const title = `${change === 'pause' ? 'Pause' : 'Resume'} ${named}`;
      return runs.begin(title, async (at) => {
        if (change === 'resume' && !(await isPauseOver(at, functions))) return;
        await changeDeliveries(at, change, { functions, known, reason });
      });
    });
};

/** What a person paused on purpose may still need the pause. */
const isPauseOver = async (at: OperatorContext, functions: string[]): Promise<boolean> => {
  const paused = (await pausedFunctions(at.target, functions)) ?? [];
  const onPurpose = paused.filter(({ who }) => who !== undefined);
  if (onPurpose.length === 0) return true;
  const question = {
    text: `${onPurpose.map(pausedSentence).join(' ')} Is that over?`,
    act: `Resume ${functions.join(', ')}`,
  };
  if ((await at.ask(question)) !== undefined) return true;
  at.show('Result', [text('Nothing was changed.')]);
  return false;
};
