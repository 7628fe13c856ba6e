import { UsageError } from '../../../stage/command-errors.ts';
import { readFlow } from '../../messages/letters/list.ts';
import { changeDeliveries, wake } from '../../verbs/deliveries.ts';
import { hourly } from '../../views/hourly.ts';
import { statusView } from '../../views/status.ts';
import { type Block, section, type View } from '../../views/view.ts';
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

const dayMs = 24 * 3_600_000;

const lastDay = section('The last day', {
  ...{ later: 'Letters that arrived and left, by hour', to: '/trends' },
});

/** Runs of this console that do nothing until a person answers. */
const askingView = (runs: readonly Run[]): View =>
  runs
    .filter(({ question }) => question !== undefined)
    .map(
      ({ id, title }): Block => ({
        tone: 'todo',
        text: `${title}: this run waits for your answer`,
        to: `/runs/${id}`,
      }),
    );

export const addOverview = (desk: Desk): void => {
  const { target, integrations, runs, lists } = desk;
  const look = async () => {
    const { value, atMs } = await desk.status.get();
    const part = () => htmlOf(desk, [...askingView(runs.all()), ...statusView(value), asOf(atMs)]);
    return { version: atMs, part };
  };
  addScreen(
    desk,
    ['/', 'Overview'],
    async () => html`<div data-live="/overview/live">${(await look()).part()}</div>
${htmlOf(desk, [lastDay])}`,
  );
  addLive(desk, '/overview/live', look);

  const readDay = async () => {
    const { value: letters } = await lists.letters.get();
    return readFlow(target, letters.all, { sinceMs: Date.now() - dayMs, signal: desk.signal });
  };
  const day = createKept(readDay, { freshMs: 60_000 });
  addScreen(desk, ['/trends', 'Trends'], async () => {
    const { arrived, left } = (await day.get()).value;
    const chart = hourly('By hour, UTC', [
      { name: 'became letters', tone: 'bad', events: arrived },
      { name: 'sent again or discarded', tone: 'good', events: left },
    ]);
    return partOf(desk, [{ charts: [chart] }]);
  });

  addVerb(desk, '/wake', (form) => {
    const { filter, given } = filterFrom(form);
    const reason = form.get('reason') || undefined;
    const { about } = runOn('/waiting', given);
    return runs.begin('Wake what waits', (at) => wake(at, { filter, reason, dryRun: false }), { about });
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
