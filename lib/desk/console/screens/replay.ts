import { runDefaults } from '../../messages/replay/run-defaults.ts';
import { replay } from '../../operator-actions/send.ts';
import { addAction, addChosen, type ConsoleServices, filterFrom, runOn } from '../console-services.ts';
import type { Run } from '../runs.ts';

export const lookedText =
  'Also send letters that are uncertain or outdated: I have checked what the platform holds';

export const addReplay = (services: ConsoleServices): void => {
  addChosen(services, {
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
  addAction(services, '/replay', (form) =>
    beginReplay(services, form, { includeUncertain: form.get('includeUncertain') === 'yes' }),
  );
};

export const beginReplay = (
  services: ConsoleServices,
  form: URLSearchParams,
  chosen: { includeUncertain: boolean; reason?: string | undefined },
): Run => {
  const { filter, given } = filterFrom(form);
  const options = { ...runDefaults, filter, ...chosen, dryRun: services.readOnly, probe: true };
  return services.runs.begin('Replay', (at) => replay(at, options), runOn('/replay', given));
};
