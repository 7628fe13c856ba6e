import { UsageError } from '../../../stage/command-errors.ts';
import { discard } from '../../operator-actions/discard.ts';
import type { Field } from '../../views/view.ts';
import {
  addAction,
  addChosen,
  type ConsoleServices,
  filterFrom,
  reasonIn,
  runOn,
  shownIn,
} from '../console-services.ts';
import type { Run } from '../runs.ts';

export const addDiscard = (services: ConsoleServices): void => {
  addChosen(services, {
    path: '/discard',
    title: 'Discard',
    empty: 'There is nothing to discard.',
    sentence: 'Each is archived first. You can restore it from the log.',
    form: (letters, given) => {
      const isAll = Object.keys(given).length === 0;
      const all = { checkbox: 'all', label: 'All letters', isRequired: true };
      const fields: Field[] = [...(isAll ? [all] : []), { reason: 'required' }];
      return { fields, buttons: [{ text: `Discard ${letters}`, isDestructive: true }] };
    },
  });
  addAction(services, '/discard', (form) => beginDiscard(services, form, shownIn(form)));
};

/** `agreed`: how many letters the operator has seen, and chosen to discard. */
export const beginDiscard = (services: ConsoleServices, form: URLSearchParams, agreed?: number): Run => {
  const { filter, given } = filterFrom(form);
  const reason = reasonIn(form);
  if (Object.keys(filter).length === 0 && form.get('all') !== 'yes')
    throw new UsageError('Which letters? Choose some, or set a filter.');
  const options = { filter, reason, dryRun: false, agreed };
  return services.runs.begin('Discard', (at) => discard(at, options), runOn('/discard', given));
};
