import { runDefaults } from '../../../operate/messages/replay/run-defaults.ts';
import { replay } from '../../verbs/send.ts';
import { countOf } from '../../views/amounts.ts';
import { becameOf, groupTable, matchText } from '../../views/letters.ts';
import { text } from '../../views/view.ts';
import { addScreen, addVerb, chosenFrom, type Desk, filterFrom, runOn } from '../desk.ts';
import type { Run } from '../runs.ts';

export const lookedText =
  'Also send letters that are uncertain or outdated: I have checked what the platform holds';

export const addReplay = (desk: Desk): void => {
  addScreen(desk, ['/replay', 'Replay'], async (query) => {
    const { groups, count, given, filter } = await chosenFrom(desk, query);
    return [
      text(`${matchText(count)}. A replay starts with a plan. Nothing is sent before you agree to it.`),
      {
        ...{
          action: '/replay',
          hidden: given,
          isHarmless: true,
          isMain: true,
          buttons: [{ text: `Make the plan for ${countOf(count, 'letter')}` }],
        },
        fields: [{ checkbox: 'includeUncertain', label: lookedText }],
      },
      groupTable('Letters by cause', groups, 'There is nothing to replay.'),
      ...(count === 0 ? becameOf(filter) : []),
    ];
  });
  addVerb(desk, '/replay', (form) =>
    beginReplay(desk, form, { includeUncertain: form.get('includeUncertain') === 'yes' }),
  );
};

export const beginReplay = (
  desk: Desk,
  form: URLSearchParams,
  chosen: { includeUncertain: boolean; reason?: string | undefined },
): Run => {
  const { filter, given } = filterFrom(form);
  const options = { ...runDefaults, filter, ...chosen, dryRun: desk.readOnly, probe: true };
  return desk.runs.begin('Replay', (at) => replay(at, options), runOn('/replay', given, desk));
};
