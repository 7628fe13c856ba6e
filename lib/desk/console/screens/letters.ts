import type { LetterRecord } from '../../../delivery/letters/record.ts';
import { letterKinds } from '../../../message/failure-kinds.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import type { Filter } from '../../messages/letters/filter.ts';
import { factsOf, type LetterSearch, queuedLetters } from '../../messages/letters/list.ts';
import { reindexLetters } from '../../messages/letters/reindex.ts';
import { reindexedView } from '../../views/changes.ts';
import { countOf, numberOf } from '../../views/format.ts';
import { groupsView, letterColumns, subjectOf } from '../../views/letters.ts';
import { type Block, href, table, type View } from '../../views/view.ts';
import {
  addAction,
  addScreen,
  asOf,
  type ConsoleServices,
  type Context,
  clock,
  type FilterTexts,
  filterFrom,
  formOf,
  htmlOf,
  offered,
  whichOf,
} from '../console-services.ts';
import { choice, hiddenFields, textField } from '../html/forms.ts';
import { type Html, html } from '../html/html.ts';
import { pageOf } from '../pages.ts';

/** Longer addresses are a burden to browsers. */
const maxAddress = 8_000;

/** To read the records of more letters takes longer than a person waits for a screen. */
const maxAwaited = 20_000;

/** About how many letters there are, if they are too many to be read at once, and not read yet. */
const unreadLetters = async ({ lists, target }: ConsoleServices): Promise<number | undefined> => {
  const queued = lists.letters.isThere() ? 0 : await queuedLetters(target);
  return queued > maxAwaited ? queued : undefined;
};

export const addLetters = (services: ConsoleServices): void => {
  const { app } = services;
  addScreen(services, ['/causes', 'Causes'], () => causesScreen(services));
  addScreen(services, ['/letters', 'Letters'], (query) => lettersScreen(services, query));
  addAction(services, '/reindex', () => beginReindex(services));
  app.post('/filters', (context) => keepFilter(services, context));
  app.post('/filters/forget', (context) => forgetFilter(services, context));
  app.post('/letters/search', (context) => search(services, context));
};

const causesScreen = async (services: ConsoleServices): Promise<View> => {
  const { value, atMs } = await services.lists.letters.get();
  const { groupsOf, all, queued } = value;
  const found = { groups: groupsOf(all).groups, queued, matching: all.length, listed: all.length };
  return [...groupsView(found, services.name), asOf(atMs)];
};

const lettersScreen = async (services: ConsoleServices, query: URLSearchParams): Promise<Html | View> => {
  const { filter, given } = filterFrom(query);
  const unread = query.has('whole') ? undefined : await unreadLetters(services);
  if (unread !== undefined) {
    const whole = new URLSearchParams([...query, ['whole', 'yes']]);
    return [{ later: `About ${numberOf(unread)} letters are being read`, to: `/letters?${whole}` }];
  }
  const { value, atMs } = await services.lists.letters.get();
  const sort = query.get('sort') ?? 'oldest';
  const found = sorted(value, filter, sort);
  const { shown, place, turns } = pageOf(found, query.get('page'));
  const ids = new Set(found.map(({ message }) => message));
  const ticked = new Set(query.getAll('selected')).intersection(ids);
  const onPage = new Set(shown.map(({ message }) => message));
  const elsewhere = [...ticked.difference(onPage)];
  // A button sends the ticks of this page and of the others.
  const buttons = turns.map(
    ([text, to]) =>
      html`<button formaction="/letters" formnovalidate name="page" value="${to}">${text}</button> `,
  );
  const letters = letterTable(shown, ticked, { given, sort });
  return html`<div id="part">${await keptFilters(services, given)}${filterForm(given, services)}
${query.has('unheld') ? html`<p class="warn">No letter’s error contains that text, so the letters are not filtered by it.</p>` : ''}
<p role="status">${numberOf(found.length)} of ${countOf(value.all.length, 'letter')}, as of ${clock(atMs)}.</p>
<form method="get" class="letters" data-selection>${hiddenFields({ ...given, sort, selected: elsewhere })}
${services.readOnly || found.length === 0 ? '' : offered(services, '/replay', actions(found.length, elsewhere.length))}
${htmlOf(services, [letters])}${place === '' ? '' : html`<nav class="pager" aria-label="Pages"><span>${place}</span> ${buttons}</nav>`}</form></div>`;
};

const letterTable = (
  letters: readonly LetterRecord[],
  ticked: ReadonlySet<string>,
  { given, sort }: { given: FilterTexts; sort: string },
): Block => {
  const sortedBy = (text: string, by: string) => ({
    text,
    to: href('/letters', { ...given, sort: by, selected: [...ticked] }),
  });
  const titles = {
    Age: sortedBy('Age', sort === 'oldest' ? 'newest' : 'oldest'),
    Function: sortedBy('Function', 'function'),
    Kind: sortedBy('Kind', 'kind'),
    'User · org unit · thing': sortedBy('User · org unit · thing', 'subject'),
    Replays: sortedBy('Replays', 'replays'),
  };
  return table(
    'Letters',
    letters.map(factsOf),
    { Tick: ({ id }) => ({ tick: id, isTicked: ticked.has(id) }), ...letterColumns },
    { empty: 'No letter matches.', titles, minor: ['Replays', 'Function'] },
  );
};

const beginReindex = ({ runs, target }: ConsoleServices) =>
  runs.begin('Correct the lists', async (at) => {
    const options = { signal: at.signal, onProgress: at.progress('Reading letters') };
    at.show('Result', reindexedView(await reindexLetters(target, options)));
  });

const keepFilter = async (services: ConsoleServices, context: Context) => {
  const form = await formOf(context);
  const name = form.get('name')?.trim() ?? '';
  const { given } = filterFrom(form);
  if (name === '') throw new UsageError('Under which name? Enter one.');
  if (Object.keys(given).length === 0) throw new UsageError('Set a filter first.');
  const address = href('/letters', given);
  await services.filters.keep(name, address);
  return context.redirect(address, 303);
};

const forgetFilter = async (services: ConsoleServices, context: Context) => {
  await services.filters.drop((await formOf(context)).get('name') ?? '');
  return context.redirect('/letters', 303);
};

/** Privacy: a search text may be a name. Only conditions that the lists contain, which name no person, go into the address. */
const search = async (services: ConsoleServices, context: Context) => {
  const { filter, given } = filterFrom(await formOf(context));
  const { error, ...others } = given;
  const { value } = await services.lists.letters.get();
  const isHeld = filter.error === undefined || value.matching({ error: filter.error }).length > 0;
  const to = isHeld ? given : { ...others, unheld: 'yes' };
  const address = href('/letters', to);
  if (address.length > maxAddress) throw new UsageError('This is too much for one filter. Enter fewer ids.');
  return context.redirect(address, 303);
};

const by: Record<string, (letter: LetterRecord) => string | number> = {
  oldest: ({ atMs }) => atMs,
  newest: ({ atMs }) => -atMs,
  function: ({ function: name }) => name,
  kind: ({ kind }) => kind,
  subject: subjectOf,
  replays: ({ replays }) => -replays,
};

const sorted = (letters: LetterSearch, filter: Filter, sort: string): LetterRecord[] => {
  const found = letters.matching(filter);
  const keyOf = by[Object.hasOwn(by, sort) ? sort : 'oldest'] ?? subjectOf;
  return (
    found
      .map((letter) => ({ letter, key: keyOf(letter) }))
      // By id where the keys are the same: rows that change places are ticked by mistake.
      .sort(
        (one, other) => compared(one.key, other.key) || compared(one.letter.message, other.letter.message),
      )
      .map(({ letter }) => letter)
  );
};

const compared = (one: string | number, other: string | number): number =>
  one < other ? -1 : one > other ? 1 : 0;

/** Nothing is preset. Before a person has chosen, only the choice is shown. The script writes on each button how many letters are chosen. */
const actions = (matching: number, elsewhere: number): Html => {
  const act = (text: string, to: string, look = ''): Html =>
    html`<button formaction="${to}"${look === '' ? '' : html` class="${look}"`}>${text} <span data-chosen></span></button> `;
  return html`<fieldset class="actions chosen"><legend class="unseen">Do with</legend>${whichOf(matching, elsewhere)}
${act('Replay', '/replay')}${act('Edit', '/edit')}${act('Export', '/export')}${act('Discard', '/discard', 'danger')}</fieldset>`;
};

/** Those that were kept, and a form to keep the one that is set. */
const keptFilters = async ({ filters }: ConsoleServices, given: FilterTexts): Promise<Html> => {
  const [here, all] = [href('/letters', given), await filters.all()];
  const isSet = Object.keys(given).length > 0 && !all.some(([, address]) => address === here);
  if (all.length === 0 && !isSet) return html``;
  const kept = all.map(
    ([name, address]) =>
      html`<span class="chip"><a href="${address}"${address === here ? html` aria-current="page"` : ''}>${name}</a><form method="post" action="/filters/forget">${hiddenFields({ name })}<button aria-label="Forget the filter ${name}">×</button></form></span> `,
  );
  return html`<div class="kept">${kept}${isSet ? html`<form method="post" action="/filters" class="inline">${hiddenFields(given)}<label>Name <input name="name" required maxlength="60" autocomplete="off"></label><button>Keep this filter</button></form>` : ''}</div>`;
};

const filterForm = (given: FilterTexts, { integrations }: ConsoleServices): Html => {
  const field = (name: string, label: string, hint = ''): Html =>
    textField(name, label, { value: given[name]?.join(', '), hint });
  const select = (name: string, label: string, options: readonly string[]): Html =>
    choice(name, label, { options, none: 'any', chosen: given[name] ?? [] });
  const { error: _, ...kept } = given;
  const chips = Object.entries(given).map(([name, values]) => {
    const others: FilterTexts = { ...kept };
    delete others[name];
    return html`<span class="chip">${name}: ${values.join(', ')}<a href="${href('/letters', others)}" aria-label="Without the filter ${name}">×</a></span> `;
  });
  return html`<details class="filters"><summary>Filter</summary>
<form method="post" action="/letters/search" class="filter" role="search">
${select('function', 'Function', [...integrations.keys()])}${select('kind', 'Kind', letterKinds)}
${field('error', 'Error holds', 'not found')}${field('status', 'Status', '403, 5xx')}${field('user', 'User', 'id')}${field('orgUnit', 'Org unit', 'id or code')}
${field('since', 'Since', '36h')}${field('until', 'Until', '2h')}${field('minReplays', 'Replays, at least')}${given.cause ? field('cause', 'Cause') : ''}
<button>Filter</button> <a href="/letters">All</a></form></details>${chips.length === 0 ? '' : html`<div class="kept">${chips}</div>`}`;
};
