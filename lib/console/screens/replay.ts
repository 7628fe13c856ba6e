import type { ConnectionReport } from '../../connection/check.ts';
import type { Plan } from '../../dead-letters/replay/plan.ts';
import { type ReplayResult, replayLetters } from '../../dead-letters/replay/replay.ts';
import { checkbox, hiddenFields, reasonField } from '../../markup/forms.ts';
import { type Html, html, notes } from '../../markup/html.ts';
import { countOf, numberOf } from '../../views/amounts.ts';
import { matchText } from '../../views/letters.ts';
import { endNote, planSections, probeNotes, resultNotes, runSentence } from '../../views/plan.ts';
import { addScreen, addVerb, chosenFrom, type Desk, filterFrom } from '../desk.ts';
import type { Run } from '../runs.ts';
import { groupTable } from './cells.ts';
import { countsOf, rateIn, runDefaults, sendingFields, sendingHooks } from './sending.ts';

export const lookedText =
  'Also send letters that are uncertain or outdated: I have checked what the platform holds';

export const addReplay = (desk: Desk): void => {
  addScreen(desk, ['/replay', 'Replay'], async (query) => {
    const { groups, count, given } = await chosenFrom(desk, query);
    return html`<p>${matchText(count)}. A replay starts with a plan. Nothing is sent before you agree to it.</p>
<form method="post" action="/replay">${hiddenFields(given)}${checkbox('includeUncertain', lookedText)}<button>Make the plan</button></form>
${groupTable('Letters by cause', groups, 'No letter matches.')}`;
  });
  addVerb(desk, '/replay', (form) =>
    beginReplay(desk, form, { includeUncertain: form.get('includeUncertain') === 'yes' }),
  );
};

export const beginReplay = (
  { target, audit, runs, readOnly }: Desk,
  form: URLSearchParams,
  chosen: { includeUncertain: boolean; reason?: string | undefined },
): Run => {
  const options = { ...runDefaults, ...filterFrom(form), ...chosen, dryRun: readOnly, probe: true };
  return runs.begin('Replay', async (at) => {
    const result = await replayLetters(target, options, {
      ...sendingHooks(at),
      audit,
      confirm: async (plan, report) => {
        at.show('Plan', planOf(plan, report));
        const count = plan.send.reduce((sum, { letters }) => sum + letters, 0);
        if (readOnly || count === 0) return false;
        const fields = sendingFields(options, reasonField(false, options.reason));
        const act = `Send ${countOf(count, 'letter')}`;
        const { rate: _, ...others } = options;
        const answer = await at.ask({ text: runSentence(plan, others), act, fields });
        if (answer === undefined) return false;
        // The verb reads them when it begins to send.
        options.rate = rateIn(answer);
        options.reason = answer.reason?.trim() || undefined;
        return true;
      },
    });
    at.show('Result', resultOf(result));
  });
};

const planOf = (plan: Plan, report: ConnectionReport | undefined): Html =>
  html`<p>${matchText(plan.matching)}.</p>${planSections(plan, report).map(
    ({ count, title, groups, notes: told }) =>
      html`<h3><span class="count">${numberOf(count)}</span> ${title}</h3>${groupTable(title, groups)}${notes(told)}`,
  )}${notes(probeNotes(report))}`;

const unsent: Record<string, string> = {
  planned: 'This was only the plan.',
  nothing: 'There is nothing to send.',
  declined: 'Nothing was changed.',
};

type Ended = Pick<ReplayResult, 'counts' | 'ended' | 'stoppedBecause' | 'backLater'>;

export const resultOf = ({ counts, ended, ...more }: Ended): Html => {
  if (counts === undefined) return html`<p>${unsent[ended]}</p>`;
  const told = resultNotes({ counts, ...more }).map(({ count, tone, text }) => ({
    ...{ tone, text: `${numberOf(count)} ${text}` },
  }));
  return html`${notes([endNote({ counts, ...more }), ...told])}${countsOf(counts)}`;
};
