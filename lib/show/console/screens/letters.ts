import type { LetterRecord } from '../../../delivery/letters/record.ts';
import { letterKinds } from '../../../message/letter-kinds.ts';
import type { Snapshot } from '../../../operate/messages/letters/cached-list.ts';
import type { Filter } from '../../../operate/messages/letters/filter.ts';
import { factsOf } from '../../../operate/messages/letters/list.ts';
import { UsageError } from '../../../operate/stage/command-errors.ts';
import { countOf, numberOf } from '../../views/amounts.ts';
import { letterColumns, subjectOf } from '../../views/letters.ts';
import { href, table } from '../../views/view.ts';
import { addScreen, clock, type Desk, filterFrom, formOf, type Given, htmlOf } from '../desk.ts';
import { choice, hiddenFields, textField } from '../html/forms.ts';
import { type Html, html } from '../html/html.ts';
import { pageOf } from '../pages.ts';

/** A request may have 16 KB of headers. */
const maxAddress = 8_000;

export const addLetters = (desk: Desk): void => {
  const { app } = desk;
  addScreen(desk, ['/letters', 'Letters'], async (query) => {
    const { filter, given } = filterFrom(query);
    const { value, atMs } = await desk.lists.letters.get();
    const sort = query.get('sort') ?? 'oldest';
    const found = sorted(value, filter, sort);
    const address = (to: Record<string, string | number>) => href('/letters', { ...given, sort, ...to });
    const { shown, pager } = pageOf(found, query.get('page'), (page) => address({ page }));
    const sortedBy = (text: string, by: string) => ({ text, to: address({ sort: by }) });
    const titles = {
      Age: sortedBy('Age', sort === 'oldest' ? 'newest' : 'oldest'),
      Function: sortedBy('Function', 'function'),
      Kind: sortedBy('Kind', 'kind'),
      'User · course · thing': sortedBy('User · course · thing', 'subject'),
      Replays: sortedBy('Replays', 'replays'),
    };
    const letters = table(
      'Letters',
      shown.map(factsOf),
      { Tick: ({ id }) => ({ tick: id }), ...letterColumns },
      { empty: 'No letter matches.', titles },
    );
    return html`${filterForm(given, desk)}
${query.has('unheld') ? html`<p class="warn">No letter’s error contains that text, so the letters are not filtered by it.</p>` : ''}
<p role="status">${numberOf(found.length)} of ${countOf(value.all.length, 'letter')}, as of ${clock(atMs)}.</p>
<form method="get" data-selection>${hiddenFields(given)}
${desk.readOnly || found.length === 0 ? '' : actions(found.length)}
${htmlOf(desk, [letters])}</form>
${htmlOf(desk, pager)}`;
  });

  // Privacy: a search text may be a name. Only conditions that the lists contain, which name no person, go into the address.
  app.post('/letters/search', async (context) => {
    const { filter, given } = filterFrom(await formOf(context));
    const { error, ...others } = given;
    const { value } = await desk.lists.letters.get();
    const isHeld = filter.error === undefined || value.matching({ error: filter.error }).length > 0;
    const to = isHeld ? given : { ...others, unheld: 'yes' };
    const address = href('/letters', to);
    if (address.length > maxAddress)
      throw new UsageError('This is too much for one filter. Enter fewer ids.');
    return context.redirect(address, 303);
  });
};

const by: Record<string, (letter: LetterRecord) => string | number> = {
  newest: ({ atMs }) => -atMs,
  function: ({ function: name }) => name,
  kind: ({ kind }) => kind,
  subject: subjectOf,
  replays: ({ replays }) => -replays,
};

/** The pages of a list request the same order repeatedly. */
const orders = new WeakMap<readonly LetterRecord[], Map<string, LetterRecord[]>>();

const sorted = (letters: Snapshot, filter: Filter, sort: string): LetterRecord[] => {
  const found = letters.matching(filter);
  const keyOf = Object.hasOwn(by, sort) ? by[sort] : undefined;
  if (keyOf === undefined) return found;
  const known = orders.get(found) ?? new Map<string, LetterRecord[]>();
  orders.set(found, known);
  const order = known.get(sort) ?? ordered(found, keyOf);
  known.set(sort, order);
  return order;
};

const ordered = (letters: LetterRecord[], keyOf: (letter: LetterRecord) => string | number): LetterRecord[] =>
  letters
    .map((letter) => ({ letter, key: keyOf(letter) }))
    .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
    .map(({ letter }) => letter);

const actions = (matching: number): Html => html`<fieldset class="actions"><legend>Do with</legend>
<label><input type="radio" name="of" value="selected" required> those ticked <output data-selected></output></label>
<label><input type="radio" name="of" value="matching" required> all ${numberOf(matching)} that match</label>
<button formaction="/replay">Replay</button> <button formaction="/edit">Edit</button> <button formaction="/discard">Discard</button></fieldset>`;

const filterForm = (given: Given, { integrations }: Desk): Html => {
  const field = (name: string, label: string, hint = ''): Html =>
    textField(name, label, { value: given[name]?.join(', '), hint });
  const select = (name: string, label: string, options: readonly string[]): Html =>
    choice(name, label, { options, none: 'any', chosen: given[name] ?? [] });
  return html`<form method="post" action="/letters/search" class="filter" role="search">
${select('function', 'Function', [...integrations.keys()])}${select('kind', 'Kind', letterKinds)}
${field('error', 'Error holds', 'not found')}${field('status', 'Status', '403, 5xx')}${field('user', 'User', 'id')}${field('orgUnit', 'Course', 'id')}
${field('since', 'Since', '36h')}${field('until', 'Until', '2h')}${field('minReplays', 'Replays, at least')}${given.cause ? field('cause', 'Cause') : ''}
<button>Filter</button> <a href="/letters">All</a></form>`;
};
