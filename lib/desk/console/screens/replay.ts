import { runDefaults } from '../../messages/replay/run-defaults.ts';
import { replay } from '../../verbs/send.ts';
import { addChosen, addVerb, type Desk, filterFrom, runOn } from '../desk.ts';
import type { Run } from '../runs.ts';

export const lookedText =
  'Also send letters that are uncertain or outdated: I have checked what the platform holds';

export const addReplay = (desk: Desk): void => {
  addChosen(desk, {
    path: '/replay',
    title: 'Replay',
    empty: 'There is nothing to replay.',
    sentence: 'A replay starts with a plan. Nothing is sent before you agree to it.',
    form: (letters) => ({
      isHarmless: true,
      buttons: [{ text: `Make the plan for ${letters}` }],
      fields: [{ checkbox: 'includeUncertain', label: lookedText }],
    }),
  });
  addVerb(desk, '/replay', (form) =>
    beginReplay(desk, form, { includeUncertain: form.get('includeUncertain') === 'yes' }),
  );
};

export const beginReplay = (
  desk: Desk,
  form: URLSearchParams,
  chosen: { includeUncertain: boolean; reason?: string | undefined; agreed?: number | undefined },
): Run => {
  const { filter, given } = filterFrom(form);
  const options = { ...runDefaults, filter, ...chosen, dryRun: desk.readOnly, probe: true };
  return desk.runs.begin('Replay', (at) => replay(at, options), runOn('/replay', given));
};
