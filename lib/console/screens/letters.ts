import type { Filter } from '../../dead-letters/reading/filter.ts';
import { letterKinds, replayedOften } from '../../desk/letter-words.ts';
import type { LetterRecord } from '../../desk/record.ts';
import { type Html, href, html, said } from '../../markup/html.ts';
import { badge } from '../../markup/notes.ts';
import { table } from '../../markup/table.ts';
import { ageOf, countOf, numberOf } from '../../wording/amounts.ts';
import { causeText, subjectOf } from '../../wording/letters.ts';
import { type App, type Desk, filterFrom, formOf, type Given, queryOf, render } from '../desk.ts';
import type { Letters } from '../lists.ts';
import { hiddenFields } from '../page.ts';

const perPage = 100;

export const addLetters = (app: App, desk: Desk): void => {
  app.get('/letters', async (context) => {
    const query = queryOf(context);
    const { filter, given } = filterFrom(query);
    const { value, atMs } = await desk.lists.letters.get();
    const sort = query.get('sort') ?? 'oldest';
    const found = sorted(value, filter, sort);
    const pages = Math.max(1, Math.ceil(found.length / perPage));
    const number = Math.min(pages, Math.max(1, Math.floor(Number(query.get('page')) || 1)));
    const link = (to: Record<string, string | number>): string => href('/letters', { ...given, sort, ...to });
    const shown = found.slice((number - 1) * perPage, number * perPage);
    return render(
      desk,
      context,
      'Letters',
      html`${filterForm(given, desk)}
${query.has('unheld') ? html`<p class="warn" role="status">No letter’s error holds that text, so these are not filtered by it.</p>` : ''}
<p role="status">${countOf(found.length, 'letter matches', 'letters match')} of ${numberOf(value.all.length)}, as of ${new Date(atMs).toISOString().slice(11, 19)} UTC.</p>
<form method="get" data-selection>${hiddenFields({ ...given, sort })}
${desk.readOnly || found.length === 0 ? '' : actions(found.length)}
${table(
  'Letters',
  [
    {
      title: html`<input type="checkbox" data-all aria-label="Select all letters of this page" hidden>`,
      cell: ({ message }) =>
        html`<input type="checkbox" name="selected" value="${message}" aria-label="Select ${message.slice(0, 8)}">`,
    },
    {
      title: 'Letter',
      cell: ({ message }) =>
        html`<a href="/letters/${encodeURIComponent(message)}">${message.slice(0, 8)}</a>`,
    },
    {
      title: html`<a href="${link({ sort: sort === 'oldest' ? 'newest' : 'oldest' })}">Age</a>`,
      isNumber: true,
      cell: ({ atMs: writtenMs }) => ageOf(writtenMs),
    },
    { title: sortable('function', 'Function', link), cell: ({ function: name }) => said(name || '–') },
    { title: sortable('kind', 'Kind', link), cell: ({ kind }) => badge(kind) },
    { title: sortable('subject', 'User · course · thing', link), cell: (each) => subjectOf(each) || '–' },
    {
      title: sortable('replays', 'Replays', link),
      isNumber: true,
      cell: ({ replays }) => (replays === 0 ? '' : `${replays}${replays >= replayedOften ? '!' : ''}`),
    },
    {
      title: 'What failed',
      cell: ({ error, words }) => said(causeText({ error, words: words === undefined ? [] : [words] })),
    },
  ],
  shown,
  'No letter matches.',
)}</form>
${pages > 1 ? pager(number, pages, link) : ''}`,
    );
  });

  // What is searched for may be a name: only what the lists hold themselves, which name nobody, comes into the address.
  app.post('/letters/search', async (context) => {
    const form = await formOf(context);
    const { filter, given } = filterFrom(form);
    const { value } = await desk.lists.letters.get();
    const { error, ...others } = given;
    const isHeld = filter.error !== undefined && value.matching({ error: filter.error }).length > 0;
    if (error && !isHeld) return context.redirect(href('/letters', { ...others, unheld: 'yes' }), 303);
    return context.redirect(href('/letters', given), 303);
  });
};

const by: Record<string, (letter: LetterRecord) => string | number> = {
  function: ({ function: name }) => name,
  kind: ({ kind }) => kind,
  subject: (letter) => subjectOf(letter),
  replays: ({ replays }) => -replays,
};

/** Sorting is kept as long as the letters are: pages of one list ask for it again and again. */
const orders = new WeakMap<Letters, Map<string, LetterRecord[]>>();

const sorted = (letters: Letters, filter: Filter, sort: string): LetterRecord[] => {
  const found = letters.matching(filter);
  if (sort === 'newest') return found.toReversed();
  const keyOf = Object.hasOwn(by, sort) ? by[sort] : undefined;
  if (keyOf === undefined) return found;
  const isWhole = found === letters.all;
  const known = orders.get(letters) ?? new Map<string, LetterRecord[]>();
  const order =
    (isWhole ? known.get(sort) : undefined) ??
    found
      .map((letter) => ({ letter, key: keyOf(letter) }))
      .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
      .map(({ letter }) => letter);
  if (isWhole) orders.set(letters, known.set(sort, order));
  return order;
};

const sortable = (sort: string, text: string, link: (to: Record<string, string>) => string): Html =>
  html`<a href="${link({ sort })}">${text}</a>`;

const actions = (matching: number): Html => html`<fieldset class="actions"><legend>Do with</legend>
<label><input type="radio" name="of" value="selected"> the selected <output data-selected></output></label>
<label><input type="radio" name="of" value="matching" checked> all ${numberOf(matching)} that match</label>
<button formaction="/replay">Replay</button> <button formaction="/edit">Edit</button> <button formaction="/discard">Discard</button></fieldset>`;

const pager = (number: number, pages: number, link: (to: Record<string, number>) => string): Html =>
  html`<nav class="pager" aria-label="Pages">${number > 1 ? html`<a href="${link({ page: 1 })}">First</a> <a rel="prev" href="${link({ page: number - 1 })}">Previous</a>` : ''}
<span>Page ${number} of ${pages}</span>
${number < pages ? html`<a rel="next" href="${link({ page: number + 1 })}">Next</a> <a href="${link({ page: pages })}">Last</a>` : ''}</nav>`;

const filterForm = (given: Given, { integrations }: Desk): Html => {
  const value = (name: string): string => given[name]?.join(', ') ?? '';
  const choice = (name: string, label: string, options: readonly string[]): Html =>
    html`<label>${label} <select name="${name}"><option value="">any</option>${options.map(
      (each) => html`<option${given[name]?.includes(each) ? html` selected` : ''}>${each}</option>`,
    )}</select></label>`;
  const field = (name: string, label: string, hint = ''): Html =>
    html`<label>${label} <input name="${name}" value="${value(name)}" placeholder="${hint}" autocomplete="off"></label>`;
  return html`<form method="post" action="/letters/search" class="filter" role="search">
${choice('function', 'Function', [...integrations.keys()])}${choice('kind', 'Kind', letterKinds)}
${field('error', 'Error holds', 'not found')}${field('status', 'Status', '403, 5xx')}
${field('user', 'User', 'id')}${field('orgUnit', 'Course', 'id')}
${field('since', 'Since', '36h')}${field('until', 'Until', '2h')}${field('minReplays', 'Replays, at least')}
${given.cause ? html`<label>Cause <input name="cause" value="${value('cause')}"></label>` : ''}
<button>Filter</button> <a href="/letters">All</a></form>`;
};
