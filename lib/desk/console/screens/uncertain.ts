import type { LetterRecord } from '../../../delivery/letters/record.ts';
import { needsDecision, type UndecidedKind, undecidedKinds } from '../../../message/failure-kinds.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import type { Group } from '../../messages/letters/groups.ts';
import { revealAndCompare } from '../../messages/verify/compare.ts';
import { verify } from '../../operator-actions/verify.ts';
import { countOf, numberOf } from '../../views/format.ts';
import { about, groupTable, letterLink, lookForm, origin } from '../../views/letters.ts';
import { comparedTable, maxRevealed, revealedView, revealForm } from '../../views/verify.ts';
import { type Block, href, table, text, type View } from '../../views/view.ts';
import {
  addAction,
  addScreen,
  type ConsoleServices,
  type Context,
  type FilterTexts,
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
/** Where both kinds are shown. */
const perKind = 6;

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
  return { letters, groupsOf: value.groupsOf, given };
};

/** Each kind by itself: what decides on one of them does harm to the other. */
const uncertainScreen = async (services: ConsoleServices, query: URLSearchParams): Promise<Html | View> => {
  const { letters, groupsOf, given } = await undecidedAmong(services, query);
  if (letters.length === 0) return [{ tone: 'good', text: 'There is nothing to decide.' }];
  const kinds = undecidedKinds.flatMap((kind) => {
    const ofKind = letters.filter((each) => each.kind === kind);
    return ofKind.length === 0 ? [] : [{ kind, letters: ofKind, groups: groupsOf(ofKind).groups }];
  });
  const isOne = kinds.length === 1;
  return html`${kinds.map((each) => kindSection(services, { ...each, given, isOne, page: query.get('page') }))}`;
};

type OfKind = {
  kind: UndecidedKind;
  letters: LetterRecord[];
  groups: Group[];
  given: FilterTexts;
  /** It is the only kind. */
  isOne: boolean;
  page: string | null;
};

const kindSection = (services: ConsoleServices, of: OfKind): Html => {
  const { kind, letters, groups, isOne } = of;
  const given = { ...of.given, kind: [kind] };
  const paged = pageOf(letters, isOne ? of.page : null, isOne ? perPage : perKind);
  const ids = letters.map(({ message }) => message);
  const rows = table(
    `Letters that are ${kind}`,
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
  const turning = isOne
    ? pager(paged, (page) => href('/uncertain', { ...given, page }))
    : letters.length > perKind && [
        { links: [{ text: `All ${numberOf(letters.length)}`, to: href('/uncertain', given) }] },
      ];
  const look: View = [
    text(undecidedTexts[kind].why),
    ...(kind === 'uncertain'
      ? lookView(letters.length, given, isOne)
      : [revealForm(ids, { kind, isMain: isOne })]),
    groupTable(`Causes of what is ${kind}`, groups),
  ];
  const hidden = hiddenFields({ ...given, shown: String(letters.length) });
  const decide = services.readOnly
    ? htmlOf(services, [rows])
    : decideForm(services, { kind, count: letters.length, hidden, rows });
  const reveal = kind === 'uncertain' && [revealForm(ids, { kind })];
  const title = countOf(letters.length, `letter is ${kind}`, `letters are ${kind}`);
  return html`<section><h2>${title}</h2>${htmlOf(services, look, 3)}${decide}${htmlOf(services, [...(turning || []), ...(reveal || [])], 3)}</section>`;
};

type DecideForm = {
  kind: UndecidedKind;
  count: number;
  hidden: Html[];
  rows: Block;
  /** Why the letters were revealed. */
  reason?: string;
};

const decideForm = (
  services: ConsoleServices,
  { kind, count, hidden, rows, reason = '' }: DecideForm,
): Html => {
  const { send, discard } = undecidedTexts[kind];
  const actions = html`<fieldset class="actions"><legend>Decide, once you have looked</legend>${whichOf(count)}${reasonField(true, reason)}
<button name="decision" value="send">${send}: send <span data-chosen></span></button> <button name="decision" value="discard" class="danger">${discard}: discard <span data-chosen></span></button></fieldset>`;
  return html`<form method="post" action="/decide" data-selection>${hidden}${offered(services, '/decide', actions)}
${htmlOf(services, [rows])}</form>`;
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
  const chosen = letters.slice(0, maxRevealed);
  const ids = chosen.map(({ message }) => message);
  const { signal } = context.req.raw;
  const revealed = await revealAndCompare(services.target, { ids, reason, audit: services.audit, signal });
  const [outdated, others] = [true, false].map((is) =>
    revealed.filter(({ kind }) => (kind === 'outdated') === is),
  );
  const more = Number(form.get('more') ?? 0);
  const filter = { kind: [...undecidedKinds] };
  const compared =
    outdated === undefined || outdated.length === 0
      ? ''
      : decideForm(services, {
          kind: 'outdated',
          count: outdated.length,
          hidden: hiddenFields({ id: outdated.map(({ id }) => id), kind: 'outdated' }),
          rows: comparedTable(outdated, new Map(chosen.map((letter) => [letter.message, letter]))),
          reason,
        });
  const content = html`${compared}${htmlOf(services, revealedView(others ?? [], { reason, more, filter, isPart: compared !== '' }))}`;
  return render(services, context, { title: compared === '' ? 'Uncertain, revealed' : 'Compared', content });
};

/** A person has seen these letters and chosen. What is sent has a plan to agree to all the same. */
const beginDecision = (services: ConsoleServices, form: URLSearchParams) => {
  const reason = reasonIn(form);
  const isMatching = form.get('of') === 'matching';
  const chosen = isMatching ? form : idsOnly(form);
  const count = chosen.getAll('id').length;
  if (count === 0 && !isMatching)
    throw new UsageError('No letter is ticked. Tick some, or choose all of them.');
  if (filterFrom(chosen).given.kind?.length !== 1)
    throw new UsageError(
      'What is uncertain and what is outdated is decided apart. Choose letters of one kind.',
    );
  if (form.get('decision') === 'discard')
    return beginDiscard(services, chosen, isMatching ? (shownIn(form) ?? count) : count);
  return beginReplay(services, chosen, { includeUncertain: true, reason });
};

/** The letters that were ticked, or that a row's own form names, and of this kind alone. */
const idsOnly = (form: URLSearchParams): URLSearchParams => {
  const ids = form.getAll(form.get('of') === 'selected' ? 'selected' : 'id');
  return new URLSearchParams([
    ...ids.map((id): [string, string] => ['id', id]),
    ...form.getAll('kind').map((kind): [string, string] => ['kind', kind]),
    ['reason', form.get('reason') ?? ''],
  ]);
};

const lookView = (letters: number, given: FilterTexts, isMain: boolean): View => [
  { ...lookForm(letters, given), ...(isMain && { isMain }) },
  {
    tone: 'quiet',
    text: 'This changes nothing. Then you can discard all letters whose change was found, and send all whose change was not found.',
  },
];

/** Why a person decides, and what each decision says of the letters. */
const undecidedTexts: Record<UndecidedKind, { why: string; send: string; discard: string }> = {
  uncertain: {
    why: 'It is not known whether they were done, and doing them twice does harm.',
    send: 'They were not done',
    discard: 'They were done',
  },
  outdated: {
    why: 'Something newer may have been done since. Compare what each sets with what the platform shows: this reveals personal data, and the audit log records the reason.',
    send: 'Nothing newer is there',
    discard: 'Something newer is there',
  },
};
