import { discardLetters } from '../../../operate/messages/archive/discard.ts';
import { UsageError } from '../../../operate/stage/command-errors.ts';
import { countOf } from '../../views/amounts.ts';
import { discardedView, discardPlanView } from '../../views/changes.ts';
import { groupTable, matchText } from '../../views/letters.ts';
import { text } from '../../views/view.ts';
import { addScreen, addVerb, becameOf, chosenFrom, type Desk, filterFrom, reasonIn, runOn } from '../desk.ts';
import type { Run, Work } from '../runs.ts';

export const addDiscard = (desk: Desk): void => {
  addScreen(desk, ['/discard', 'Discard'], async (query) => {
    const { groups, count, given, filter } = await chosenFrom(desk, query);
    const isAll = Object.keys(given).length === 0;
    const all = { checkbox: 'all', label: 'All letters', isRequired: true };
    return [
      text(`${matchText(count)}. Each is archived first. You can restore it from the log.`),
      {
        ...{
          action: '/discard',
          hidden: given,
          isMain: true,
          buttons: [{ text: `Plan to discard ${countOf(count, 'letter')}` }],
        },
        fields: [...(isAll ? [all] : []), { reason: 'required' }],
      },
      groupTable('Letters by cause', groups, 'There is nothing to discard.'),
      ...(count === 0 ? becameOf(filter) : []),
    ];
  });
  addVerb(desk, '/discard', (form) => beginDiscard(desk, form));
};

/** `isAgreed`: a single letter, which the operator has seen and chosen. */
export const beginDiscard = (desk: Desk, form: URLSearchParams, isAgreed = false): Run => {
  const { target, audit, runs } = desk;
  const { filter, given } = filterFrom(form);
  const reason = reasonIn(form);
  if (Object.keys(filter).length === 0 && form.get('all') !== 'yes')
    throw new UsageError('Which letters? Choose some, or set a filter.');
  const work = async (at: Work): Promise<void> => {
    const discarded = await discardLetters(target, {
      ...{ filter, reason, dryRun: false, audit, signal: at.signal },
      onProgress: at.progress('Taking letters'),
      onDiscarded: at.progress('Discarded'),
      confirm: async (plan) => {
        at.show('Plan', [...discardPlanView(plan), ...(plan.letters === 0 ? becameOf(filter) : [])]);
        if (plan.letters === 0 || isAgreed) return isAgreed;
        const question = `They are archived, then deleted from the queue. Reason: ${reason}`;
        return (
          (await at.ask({ text: question, act: `Discard ${countOf(plan.letters, 'letter')}` })) !== undefined
        );
      },
    });
    at.show('Result', discardedView(discarded));
  };
  return runs.begin('Discard', work, runOn('/discard', given, desk));
};
