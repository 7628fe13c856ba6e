import { parseArgs } from 'node:util';
import type { DeadLetter } from '../../lib/dead-letter.ts';
import { startChanges } from '../lib/change-poll/changes.ts';
import { controlsOf } from './controls.ts';
import { collectLetters, createFollower, play, playInvocation } from './play.ts';
import {
  acts,
  type Invocation,
  invocations,
  type Scenario,
  scenarioSeed,
  scenarioStack,
} from './scenarios.ts';
import { createScreen } from './screen.ts';
import { expectedWarning, sisActs, sisChanges } from './sis-scenarios.ts';
import { startStack } from './stack.ts';

const wanted = wordsGiven().toLowerCase();
const isWanted = ({ title }: { title: string }) => title.toLowerCase().includes(wanted);
type Step = Scenario | Invocation;
const last = (await invocations()).filter(isWanted);
const usual = await acts();
// What changes the world for everybody comes last.
const parts: Step[][][] = [[...usual.slice(0, 2), ...sisActs], usual.slice(2)];
const needed = new Set<Step>();
for (const step of [...parts.flat(2).filter(isWanted), ...last]) need(step);
const program = parts.map((part) => part.map((act) => act.filter((step) => needed.has(step))));
const played = [...program.flat(2), ...last];
const invoked = played.filter(isInvocation);
const scenarios = played.flatMap((step) => (isInvocation(step) ? (step.enables ?? []) : step));
if (played.length === 0) fail(`There is no scenario whose title holds “${wanted}”.`);

const screen = createScreen(Math.max(...[...scenarios, ...invoked].map(({ title }) => title.length)));
const follower = createFollower({ onAttempt: screen.attempt, onOther: showTrouble });
const changes = await startChanges();
changes.has(sisChanges);
const stack = await startStack({
  ...scenarioStack,
  settings: { CHANGES_URL: changes.url, CHANGES_PRIVATE: 'true' },
  onLog: follower.onLog,
  onError: (error) => screen.verdict(false, String(error)),
});
await controlsOf(stack.description).seed(scenarioSeed);

const messages = scenarios.flatMap(({ bodies }) => bodies).length;
screen.heading('sis-relay, all of it on this machine');
if (messages > 0)
  screen.say(
    `${counted(messages, 'message')} for the queues of ${functionsOf(scenarios)}. Each ends as done ` +
      '(its effect is on the platform), duplicate or superseded (rightly not sent), or parked (a dead letter says why). ' +
      'Until then it waits on its queue.',
  );
if (invoked.length > 0) screen.say(`Functions without a queue are invoked: ${functionsOf(invoked)}.`);
screen.say();

const letters = collectLetters(stack);
const interrupted = new Promise<number>((resolve) => {
  process.on('SIGINT', () => resolve(130));
  process.on('SIGTERM', () => resolve(143));
});
interrupted.then(async (status) => {
  await letters.end();
  await close();
  process.exit(status);
});
const results: { scenario: Step; problems: string[] }[] = [];
async function perform(scenario: Step): Promise<void> {
  if (!isInvocation(scenario)) {
    results.push({ scenario, problems: await play(scenario, { stack, follower, letters }) });
    return;
  }
  const { problems, answer } = await playInvocation(scenario, { stack, letters });
  const outcome = problems.length === 0 ? 'done' : 'failed';
  const shown = { messageId: '', function: scenario.function, outcome, answer: scenario.tells(answer) };
  screen.attempt(shown, scenario.title);
  results.push({ scenario, problems });
  if (scenario.enables) await perform(scenario.enables);
}
for (const part of program) {
  const slow: Promise<void>[] = [];
  for (const act of part) {
    const others: Promise<void>[] = [];
    for (const step of act) ('isSlow' in step ? slow : others).push(perform(step));
    await Promise.all(others);
  }
  await Promise.all(slow);
}
let written: DeadLetter[] | undefined;
for (const scenario of last) {
  // From now on letters are for others to take.
  if (scenario.letterOf) written = await letters.end();
  await perform(scenario);
}
written ??= await letters.end();
await close();

screen.say();
screen.heading(
  written.length === 0
    ? 'No dead letters'
    : `${counted(written.length, 'dead letter')}, with the parsed error and what to do about it`,
);
for (const letter of written) screen.letter(letter, titleOf(letter.body) ?? 'a letter that nobody expected');
screen.say();
screen.table();
screen.say();

const problems = results.flatMap(({ scenario: { title }, problems: all }) =>
  all.map((each) => `✗ ${title}: ${each}`),
);
const strays = written.filter(({ body }) => titleOf(body) === undefined);
if (strays.length > 0) problems.push(`✗ ${counted(strays.length, 'letter')} that nobody expected`);
for (const problem of problems) screen.verdict(false, problem);
const isGood = problems.length === 0;
const well = results.filter((result) => result.problems.length === 0).length;
const summary = `${well} of ${counted(results.length, 'scenario')} ended as they must, in ${screen.seconds()} s`;
screen.verdict(isGood, `${isGood ? '✓' : '✗'} ${summary}`);
process.exitCode = isGood ? 0 : 1;

/** It, and what must have happened before it. */
function need(step: Step): void {
  needed.add(step);
  for (const each of step.needs ?? []) need(each);
}

function isInvocation(step: Step): step is Invocation {
  return 'tells' in step;
}

async function close(): Promise<void> {
  await Promise.all([stack.close(), changes.close()]);
}

function functionsOf(played: { function: string }[]): string {
  return [...new Set(played.map((each) => each.function))].join(', ');
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function titleOf(body: string): string | undefined {
  return scenarios.find(({ bodies }) => bodies.includes(body))?.title;
}

/** A function that cannot even be loaded tells so in plain text; its metrics and what is well are of no interest here. */
function showTrouble(functionName: string, line: string): void {
  if (line.startsWith('{') && !/"level":"(WARN|ERROR)"/.test(line)) return;
  if (expectedWarning.test(line)) return;
  screen.verdict(false, `${functionName}: ${line}`);
}

/** `npm start -- null grade` plays only the scenarios whose title holds these words. */
function wordsGiven(): string {
  try {
    return parseArgs({ allowPositionals: true }).positionals.join(' ');
  } catch {
    fail(
      'npm start takes no options. `npm start -- null grade` plays the scenarios whose title holds these words.',
    );
  }
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(2);
}
