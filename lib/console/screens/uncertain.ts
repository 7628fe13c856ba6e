import { groupsOf } from '../../dead-letters/reading/groups.ts';
import { type Verified, type VerifiedLetter, verifyLetters } from '../../dead-letters/verify/verify.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import { needsDecision } from '../../failure.ts';
import { type Html, html, said } from '../../markup/html.ts';
import { table } from '../../markup/table.ts';
import { countOf } from '../../wording/amounts.ts';
import { subjectOf } from '../../wording/letters.ts';
import { type App, type Desk, filterFrom, formOf, queryOf, render } from '../desk.ts';
import { button, hiddenFields, reasonField } from '../page.ts';
import { beginDiscard } from './discard.ts';
import { beginReplay } from './replay.ts';
import { groupTable } from './sending.ts';

const reasons = { found: 'looked up: found on the platform', absent: 'looked up: not found on the platform' };

export const addUncertain = (app: App, desk: Desk): void => {
  const { target, runs, lists, readOnly } = desk;
  app.get('/uncertain', async (context) => {
    const { filter, given } = filterFrom(queryOf(context));
    const { value } = await lists.letters.get();
    const letters = value.matching(filter).filter(({ kind }) => needsDecision(kind));
    return render(
      desk,
      context,
      'Uncertain',
      html`<p>Of ${countOf(letters.length, 'letter')} only a person can decide: of the uncertain ones nobody knows whether they were done, and doing them twice does harm; since the outdated ones something newer may have been done.</p>
${
  letters.length === 0
    ? html`<p class="good">Nothing to decide.</p>`
    : html`<form method="post" action="/uncertain">${hiddenFields(given)}<button>Look for them on the platform</button></form>
<p class="quiet">This changes nothing. What is outdated cannot be looked up: compare it with what the platform holds.</p>`
}
${groupTable('What needs a decision', groupsOf(letters).groups, '')}
${table(
  'Letters that need a decision',
  [
    {
      title: 'Letter',
      cell: ({ message }) =>
        html`<a href="/letters/${encodeURIComponent(message)}">${message.slice(0, 8)}</a>`,
    },
    { title: 'Function', cell: ({ function: name }) => said(name) },
    { title: 'About', cell: (letter) => subjectOf(letter) || '–' },
    { title: 'Decide', cell: ({ message: id }) => decide({ id, reason: '' }, readOnly) },
  ],
  letters.slice(0, 100),
  '',
)}${letters.length > 100 ? html`<p class="quiet">The oldest 100.</p>` : ''}`,
    );
  });

  app.post('/uncertain', async (context) => {
    const { filter } = filterFrom(await formOf(context));
    const { cause, ...others } = filter;
    const { value } = await lists.letters.get();
    const kind = ['uncertain' as const];
    const ids = cause === undefined ? filter.id : value.matching(filter).map(({ message }) => message);
    const run = runs.begin('Look for what is uncertain', async (at) => {
      const verified = await verifyLetters(target, {
        filter: { ...others, ...(ids ? { id: ids } : { kind }) },
        ...{ signal: at.signal, onLooked: at.progress('Looked up') },
      });
      at.show('result', verifiedOf(verified, readOnly));
    });
    return context.redirect(`/runs/${run.id}`, 303);
  });

  // A person has seen these letters and chosen: what is asked for is done.
  app.post('/decide', async (context) => {
    const form = await formOf(context);
    const reason = form.get('reason')?.trim();
    if (form.getAll('id').length === 0) throw new UsageError('No letter was named.');
    if (!reason) throw new UsageError('Why? A decision needs a reason, for the audit log.');
    const run =
      form.get('decision') === 'discard'
        ? beginDiscard(desk, form, true)
        : beginReplay(desk, form, { includeUncertain: true, reason });
    return context.redirect(`/runs/${run.id}`, 303);
  });
};

const decide = (
  { id, reason }: { id: string | string[]; reason: string },
  readOnly: boolean,
): Html | string =>
  readOnly
    ? ''
    : html`<form method="post" action="/decide" class="inline">${hiddenFields({ id })}${reasonField(true, reason)}
<button name="decision" value="discard">Discard: it was done</button> <button name="decision" value="send">Send: it was not</button></form>`;

const verifiedOf = ({ letters, found, absent, unclear }: Verified, readOnly: boolean): Html => {
  const idsOf = (wanted: VerifiedLetter['found']) =>
    letters.flatMap(({ id, found: told }) => (told === wanted ? [id] : []));
  const all = (wanted: 'found' | 'absent', count: number, decision: string, text: string) =>
    count === 0 || readOnly
      ? ''
      : button('/decide', text, { id: idsOf(wanted), reason: reasons[wanted], decision });
  return html`<h2>What is there</h2><p>${found} found, ${absent} absent, ${unclear} unclear.</p>
<div class="actions">${all('found', found, 'discard', `Discard ${countOf(found, 'letter')} found`)}
${all('absent', absent, 'send', `Send ${countOf(absent, 'letter')} not found`)}</div>
${table(
  'What was looked up',
  [
    {
      title: 'Letter',
      cell: ({ id }) => html`<a href="/letters/${encodeURIComponent(id)}">${id.slice(0, 8)}</a>`,
    },
    { title: 'Function', cell: ({ function: name }) => said(name) },
    { title: 'About', cell: (letter) => subjectOf(letter) || '–' },
    { title: 'Found', cell: ({ found: told }) => html`<span class="badge ${told}">${told}</span>` },
    { title: 'Why', cell: ({ why }) => said(why ?? '') },
    {
      title: 'Decide',
      cell: ({ id, found: told }) =>
        decide({ id, reason: told === 'unclear' ? '' : reasons[told] }, readOnly),
    },
  ],
  letters,
  'No letter is uncertain, or none matches.',
)}`;
};
