import { UsageError } from '../../../operate/stage/command-errors.ts';
import { discard } from '../../verbs/discard.ts';
import { countOf } from '../../views/amounts.ts';
import { becameOf, groupTable, matchText } from '../../views/letters.ts';
import { text } from '../../views/view.ts';
import { addScreen, addVerb, chosenFrom, type Desk, filterFrom, reasonIn, runOn } from '../desk.ts';
import type { Run } from '../runs.ts';

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
  const { filter, given } = filterFrom(form);
  const reason = reasonIn(form);
  if (Object.keys(filter).length === 0 && form.get('all') !== 'yes')
    throw new UsageError('Which letters? Choose some, or set a filter.');
  const options = { filter, reason, dryRun: false, isAgreed };
  return desk.runs.begin('Discard', (at) => discard(at, options), runOn('/discard', given, desk));
};
