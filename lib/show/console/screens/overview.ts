import { readFlow } from '../../../operate/messages/letters/list.ts';
import { type WakePlan, wakeMessages } from '../../../operate/messages/waiting/wake.ts';
import { UsageError } from '../../../operate/stage/command-errors.ts';
import { pauseFunctions, resumeFunctions } from '../../../operate/stage/pause.ts';
import { countOf } from '../../views/amounts.ts';
import { hourly } from '../../views/hourly.ts';
import { pauseView } from '../../views/pause.ts';
import { statusView } from '../../views/status.ts';
import { type Block, section, type View } from '../../views/view.ts';
import { wakePlanView, wokenNotes } from '../../views/waiting.ts';
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
  const { target, audit, integrations, runs, lists } = desk;
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
    const { filter } = filterFrom(form);
    const reason = form.get('reason') || undefined;
    return runs.begin('Wake what waits', async (at) => {
      const confirm = async (plan: WakePlan): Promise<boolean> => {
        at.show('Plan', wakePlanView(plan));
        const act = `Wake ${countOf(plan.messages, 'message')}`;
        const question = 'The functions handle them now. A message whose cause remains waits again.';
        return plan.messages > 0 && (await at.ask({ text: question, act })) !== undefined;
      };
      const options = { filter, reason, dryRun: false, audit, signal: at.signal, confirm };
      const woken = await wakeMessages(target, { ...options, onWoken: at.progress('Woken') });
      at.show('Result', wokenNotes(woken));
    });
  });
  const addPausing = (path: string, title: string, verb: typeof pauseFunctions): void =>
    void addVerb(desk, path, (form) => {
      const reason = verb === pauseFunctions ? reasonIn(form) : undefined;
      const [functions, known] = [form.getAll('function'), [...integrations.keys()]];
      if (functions.length === 0) throw new UsageError('Which function?');
      const named = known.filter((each) => functions.includes(each)).join(', ');
      return runs.begin(`${title} ${named}`, async (at) => {
        const changes = await verb(target, { functions, known, reason, audit, signal: at.signal });
        at.show('Result', pauseView(changes, verb === pauseFunctions ? 'pause' : 'resume'));
      });
    });
  addPausing('/pause', 'Pause', pauseFunctions);
  addPausing('/resume', 'Resume', resumeFunctions);
};
