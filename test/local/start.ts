import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { controlsOf } from './controls.ts';
import { type Attempt, createFollower, play, readLetters } from './play.ts';
import { examples, misfortunes, type Scenario, scenarioSeed } from './scenarios.ts';
import { startStack } from './stack.ts';

const startedMs = performance.now();
const titles = new Map<string, string>();
const follower = createFollower((attempt) => say(lineOf(attempt)));

const stack = await startStack({
  onLog: follower.onLog,
  containersPerFunction: 1,
  onError: (error) => say(String(error)),
});
const controls = controlsOf(stack.description);
await controls.seed(scenarioSeed);
say(`The stack is up: ${Object.keys(stack.description.queues).join(', ')}`);

const limitMs = 50_000;
const results: { scenario: Scenario; problems: string[] }[] = [];
const perform = async (scenario: Scenario) => {
  const onSent = (messageId: string) => titles.set(messageId, scenario.title);
  const late = new Promise<string[]>((resolve) => {
    setTimeout(() => resolve([`it did not end within ${limitMs / 1000} s`]), limitMs).unref();
  });
  const problems = await Promise.race([play(scenario, { stack, follower, onSent }), late]);
  results.push({ scenario, problems });
};

// Each changes the world for all, so it comes alone, and after the functions have read their credential.
const [rotation, clock, ...others] = misfortunes;
await Promise.all((await examples()).map(perform));
for (const scenario of [rotation, clock]) if (scenario) await perform(scenario);
await Promise.all(others.map(perform));

// Whoever checked a letter has hidden it for a second.
await sleep(1_100);
const letters = await readLetters(stack);
await stack.close();

say('');
say(styled('bold', `${letters.length} dead letters, each with what to do about it`));
for (const { failure, body } of letters) {
  const title = others.find(({ bodies }) => bodies.includes(body))?.title ?? 'a message';
  say('');
  say(
    `  ${styled('bold', title)} · ${failure?.function} · ${styled('red', failure?.kind ?? 'no failure told')}`,
  );
  say(`    what happened  ${failure?.message}`);
  if (failure?.detail) say(`    in its words   ${failure.detail}`);
  say(`    what to do     ${failure?.remedy}`);
}

const wrong = results.filter(({ problems }) => problems.length > 0);
say('');
for (const { scenario, problems } of wrong) say(styled('red', `✗ ${scenario.title}: ${problems.join('; ')}`));
const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
const well = results.length - wrong.length;
const verdict = `${well} of ${results.length} ended as they must, ${wrong.length} did not, in ${seconds} s`;
say(styled(wrong.length > 0 ? 'red' : 'green', verdict));
process.exitCode = wrong.length > 0 ? 1 : 0;

function lineOf({
  messageId,
  function: name,
  outcome,
  kind,
  operation,
  status,
  waitSeconds,
}: Attempt): string {
  const at = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(5);
  const colour = ({ done: 'green', parked: 'red', waiting: 'yellow' } as const)[outcome] ?? 'cyan';
  const shown = waitSeconds === undefined ? outcome : `${outcome} ${waitSeconds} s`;
  const why = [kind, operation && `${operation}${status === undefined ? '' : ` → ${status}`}`]
    .filter(Boolean)
    .join(' · ');
  const title = titles.get(messageId) ?? messageId;
  return `${at} s  ${name.padEnd(20)} ${styled(colour, shown.padEnd(12))} ${title}${why ? styled('dim', `  (${why})`) : ''}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function styled(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, text, { stream: process.stdout });
}
