import { type Verified, verifyLetters } from '../../dead-letters/verify/verify.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import { needsDecision, undecidedKinds } from '../../failure.ts';
import { button, hiddenFields, reasonField } from '../../markup/forms.ts';
import { type Html, html, said } from '../../markup/html.ts';
import { table } from '../../markup/table.ts';
import { countOf } from '../../views/amounts.ts';
import { addScreen, addVerb, type Desk, filterFrom, reasonIn } from '../desk.ts';
import { about, groupTable, letterLink, origin } from './cells.ts';
import { beginDiscard } from './discard.ts';
import { beginReplay } from './replay.ts';

const reasons = { found: 'looked up: found on the platform', absent: 'looked up: not found on the platform' };
const maxShown = 100;

export const addUncertain = (desk: Desk): void => {
  const { target, runs, lists, readOnly } = desk;
  const undecidedAmong = async (query: URLSearchParams) => {
    const { filter, given } = filterFrom(query);
    const { value } = await lists.letters.get();
    const letters = value.matching(filter).filter(({ kind }) => needsDecision(kind));
    return { letters, groups: value.groupsOf(letters), given };
  };
  addScreen(desk, ['/uncertain', 'Uncertain'], async (query) => {
    const { letters, groups, given } = await undecidedAmong(query);
    if (letters.length === 0) return html`<p class="good">There is nothing to decide.</p>`;
    return html`<p>${countOf(letters.length, 'letter needs', 'letters need')} the decision of a person. It is not known whether the uncertain ones were done, and doing them twice does harm. Something newer may have been done after the outdated ones.</p>
${button('/uncertain', 'Look for them on the platform', given)}
<p class="quiet">This changes nothing. Outdated letters cannot be looked up: compare them with what the platform holds.</p>
${groupTable('What needs a decision', groups)}
${table('Letters that need a decision', letters.slice(0, maxShown), { Letter: ({ message }) => letterLink(message), ...origin, ...about, Decide: ({ message }) => decide(message, '', readOnly) })}
${letters.length > maxShown ? html`<p class="quiet">These are the oldest ${maxShown}.</p>` : ''}`;
  });

  addVerb(desk, '/uncertain', async (form) => {
    const { letters } = await undecidedAmong(form);
    const id = letters.map(({ message }) => message);
    return runs.begin('Look for what is uncertain', async (at) => {
      const onLooked = at.progress('Looked up');
      const verified = await verifyLetters(target, { filter: { id }, signal: at.signal, onLooked });
      at.show('What is there', verifiedOf(verified, readOnly));
    });
  });

  // A person has seen these letters and chosen: what is asked for is done, after the plan of a replay.
  addVerb(desk, '/decide', (form) => {
    const reason = reasonIn(form);
    const count = form.getAll('id').length;
    if (count === 0) throw new UsageError('No letter was chosen.');
    return form.get('decision') === 'discard'
      ? beginDiscard(desk, form, count === 1)
      : beginReplay(desk, form, { includeUncertain: true, reason });
  });
};

/** It names the kinds: of a letter that has become another one meanwhile, nothing is decided by an old screen. */
const decide = (id: string, reason: string, readOnly: boolean): Html =>
  readOnly
    ? html``
    : html`<form method="post" action="/decide" class="inline">${hiddenFields({ id, kind: undecidedKinds })}${reasonField(true, reason)}
<button name="decision" value="discard">Discard: it was done</button> <button name="decision" value="send">Send: it was not</button></form>`;

const verifiedOf = ({ letters, ...counts }: Verified, readOnly: boolean): Html => {
  const all = (wanted: 'found' | 'absent', action: string, text: string): Html => {
    const id = letters.flatMap((letter) => (letter.found === wanted ? [letter.id] : []));
    if (id.length === 0 || readOnly) return html``;
    return button(action, text, { id, kind: undecidedKinds, reason: reasons[wanted], decision: 'send' });
  };
  return html`<p>${counts.found} found, ${counts.absent} absent, ${counts.unclear} unclear.</p>
<div class="actions">${all('found', '/discard', `Discard ${countOf(counts.found, 'letter')} found`)}
${all('absent', '/decide', `Send ${countOf(counts.absent, 'letter')} not found`)}</div>
${table(
  'What was looked up',
  letters,
  {
    Letter: ({ id }) => letterLink(id),
    Function: ({ function: name }) => said(name),
    ...about,
    Found: ({ found }) => html`<span class="badge ${found}">${found}</span>`,
    Why: ({ why }) => said(why ?? ''),
    Decide: ({ id, found }) => decide(id, found === 'unclear' ? '' : reasons[found], readOnly),
  },
  { empty: 'No letter is uncertain, or none matches.' },
)}`;
};
