import { functionsIn } from '../../../operate/messages/replay/plan.ts';
import { replayLetters } from '../../../operate/messages/replay/replay.ts';
import { runDefaults } from '../../../operate/messages/replay/run-defaults.ts';
import { pausedFunctions } from '../../../operate/stage/pause.ts';
import { countOf } from '../../views/amounts.ts';
import { groupTable, matchText } from '../../views/letters.ts';
import { planView, resultView, runSentence } from '../../views/plan.ts';
import { text } from '../../views/view.ts';
import { addScreen, addVerb, becameOf, chosenFrom, type Desk, filterFrom, runOn } from '../desk.ts';
import type { Run, Work } from '../runs.ts';
import { rateIn, sendingFields, sendingHooks } from './sending.ts';

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
  const { target, audit, runs, readOnly } = desk;
  const { filter, given } = filterFrom(form);
  const options = { ...runDefaults, filter, ...chosen, dryRun: readOnly, probe: true };
  const work = async (at: Work): Promise<void> => {
    const result = await replayLetters(target, options, {
      ...sendingHooks(at, options),
      audit,
      confirm: async (plan, report) => {
        at.show('Plan', [
          ...planView(plan, report, await pausedFunctions(target, functionsIn(plan))),
          ...(plan.matching === 0 ? becameOf(options.filter) : []),
        ]);
        const count = plan.send.reduce((sum, { letters }) => sum + letters, 0);
        if (readOnly || count === 0) return false;
        const fields = [...sendingFields(options), { reason: 'optional' as const, value: options.reason }];
        const act = `Send ${countOf(count, 'letter')}`;
        const { rate: _, ...others } = options;
        const answer = await at.ask({ text: runSentence(plan, others), act, fields });
        if (answer === undefined) return false;
        // The verb reads the options when it begins to send.
        options.rate = rateIn(answer);
        options.reason = answer.reason?.trim() || undefined;
        return true;
      },
    });
    at.show('Result', resultView(result));
  };
  return runs.begin('Replay', work, runOn('/replay', given, desk));
};
