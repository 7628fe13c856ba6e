import { type WakePlan, wakeMessages } from '../../../operate/messages/waiting/wake.ts';
import { readAuditLog } from '../../../operate/stage/audit-log.ts';
import { UsageError } from '../../../operate/stage/command-errors.ts';
import { pauseFunctions, resumeFunctions } from '../../../operate/stage/pause.ts';
import { countOf } from '../../views/amounts.ts';
import { hourly } from '../../views/hourly.ts';
import { pauseView } from '../../views/pause.ts';
import { statusView } from '../../views/status.ts';
import { section } from '../../views/view.ts';
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

const dayMs = 24 * 3_600_000;

const lastDay = section('The last day', {
  ...{ later: 'Letters by hour, and what was done about them', to: '/trends' },
});

export const addOverview = (desk: Desk): void => {
  const { target, audit, integrations, runs, lists } = desk;
  const look = async () => {
    const { value, atMs } = await desk.status.get();
    const part = () => htmlOf(desk, [...statusView(value), asOf(atMs)]);
    return { version: atMs, part };
  };
  addScreen(
    desk,
    ['/', 'Overview'],
    async () => html`<div data-live="/overview/live">${(await look()).part()}</div>
${htmlOf(desk, [lastDay])}`,
  );
  addLive(desk, '/overview/live', look);

  const readDeeds = () => readAuditLog(target, { sinceMs: Date.now() - dayMs, signal: desk.signal });
  const deeds = createKept(readDeeds, { freshMs: 60_000 });
  addScreen(desk, ['/trends', 'Trends'], async () => {
    const [{ value: letters }, { value: log }] = await Promise.all([lists.letters.get(), deeds.get()]);
    const right = log.commands.map(({ at, counts: { sent = 0, discarded = 0 }, command }) => ({
      ...{ atMs: Date.parse(at), count: command.startsWith('letters ') ? sent + discarded : 0 },
    }));
    const chart = hourly('By hour, UTC', [
      { name: 'became letters, and still are', tone: 'bad', events: letters.all },
      { name: 'sent again or discarded', tone: 'good', events: right },
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
