import { RefusedError } from '../../../stage/command-errors.ts';
import { numberOf } from '../../views/format.ts';
import { table, type View } from '../../views/view.ts';
import {
  addAction,
  addLive,
  addScreen,
  type ConsoleServices,
  type Context,
  clock,
  htmlOf,
  withdrawStale,
} from '../console-services.ts';
import { fieldOf, hiddenFields } from '../html/forms.ts';
import { type Html, html, said } from '../html/html.ts';
import type { Run } from '../runs.ts';

export const addRuns = (services: ConsoleServices): void => {
  const { runs } = services;
  const runOf = (context: Context): Run => {
    const run = runs.get(context.req.param('id') ?? '');
    if (run === undefined)
      throw new RefusedError('There is no such run in this console. The log shows what was done.');
    return run;
  };

  addScreen(services, ['/runs', 'Runs'], async () => {
    await withdrawStale(services);
    return [
      table(
        'What was started in this console',
        runs.all(),
        {
          Run: ({ id, title }) => ({ text: title, to: `/runs/${id}` }),
          'Works on': ({ about }) => about,
          Begun: ({ startedMs }) => clock(startedMs),
          State: stateOf,
          Result: ({ problem, parts }) => problem ?? firstText(parts.get('Result') ?? parts.get('Outcomes')),
        },
        { empty: 'Nothing was started in this console yet.' },
      ),
    ];
  });
  addScreen(services, ['/runs/:id', (context) => runOf(context).title], async (_, context) => {
    const run = runOf(context);
    await withdrawStale(services);
    const again = html`<noscript><meta http-equiv="refresh" content="2"></noscript>`;
    return html`${run.ended || run.question ? '' : again}<div data-live="/runs/${run.id}/live">${contentOf(run, services)}</div>`;
  });
  addLive(services, '/runs/:id/live', async (context) => {
    const run = runOf(context);
    return { version: run.version, part: () => contentOf(run, services) };
  });

  addAction(services, '/runs/:id/answer', (form, context) => {
    const run = runOf(context);
    const { question } = run;
    if (question?.id !== form.get('question')) throw new RefusedError('This question was answered already.');
    question?.answer(form.get('answer') === 'yes' ? Object.fromEntries(form) : undefined);
    return run;
  });
  addAction(services, '/runs/:id/stop', (_, context) => {
    const run = runOf(context);
    runs.stop(run.id);
    return run;
  });
};

const stateOf = ({ ended, question, stopped }: Run): string => {
  if (ended === 'failed') return 'failed';
  if (ended) return stopped ? 'stopped' : 'ended';
  return question ? 'waits for your answer' : stopped ? 'is stopping' : 'is in progress';
};

/** The first sentence of a view: a result begins with how the run ended. */
const firstText = (view: View = []): string => {
  const first = view.flatMap((block) => (block && 'text' in block ? block : []))[0];
  if (first === undefined) return '–';
  return typeof first.text === 'string'
    ? first.text
    : first.text.map((each) => (typeof each === 'object' ? each.text : each)).join('');
};

const contentOf = (run: Run, services: ConsoleServices): Html => {
  const { id, about, again, parts, progress, question, ended, problem, withdrawn } = run;
  return html`<p class="quiet">${said(about)}</p><p role="status" class="state ${ended ?? ''}">This run ${stateOf(run)}.${
    progress ? html` ${progress.what} ${numberOf(progress.done)} of about ${numberOf(progress.of)}` : ''
  }</p>${progress ? html`<progress max="${Math.max(1, progress.of)}" value="${progress.done}" aria-label="${progress.what}"></progress>` : ''}
${problem === undefined ? '' : html`<p class="problem" role="alert">${said(problem)}</p>`}
${withdrawn ? html`<p>Its letters are gone: they were handled elsewhere, so this plan was withdrawn.</p>` : ''}${question ? questionOf(id, question, services) : ''}${[...parts].toReversed().map(([title, part]) => partOf(services, { title, part, isPast: ended !== undefined && title === 'Plan' && parts.has('Result') }))}
${ended ? html`<p>${again === undefined ? '' : html`<a href="${again}">Plan again</a> · `}<a href="/causes">Causes</a> · <a href="/letters">Letters</a></p>${htmlOf(services, [{ later: 'What to do next', to: '/next' }])}` : question ? '' : html`<form method="post" action="/runs/${id}/stop"><button>Stop</button></form>`}`;
};

/** What was planned says what will be done: once it is done, it is folded. */
const partOf = (
  services: ConsoleServices,
  { title, part, isPast }: { title: string; part: View; isPast: boolean },
): Html =>
  isPast
    ? html`<details class="panel"><summary>The plan, as it was before</summary>${htmlOf(services, part, 3)}</details>`
    : html`<section><h2>${title}</h2>${htmlOf(services, part, 3)}</section>`;

const questionOf = (
  run: string,
  { id, text, hint = text, act, fields, isDestructive, warnings = [] }: NonNullable<Run['question']>,
  services: ConsoleServices,
): Html =>
  html`<form method="post" action="/runs/${run}/answer" class="question" tabindex="-1" autofocus aria-label="Question">${hiddenFields({ question: id })}${hint === undefined ? '' : html`<p>${said(hint)}</p>`}${htmlOf(services, warnings, 3)}${fields?.map(fieldOf) ?? ''}
<div class="actions"><button name="answer" value="yes" class="main${isDestructive ? ' danger' : ''}">${act}</button> <button name="answer" value="no" formnovalidate>Do nothing</button></div></form>`;
