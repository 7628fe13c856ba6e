import { acts, type Invocation, invocations, type Scenario } from './scenarios.ts';
import { sisSteps } from './sis-scenarios.ts';

export type Step = Scenario | Invocation;

/** Steps, each with those that must have ended before it begins, as it would disturb them or they it. */
export type Program = { step: Step; after: Step[] }[];

/** All that `npm start` plays. Most of it waits for something, so what does not disturb each other happens at once. */
export const program = async (): Promise<Program> => {
  const [examples = [], misfortunes = [], ...upheavals] = await acts();
  const { courseExport, comparison, connection, tokens, replay } = await invocations();
  const usual = [...examples, ...misfortunes].filter(({ isSlow }) => !isSlow);
  const of = (...names: string[]) => usual.filter((step) => names.includes(step.function));
  const { filled, messages, moves, firstNight, laterNights } = sisSteps;
  const soon = [filled, ...messages, firstNight, ...moves];

  const all: Program = [
    { step: filled, after: [] },
    ...examples.map((step) => ({ step, after: [] })),
    // Once its function is up.
    ...misfortunes.map((step) => ({
      step,
      after: of(step.function).filter((each) => examples.includes(each)),
    })),
    // Faults and counts of those concern every request for an enrollment.
    ...[firstNight, ...messages].map((step) => ({ step, after: of('enrollment-create') })),
    ...moves.map((step) => ({ step, after: messages })),
    ...laterNights.map((step) => ({ step, after: [] })),
    // It reads what these count the requests for, and then waits.
    { step: comparison, after: [...of('grade-push', 'enrollment-create', 'enrollment-remove'), ...soon] },
    { step: courseExport, after: of('enrollment-create', 'grade-object-create', 'grade-object-update') },
    // Clock and keys change for everybody: one after the other.
    ...[...upheavals.flat(), connection, tokens].map((step, at, each) => ({
      step,
      after: at === 0 ? [...usual, ...soon, ...laterNights, courseExport] : each.slice(at - 1, at),
    })),
  ];
  // Letters are its own from then on.
  const others = all.flatMap(({ step }) => (step === comparison ? [] : [step]));
  return [...all, { step: replay, after: others }];
};
