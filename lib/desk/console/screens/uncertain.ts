import { needsDecision } from '../../../message/failure-kinds.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { revealLetters } from '../../messages/letters/show.ts';
import { verify } from '../../verbs/verify.ts';
import { countOf } from '../../views/amounts.ts';
import { about, groupTable, letterLink, origin } from '../../views/letters.ts';
import { decisionForm, maxRevealed, revealedView, revealForm } from '../../views/verify.ts';
import { table, text } from '../../views/view.ts';
import { addScreen, addVerb, type Desk, filterFrom, formOf, reasonIn, render, runOn } from '../desk.ts';
import { beginDiscard } from './discard.ts';
import { beginReplay } from './replay.ts';

const maxShown = 100;

export const addUncertain = (desk: Desk): void => {
  const { target, runs, lists } = desk;
  const undecidedAmong = async (query: URLSearchParams) => {
    const { filter, given } = filterFrom(query);
    const { value } = await lists.letters.get();
    const letters = value.matching(filter).filter(({ kind }) => needsDecision(kind));
    return { letters, groups: value.groupsOf(letters).groups, given };
  };
  addScreen(desk, ['/uncertain', 'Uncertain'], async (query) => {
    const { letters, groups, given } = await undecidedAmong(query);
    if (letters.length === 0) return [{ tone: 'good', text: 'There is nothing to decide.' }];
    return [
      text(
        `${countOf(letters.length, 'letter needs', 'letters need')} the decision of a person. It is not known whether the uncertain ones were done, and doing them twice does harm. Something newer may have been done after the outdated ones.`,
      ),
      {
        ...{ action: '/uncertain', hidden: given, isHarmless: true, isMain: true },
        buttons: [{ text: `Look for ${countOf(letters.length, 'letter')} on the platform` }],
      },
      {
        tone: 'quiet',
        text: 'This changes nothing. Outdated letters cannot be looked up: compare them with what the platform holds.',
      },
      revealForm(letters.map(({ message }) => message)),
      groupTable('What needs a decision', groups),
      table('Letters that need a decision', letters.slice(0, maxShown), {
        Letter: ({ message }) => letterLink(message),
        ...origin,
        ...about,
        Decide: ({ message }) => decisionForm(message),
      }),
      letters.length > maxShown && { more: `These are the oldest ${maxShown}` },
    ];
  });

  addVerb(desk, '/uncertain', async (form) => {
    const { letters, given } = await undecidedAmong(form);
    const id = letters.map(({ message }) => message);
    const may = desk.readOnly ? { discardFound: false, replayAbsent: false } : {};
    const options = { name: desk.name, filter: { id }, ...may };
    return runs.begin(
      'Look for what is uncertain',
      async (at) => void (await verify(at, options)),
      runOn('/uncertain', given),
    );
  });

  desk.app.post('/uncertain/reveal', async (context) => {
    const form = await formOf(context);
    const reason = reasonIn(form);
    const { letters } = await undecidedAmong(form);
    const ids = letters.slice(0, maxRevealed).map(({ message }) => message);
    const { signal } = context.req.raw;
    const revealed = await revealLetters(target, { ids, reason, audit: desk.audit, signal });
    return render(desk, context, { title: 'Uncertain, revealed', content: revealedView(revealed, reason) });
  });

  // A person has seen these letters and chosen, so the decision is carried out after the plan of a replay.
  addVerb(desk, '/decide', (form) => {
    const reason = reasonIn(form);
    const count = form.getAll('id').length;
    if (count === 0) throw new UsageError('No letter was chosen.');
    return form.get('decision') === 'discard'
      ? beginDiscard(desk, form, count === 1)
      : beginReplay(desk, form, { includeUncertain: true, reason });
  });
};
