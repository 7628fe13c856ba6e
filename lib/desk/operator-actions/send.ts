import { functionsReachedMs } from '../../stage/connection/functions-reach.ts';
import { pausedFunctions } from '../../stage/pause.ts';
import { type EditOptions, type EditResult, editLetters } from '../messages/edit/edit.ts';
import { functionsIn } from '../messages/replay/plan.ts';
import { type ReplayOptions, type ReplayResult, replayLetters } from '../messages/replay/replay.ts';
import type { RunHooks, RunOptions } from '../messages/replay/run.ts';
import { editPlanView, mergedText, originalNotes } from '../views/changes.ts';
import { filterOptions } from '../views/filter-options.ts';
import { countOf, durationOf } from '../views/format.ts';
import { pausedWarnings } from '../views/pause.ts';
import {
  canaryView,
  outcomesText,
  pausedView,
  planView,
  resultView,
  runSentence,
  stillFailing,
} from '../views/plan.ts';
import { quoted } from '../views/quoted.ts';
import { type Field, part, text } from '../views/view.ts';
import { endedLettersOfFilter } from './ended-letters.ts';
import type { Answer, OperatorContext } from './operator-context.ts';

type NoOutcomeOptions = {
  /** Also sends the rest of causes whose canary has no outcome. */
  isUndecidedContinued?: boolean | undefined;
};

export const replay = async (
  operator: OperatorContext,
  { isUndecidedContinued, ...given }: ReplayOptions & NoOutcomeOptions,
): Promise<ReplayResult> => {
  const { target, audit, signal } = operator;
  const options = { ...given };
  const result = await replayLetters(target, options, {
    ...sendingHooks(operator, options, { isUndecidedContinued, leastCanary: 1 }),
    audit,
    functionsReachedMs: () => functionsReachedMs(target),
    onProgress: operator.progress('Taking letters'),
    confirm: async (plan, connection, letters) => {
      const paused = await pausedFunctions(target, functionsIn(plan));
      const report = options.probe ? connection : 'not asked';
      const view = [
        ...planView(plan, report, { paused }),
        ...(plan.matching === 0 ? await endedLettersOfFilter(operator, options.filter) : []),
      ];
      operator.show('Plan', view, { plan, connection, paused });
      const count = plan.send.reduce((sum, { letters }) => sum + letters, 0);
      if (options.dryRun || count === 0 || signal.aborted) return false;
      const { rate: _, ...others } = options;
      const answer = await operator.ask({
        text: runSentence(plan, options),
        hint: runSentence(plan, others),
        act: `Send ${countOf(count, 'letter')}`,
        warnings: [...pausedWarnings(paused), ...stillFailing(plan.send)],
        letters,
        fields: [...sendingFields(options), { reason: 'optional', value: options.reason }],
      });
      if (answer === undefined) return false;
      operator.renew('Plan', planView(plan, report, { paused, isAgreed: true }));
      // The verb reads the options when it begins to send.
      options.rate = rateIn(answer, options);
      if (answer.reason !== undefined) options.reason = answer.reason.trim() || undefined;
      return true;
    },
  });
  const { plan: _, report: __, ...shown } = result;
  operator.show('Result', resultView(result, replayCommand(options)), { result: shown });
  return result;
};

/** The command that goes on where this one ended: what was sent is no letter any more. */
const replayCommand = ({ filter, includeUncertain, reason }: ReplayOptions): string =>
  [
    'letters replay',
    filterOptions(filter),
    includeUncertain && '--include-uncertain',
    reason !== undefined && `--reason ${quoted(reason)}`,
  ]
    .filter(Boolean)
    .join(' ');

type EditRequest = Omit<EditOptions, keyof RunHooks | 'audit' | 'confirm' | 'onProgress'> & {
  /** It was agreed to that different values become one. */
  isMerging?: boolean;
};

export const edit = async (
  operator: OperatorContext,
  { isUndecidedContinued, isMerging = false, ...given }: EditRequest & NoOutcomeOptions,
): Promise<EditResult> => {
  const options: EditOptions = {
    ...given,
    audit: operator.audit,
    signal: operator.signal,
    onProgress: operator.progress('Taking letters'),
    confirm: async (plan, letters) => {
      const paused = await pausedFunctions(operator.target, plan.functions);
      const view = [...editPlanView(plan), part(...pausedView(paused))];
      operator.show('Difference', view, { difference: plan.difference, plan, paused });
      if (plan.merged.length > 0 && !isMerging) {
        const agreed = await operator.ask({
          text: `${mergedText(plan.merged)}.`,
          act: `Give ${countOf(plan.letters, 'letter')} the same value`,
          ownOption: '--same-value',
          isDestructive: true,
          letters,
        });
        if (agreed === undefined) return false;
      }
      const answer = await operator.ask({
        hint: `Reason: ${given.reason}`,
        fields: sendingFields(given),
        warnings: pausedWarnings(paused),
        letters,
        act: `Send ${countOf(plan.letters, 'letter')} like this`,
      });
      if (answer !== undefined) options.rate = rateIn(answer, options);
      return answer !== undefined;
    },
  };
  Object.assign(options, sendingHooks(operator, options, { isUndecidedContinued, leastCanary: 2 }));
  const edited = await editLetters(operator.target, options);
  const { plan: _, ...result } = edited;
  operator.show('Result', [...resultView(edited), ...originalNotes(edited)], { result });
  return edited;
};

/** Rates that the forms offer, in messages per second. */
const rates = [5, 20, 50, 200, 500];

const sendingFields = ({ rate }: RunOptions): Field[] => [
  { choice: 'rate', label: 'Messages a second', options: rates.map(String), chosen: [String(rate)] },
];

const rateIn = ({ rate: chosen }: Answer, { rate }: RunOptions): number =>
  rates.find((each) => String(each) === chosen) ?? rate;

/** `options`: its rate may change until it begins to send. `leastCanary`: a smaller one is not shown. */
export const sendingHooks = (
  { signal, show, renew, progress, ask }: OperatorContext,
  options: Pick<RunOptions, 'rate' | 'waitSeconds'>,
  { isUndecidedContinued, leastCanary }: NoOutcomeOptions & { leastCanary: number },
): RunHooks => {
  const sentOf = progress('Sent');
  const knownOf = progress(`Waiting up to ${durationOf(options.waitSeconds)} for outcomes:`);
  // Causes whose canary went through are sent while a person is asked about the others.
  let isAsking = false;
  return {
    signal,
    onSent: (sent, of) => isAsking || sentOf(sent, of),
    onOutcomes: (counts, { isWaiting }) => {
      renew('Outcomes', [text(outcomesText(counts, options))]);
      const known = counts.through + counts.cameBack;
      if (isWaiting && !isAsking && known < counts.sent) knownOf(known, counts.sent);
    },
    onCanary: (canary) => {
      if (canary.letters >= leastCanary) show('Canary', canaryView(canary), { canary });
    },
    continueUndecided: async () => {
      if (isUndecidedContinued) return true;
      isAsking = true;
      const answer = await ask({
        text: 'Some letters of the canary have no outcome yet. Send the rest of their causes all the same?',
        act: 'Send them',
        isOptional: true,
        ownOption: '--continue-undecided',
      });
      isAsking = false;
      return answer !== undefined;
    },
  };
};
