import { discardLetters } from '../../dead-letters/discard.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import { html } from '../../markup/html.ts';
import { notes } from '../../markup/notes.ts';
import { countOf } from '../../wording/amounts.ts';
import { discardNotes } from '../../wording/changes.ts';
import { type App, chosenFrom, type Desk, filterFrom, formOf, queryOf, render } from '../desk.ts';
import { hiddenFields, reasonField } from '../page.ts';
import type { Run } from '../runs.ts';
import { groupTable } from './sending.ts';

export const addDiscard = (app: App, desk: Desk): void => {
  app.get('/discard', async (context) => {
    const { groups, count, given } = await chosenFrom(desk, queryOf(context));
    return render(
      desk,
      context,
      'Discard',
      html`<p>${countOf(count, 'letter matches', 'letters match')}. Each is archived first; the log restores it.</p>
${
  desk.readOnly
    ? ''
    : html`<form method="post" action="/discard">${hiddenFields(given)}${
        Object.keys(given).length > 0
          ? ''
          : html`<label class="check"><input type="checkbox" name="all" value="yes" required> Every letter there is</label>`
      }${reasonField(true)}<button>Plan</button></form>`
}
${groupTable('Letters by cause', groups, 'No letter matches.')}`,
    );
  });
  app.post('/discard', async (context) => {
    const form = await formOf(context);
    return context.redirect(`/runs/${beginDiscard(desk, form).id}`, 303);
  });
};

/** `isAgreed`: the letters were shown one by one, and chosen. */
export const beginDiscard = ({ target, audit, runs }: Desk, form: URLSearchParams, isAgreed = false): Run => {
  const { filter } = filterFrom(form);
  const reason = form.get('reason')?.trim() ?? '';
  if (reason === '') throw new UsageError('Why? To discard letters needs a reason, for the audit log.');
  if (Object.keys(filter).length === 0 && form.get('all') !== 'yes')
    throw new UsageError('Which letters? Choose some, or filter them.');
  return runs.begin('Discard', async (at) => {
    const discarded = await discardLetters(target, {
      ...{ filter, reason, dryRun: false, audit, signal: at.signal },
      onProgress: at.progress('Taking letters'),
      onDiscarded: at.progress('Discarded'),
      confirm: async (plan) => {
        at.show(
          'plan',
          html`<h2>Plan</h2>${groupTable('What is discarded', plan.groups, 'No letter matches.')}`,
        );
        if (plan.letters === 0 || isAgreed) return isAgreed;
        const text = `They leave the queue, and are archived. Reason: ${reason}`;
        return (await at.ask({ text, act: `Discard ${countOf(plan.letters, 'letter')}` })) !== undefined;
      },
    });
    at.show('result', html`<h2>Result</h2>${notes(discardNotes(discarded))}`);
  });
};
