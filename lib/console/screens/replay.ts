import type { ConnectionReport } from '../../connection/check.ts';
import type { Plan } from '../../dead-letters/replay/plan.ts';
import { type ReplayResult, replayLetters } from '../../dead-letters/replay/replay.ts';
import { type Html, html } from '../../markup/html.ts';
import { notes } from '../../markup/notes.ts';
import { countOf, numberOf } from '../../wording/amounts.ts';
import { endNote, planSections, probeNotes, resultNotes, runSentence } from '../../wording/plan.ts';
import { type App, chosenFrom, type Desk, filterFrom, formOf, queryOf, render } from '../desk.ts';
import { hiddenFields } from '../page.ts';
import type { Run } from '../runs.ts';
import { countsOf, groupTable, rateIn, runDefaults, sendingFields, sendingHooks } from './sending.ts';

export const addReplay = (app: App, desk: Desk): void => {
  app.get('/replay', async (context) => {
    const { groups, count, given } = await chosenFrom(desk, queryOf(context));
    return render(
      desk,
      context,
      'Replay',
      html`<p>${countOf(count, 'letter matches', 'letters match')}. A replay begins with a plan: nothing is sent before you agree to it.</p>
<form method="post" action="/replay">${hiddenFields(given)}
<label class="check"><input type="checkbox" name="includeUncertain" value="yes"> Also those that are uncertain or outdated: I have looked what the platform holds</label>
<button>Make the plan</button></form>${groupTable('Letters by cause', groups, 'No letter matches.')}`,
    );
  });
  app.post('/replay', async (context) => {
    const form = await formOf(context);
    const run = beginReplay(desk, form, { includeUncertain: form.get('includeUncertain') === 'yes' });
    return context.redirect(`/runs/${run.id}`, 303);
  });
};

export const beginReplay = (
  { target, audit, runs, readOnly }: Desk,
  form: URLSearchParams,
  { includeUncertain, reason: given }: { includeUncertain: boolean; reason?: string },
): Run => {
  const { filter } = filterFrom(form);
  return runs.begin('Replay', async (at) => {
    const options = {
      ...{ ...runDefaults, filter, dryRun: readOnly, includeUncertain, probe: true },
      reason: given,
    };
    const result = await replayLetters(target, options, {
      ...sendingHooks(at),
      audit,
      confirm: async (plan, report) => {
        at.show('plan', planOf(plan, report));
        const count = plan.send.reduce((sum, { letters }) => sum + letters, 0);
        if (readOnly || count === 0) return false;
        const answer = await at.ask({
          ...{ text: runSentence(plan, options), act: `Send ${countOf(count, 'letter')}` },
          fields: sendingFields(options),
        });
        if (answer === undefined) return false;
        // The verb reads them when it begins to send.
        options.rate = rateIn(answer, options.rate);
        options.reason = answer.reason?.trim() || undefined;
        return true;
      },
    });
    at.show('result', resultOf(result));
  });
};

const planOf = (plan: Plan, report: ConnectionReport | undefined): Html =>
  html`<h2>Plan</h2><p>${countOf(plan.matching, 'letter matches', 'letters match')}.</p>${planSections(
    plan,
    report,
  ).map(
    ({ count, title, groups, notes: told }) =>
      html`<section><h3><span class="count">${count.toLocaleString('en-US')}</span> ${title}</h3>${
        groups.length > 0 ? groupTable(title, groups) : ''
      }${notes(told)}</section>`,
  )}${notes(probeNotes(report))}`;

const unsent: Record<string, string> = {
  planned: 'This was the plan alone.',
  nothing: 'There is nothing to send.',
  declined: 'Nothing was changed.',
};

export const resultOf = ({
  counts,
  ended,
  ...more
}: Pick<ReplayResult, 'counts' | 'ended' | 'stoppedBecause' | 'backLater'>): Html => {
  if (counts === undefined) return html`<h2>Result</h2><p>${unsent[ended]}</p>`;
  const told = resultNotes({ counts, ...more }).map(({ count, tone, text }) => ({
    ...{ tone, text: `${numberOf(count)} ${text}` },
  }));
  return html`<h2>Result</h2>${notes([endNote({ counts, ...more }), ...told])}${countsOf(counts)}`;
};
