import { needsDecision, undecidedKinds } from '../../../message/failure-kinds.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { revealAndCompare } from '../../messages/verify/compare.ts';
import { verify } from '../../operator-actions/verify.ts';
import { countOf } from '../../views/format.ts';
import { about, groupTable, letterLink, lookForm, origin } from '../../views/letters.ts';
import { maxRevealed, revealedView, revealForm } from '../../views/verify.ts';
import { type Form, href, table, text, type View } from '../../views/view.ts';
import {
  addAction,
  addScreen,
  type ConsoleServices,
  type Context,
  filterFrom,
  formOf,
  htmlOf,
  offered,
  reasonIn,
  render,
  runOn,
  shownIn,
  whichOf,
} from '../console-services.ts';
import { hiddenFields, reasonField } from '../html/forms.ts';
import { type Html, html } from '../html/html.ts';
import { pageOf, pager } from '../pages.ts';
import { beginDiscard } from './discard.ts';
import { beginReplay } from './replay.ts';

/** More rows would be more than three screens. */
const perPage = 15;

export const addUncertain = (services: ConsoleServices): void => {
  addScreen(services, ['/uncertain', 'Uncertain'], (query) => uncertainScreen(services, query));
  addAction(services, '/uncertain', (form) => beginLookUp(services, form));
  services.app.post('/uncertain/reveal', (context) => reveal(services, context));
  addAction(services, '/decide', (form) => beginDecision(services, form));
};

const undecidedAmong = async (services: ConsoleServices, query: URLSearchParams) => {
  const { filter, given } = filterFrom(query);
  const { value } = await services.lists.letters.get();
  const letters = value.matching(filter).filter(({ kind }) => needsDecision(kind));
  return { letters, groups: value.groupsOf(letters).groups, given };
};

const uncertainScreen = async (services: ConsoleServices, query: URLSearchParams): Promise<Html | View> => {
  const { letters, groups, given } = await undecidedAmong(services, query);
  if (letters.length === 0) return [{ tone: 'good', text: 'There is nothing to decide.' }];
  const paged = pageOf(letters, query.get('page'), perPage);
  const ids = letters.map(({ message }) => message);
  const uncertain = letters.filter(({ kind }) => kind === 'uncertain').length;
  const outdated = letters.length - uncertain;
  const look: View = [
    text(`${countOf(letters.length, 'letter needs', 'letters need')} the decision of a person.`),
    ...(uncertain === 0 ? [] : lookView(uncertain, given)),
    outdated > 0 && {
      tone: 'todo',
      text: `After ${countOf(outdated, 'outdated letter')}, something newer may have been done. Reveal what each sets beside what the platform shows, then send or discard them below.`,
    },
    groupTable('What needs a decision', groups),
  ];
  const rows = table(
    'Letters that need a decision',
    paged.shown,
    {
      Tick: ({ message }) => ({ tick: message }),
      Letter: ({ message }) => letterLink(message),
      Age: ({ atMs }) => ({ sinceMs: atMs }),
      ...origin,
      ...about,
    },
    { minor: ['Age', 'Function'] },
  );
  const turning = pager(paged, (page) => href('/uncertain', { ...given, page }));
  const kinds = hiddenFields({
    ...given,
    kind: given.kind ?? undecidedKinds,
    shown: String(letters.length),
  });
  const decide = services.readOnly
    ? htmlOf(services, [rows])
    : html`<form method="post" action="/decide" data-selection>${kinds}${offered(services, '/decide', decisions({ uncertain, outdated }))}
${htmlOf(services, [rows])}</form>`;
  return html`${htmlOf(services, look)}${decide}${htmlOf(services, [...turning, revealForm(ids)])}`;
};

const beginLookUp = async (services: ConsoleServices, form: URLSearchParams) => {
  const { letters, given } = await undecidedAmong(services, form);
  // For outdated letters, no look-up shows whether something newer was done.
  const id = letters.filter(({ kind }) => kind === 'uncertain').map(({ message }) => message);
  if (id.length === 0) throw new UsageError('None of these letters can be looked up.');
  const may = services.readOnly ? { discardFound: false, replayAbsent: false } : {};
  const options = { name: services.name, filter: { id }, ...may };
  return services.runs.begin(
    'Look for what is uncertain',
    async (at) => void (await verify(at, options)),
    runOn('/uncertain', given),
  );
};

const reveal = async (services: ConsoleServices, context: Context) => {
  const form = await formOf(context);
  const reason = reasonIn(form);
  const { letters } = await undecidedAmong(services, form);
  const ids = letters.slice(0, maxRevealed).map(({ message }) => message);
  const { signal } = context.req.raw;
  const revealed = await revealAndCompare(services.target, { ids, reason, audit: services.audit, signal });
  const filter = { kind: [...undecidedKinds] };
  const content = revealedView(revealed, { reason, more: Number(form.get('more') ?? 0), filter });
  return render(services, context, { title: 'Uncertain, revealed', content });
};

/** A person has seen these letters and chosen: a replay asks only if its plan sends others. */
const beginDecision = (services: ConsoleServices, form: URLSearchParams) => {
  const reason = reasonIn(form);
  const chosen = form.get('of') === 'matching' ? form : idsOnly(form);
  const count = chosen.getAll('id').length;
  if (count === 0 && form.get('of') !== 'matching')
    throw new UsageError('No letter is ticked. Tick some, or choose all of them.');
  if (form.get('decision') === 'discard') return beginDiscard(services, chosen, count === 1 ? 1 : undefined);
  const agreed = chosen === form ? shownIn(form) : count;
  return beginReplay(services, chosen, { includeUncertain: true, reason, agreed });
};

/** The letters that were ticked, or that a row's own form names, and of these kinds alone. */
const idsOnly = (form: URLSearchParams): URLSearchParams => {
  const ids = [...form.getAll('id'), ...form.getAll('selected')];
  return new URLSearchParams([
    ...ids.map((id): [string, string] => ['id', id]),
    ...form.getAll('kind').map((kind): [string, string] => ['kind', kind]),
    ['reason', form.get('reason') ?? ''],
  ]);
};

const lookView = (letters: number, given: Form['hidden']): View => [
  text('It is not known whether the uncertain ones were done, and doing them twice does harm.'),
  { ...lookForm(letters, given ?? {}), isMain: true },
  {
    tone: 'quiet',
    text: 'This changes nothing. Then you can discard all letters whose change was found, and send all whose change was not found.',
  },
];

/** What each decision says of the letters. */
const decisionTexts = ({ uncertain, outdated }: UndecidedCounts): { send: string; discard: string } => {
  if (outdated === 0) return { send: 'They were not done', discard: 'They were done' };
  if (uncertain === 0) return { send: 'Nothing newer is there', discard: 'Something newer is there' };
  return {
    send: 'They were not done, and nothing newer is there',
    discard: 'They were done, or something newer is there',
  };
};

type UndecidedCounts = { uncertain: number; outdated: number };

const decisions = (count: UndecidedCounts): Html => {
  const { send, discard } = decisionTexts(count);
  return html`<fieldset class="actions"><legend>Decide, once you have looked</legend>${whichOf(count.uncertain + count.outdated)}${reasonField(true)}
<button name="decision" value="send">${send}: send <span data-chosen></span></button> <button name="decision" value="discard" class="danger">${discard}: discard <span data-chosen></span></button></fieldset>`;
};
