import { setTimeout } from 'node:timers/promises';
import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { readFlow } from '../../messages/letters/list.ts';
import { readDone } from '../../reviews/metric-counts.ts';
import { changeDeliveries, wake } from '../../verbs/deliveries.ts';
import { hourly } from '../../views/hourly.ts';
import { nextView, overviewView } from '../../views/status.ts';
import { type Block, stepOf, type View } from '../../views/view.ts';
import { createKept } from '../cached-value.ts';
import {
  addLive,
  addScreen,
  addVerb,
  asOf,
  type Desk,
  filterFrom,
  htmlOf,
  partOf,
  reasonIn,
  runOn,
} from '../desk.ts';
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
  waiting: readonly DeskRecord[];
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

export const addOverview = (desk: Desk): void => {
  const { target, integrations, runs, lists } = desk;
  const readDay = async () => {
    const { value: letters } = await lists.letters.get();
    const sinceMs = Date.now() - dayMs;
    const functions = [...integrations.keys()];
    const [flow, done] = await Promise.all([
      readFlow(target, letters.all, { sinceMs, signal: desk.signal }),
      readDone(target, { functions, sinceMs, signal: desk.signal }),
    ]);
    const { value: waiting } = await lists.waiting.get();
    return { ...flow, done, waiting };
  };
  const day = createKept(readDay, { freshMs: 60_000 });
  const dayChart = async (): Promise<Block> => ({ charts: [chartOf((await day.get()).value)] });

  const look = async () => {
    const [{ value, atMs }, known] = await Promise.all([
      desk.status.get(),
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
    return { version: atMs, part: () => htmlOf(desk, [...view, asOf(atMs)]) };
  };
  addScreen(
    desk,
    ['/', 'Overview'],
    async () => html`<div data-live="/overview/live">${(await look()).part()}</div>`,
  );
  addLive(desk, '/overview/live', look);
  addScreen(desk, ['/next', 'Next'], async () => partOf(desk, nextView((await desk.status.get()).value)));
  addScreen(desk, ['/trends', 'Trends'], async () => partOf(desk, [await dayChart()]));

  addVerb(desk, '/wake', (form) => {
    const { filter, given } = filterFrom(form);
    const reason = form.get('reason') || undefined;
    const { about } = runOn('/waiting', given);
    return runs.begin(
      'Wake what waits',
      (at) => wake(at, { filter, reason, dryRun: false, isAgreed: true }),
      { about },
    );
  });
  for (const verb of ['pause', 'resume'] as const)
    addVerb(desk, `/${verb}`, (form) => {
      const reason = verb === 'pause' ? reasonIn(form) : undefined;
      const [functions, known] = [form.getAll('function'), [...integrations.keys()]];
      if (functions.length === 0) throw new UsageError('Which function?');
      const named = known.filter((each) => functions.includes(each)).join(', ');
      const title = `${verb === 'pause' ? 'Pause' : 'Resume'} ${named}`;
      return runs.begin(title, (at) => changeDeliveries(at, verb, { functions, known, reason }));
    });
};
