import type { DeadLetter } from '../../../lib/delivery/letters/dead-letter.ts';
import { startChanges } from '../../options/changes/changes.ts';
import { controlsOf } from '../controls.ts';
import { bundleFunctions } from '../lambda/bundles.ts';
import { collectLetters, createFollower, play, playInvocation } from '../scenarios/play.ts';
import {
  acts,
  type Invocation,
  invocations,
  type Scenario,
  scenarioSeed,
  scenarioStack,
} from '../scenarios/scenarios.ts';
import { expectedWarning, sisChanges, sisSteps } from '../scenarios/sis-scenarios.ts';
import { type StackOptions, startStack } from '../stack.ts';
import { createScreen } from './screen.ts';

type Step = Scenario | Invocation;

/** Steps, each with those that must have ended before it begins, as it would disturb them or they it. */
type Program = { step: Step; after: Step[] }[];

/** All that `npm start` plays. Most of it waits for something, so what does not disturb each other happens at once. */
export const program = async (): Promise<Program> => {
  const [examples = [], misfortunes = [], ...upheavals] = await acts();
  const { courseExport, comparison, connection, tokens, replay } = await invocations();
  const usual = [...examples, ...misfortunes];
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

type Result = { step: Step; problems: string[] };

/** Plays the steps whose title holds these words, and what they need, and shows how each ends. Answers the exit status. */
export async function playProgram(wanted: string): Promise<number> {
  const chosen = chosenOf(await program(), wanted);
  if (chosen.length === 0) {
    process.stderr.write(`There is no scenario whose title holds “${wanted}”.\n`);
    return 2;
  }
  const interrupted = new Promise<number>((resolve) => {
    // Each stays handled: of one Ctrl-C, the terminal and npm make two signals.
    process.on('SIGINT', () => resolve(130));
    process.on('SIGTERM', () => resolve(143));
  });
  const invoked = chosen.flatMap(({ step }) => (isInvocation(step) ? step : []));
  const scenarios = chosen.flatMap(({ step }) => (isInvocation(step) ? (step.enables ?? []) : step));
  const screen = createScreen(Math.max(...[...scenarios, ...invoked].map(({ title }) => title.length)));
  introduce(screen, { scenarios, invoked });

  const follower = createFollower({
    onAttempt: screen.attempt,
    // A function that cannot even be loaded tells so in plain text; its metrics and what is well are of no interest here.
    onOther: (functionName, line) => {
      if (line.startsWith('{') && !/"level":"(WARN|ERROR)"/.test(line)) return;
      if (!expectedWarning.test(line)) screen.verdict(false, `${functionName}: ${line}`);
    },
  });
  const onError = (error: Error) => screen.verdict(false, String(error));
  const { stack, letters, close } = await start({ onLog: follower.onLog, onError });

  const results: Result[] = [];
  let isOver = false;
  const perform = async (step: Step): Promise<void> => {
    if (!isInvocation(step)) {
      results.push({ step, problems: await play(step, { stack, follower, letters }) });
      return;
    }
    // From now on letters are for others to take.
    if (step.letterOf) await letters.end();
    const { problems, answer } = await playInvocation(step, { stack, letters });
    if (isOver) return;
    const outcome = problems.length === 0 ? 'done' : 'failed';
    const shown = { messageId: '', function: step.function, outcome, answer: step.tells(answer) };
    screen.attempt(shown, step.title);
    results.push({ step, problems });
    if (step.enables) await perform(step.enables);
  };
  const status = await Promise.race([performAll(chosen, perform), interrupted]);
  isOver = true;
  const written = await letters.end();
  await close();
  if (status !== undefined) process.exit(status);
  return report(screen, { results, scenarios, written }) ? 0 : 1;
}

/** Those that are wanted, with what must have happened before them. */
function chosenOf(whole: Program, wanted: string): Program {
  const needed = new Set<Step>();
  const need = (step: Step): void => {
    needed.add(step);
    for (const each of step.needs ?? []) need(each);
  };
  for (const { step } of whole) if (step.title.toLowerCase().includes(wanted)) need(step);
  return whole.filter(({ step }) => needed.has(step));
}

/** Each as soon as it may. */
async function performAll(chosen: Program, perform: (step: Step) => Promise<void>): Promise<undefined> {
  const ends = new Map<Step, Promise<void>>();
  for (const { step, after } of chosen) {
    const before = [...(step.needs ?? []), ...after].map((each) => ends.get(each));
    const end = Promise.all(before).then(() => perform(step));
    ends.set(step, end);
  }
  await Promise.all(ends.values());
}

type Screen = ReturnType<typeof createScreen>;

function introduce(
  screen: Screen,
  { scenarios, invoked }: { scenarios: Scenario[]; invoked: Invocation[] },
): void {
  const messages = scenarios.flatMap(({ bodies }) => bodies).length;
  if (messages > 0)
    screen.say(
      `${counted(messages, 'message')} for the queues of ${functionsOf(scenarios)}. Each ends as done ` +
        '(its effect is on the platform), duplicate or superseded (rightly not sent), or parked (a dead letter says why). ' +
        'Until then it waits on its queue.',
    );
  if (invoked.length > 0) screen.say(`Functions without a queue are invoked: ${functionsOf(invoked)}.`);
  screen.say();
  screen.say('Starting queues, files, secrets, tables, the functions and a learning platform …');
}

/** The stack with its functions, what the SIS has for it, and who collects the letters. */
async function start(options: Pick<StackOptions, 'onLog' | 'onError'>) {
  const [changes, bundles] = await Promise.all([startChanges(), bundleFunctions()]);
  changes.has(sisChanges);
  const stack = await startStack({
    ...scenarioStack,
    ...options,
    taskRoot: bundles.taskRoot,
    settings: { ...scenarioStack.settings, CHANGES_URL: changes.url, CHANGES_PRIVATE: 'true' },
  });
  await controlsOf(stack.description).seed(scenarioSeed);
  const close = async () => {
    await Promise.all([stack.close(), changes.close()]);
    await bundles.remove();
  };
  return { stack, letters: collectLetters(stack), close };
}

/** Shows the letters, a table and what is otherwise than it must be; answers whether nothing is. */
export function report(
  screen: Screen,
  { results, scenarios, written }: { results: Result[]; scenarios: Scenario[]; written: DeadLetter[] },
): boolean {
  screen.say();
  screen.heading(
    written.length === 0
      ? 'No dead letters'
      : `${counted(written.length, 'dead letter')}, with the parsed error and what to do about it`,
  );
  const titleOf = (body: string) => scenarios.find(({ bodies }) => bodies.includes(body))?.title;
  for (const letter of written)
    screen.letter(letter, titleOf(letter.body) ?? 'a letter that nobody expected');
  screen.say();
  screen.table();
  screen.say();

  const problems = results.flatMap(({ step: { title }, problems: all }) =>
    all.map((each) => `✗ ${title}: ${each}`),
  );
  const strays = written.filter(({ body }) => titleOf(body) === undefined);
  if (strays.length > 0) problems.push(`✗ ${counted(strays.length, 'letter')} that nobody expected`);
  for (const problem of problems) screen.verdict(false, problem);
  const isGood = problems.length === 0;
  const well = results.filter((result) => result.problems.length === 0).length;
  const summary = `${well} of ${counted(results.length, 'scenario')} ended as they must, in ${screen.seconds()} s`;
  screen.verdict(isGood, `${isGood ? '✓' : '✗'} ${summary}`);
  return isGood;
}

function isInvocation(step: Step): step is Invocation {
  return 'tells' in step;
}

function functionsOf(played: { function: string }[]): string {
  return [...new Set(played.map((each) => each.function))].join(', ');
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
