import { setTimeout as sleep } from 'node:timers/promises';
import { type Message, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf } from '../../lib/dead-letter.ts';
import { controlsOf } from './controls.ts';
import type { Scenario } from './scenarios.ts';
import type { Stack } from './stack.ts';

/** A log line of one attempt of a message. */
export type Attempt = {
  messageId: string;
  function: string;
  outcome: string;
  kind?: string;
  reason?: string;
  operation?: string;
  status?: number;
  waitSeconds?: number;
};

/** Follows messages by the functions' log lines, to their ends. */
export function createFollower(onAttempt: (attempt: Attempt) => void = () => {}) {
  const ends = new Map<string, PromiseWithResolvers<Attempt>>();
  const endOf = (messageId: string) => {
    const end = ends.get(messageId) ?? Promise.withResolvers<Attempt>();
    ends.set(messageId, end);
    return end;
  };
  return {
    onLog: (_name: string, line: string): void => {
      const attempt = attemptIn(line);
      if (attempt === undefined) return;
      onAttempt(attempt);
      if (attempt.outcome !== 'waiting') endOf(attempt.messageId).resolve(attempt);
    },
    ended: (messageId: string): Promise<Attempt> => endOf(messageId).promise,
  };
}

export type Follower = ReturnType<typeof createFollower>;

function attemptIn(line: string): Attempt | undefined {
  try {
    const entry = JSON.parse(line);
    return typeof entry.messageId === 'string' && typeof entry.outcome === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
}

type PlayOptions = { stack: Stack; follower: Follower; onSent?(messageId: string): void };

/** Sends a scenario's messages, one after the other, and tells what is not as it must be: nothing, if all is well. */
export async function play(
  scenario: Scenario,
  { stack, follower, onSent = () => {} }: PlayOptions,
): Promise<string[]> {
  const controls = controlsOf(stack.description);
  const before = (await controls.requests()).length;
  await scenario.prepare?.(controls, stack.description);
  let last: Attempt | undefined;
  for (const body of scenario.bodies) {
    const url = stack.description.queues[scenario.function];
    const { MessageId = '' } = await stack.sqs.send(
      new SendMessageCommand({ QueueUrl: url, MessageBody: body }),
    );
    onSent(MessageId);
    last = await follower.ended(MessageId);
  }
  const problems: string[] = [];
  const expect = (fact: string, actual: unknown, wanted: unknown) => {
    if (JSON.stringify(actual) !== JSON.stringify(wanted))
      problems.push(`${fact} is ${JSON.stringify(actual)} and not ${JSON.stringify(wanted)}`);
  };
  expect('the outcome', last?.outcome, scenario.outcome);
  expect('the kind', last?.kind, scenario.letter?.kind);
  if (scenario.letter) await expectLetter(scenario, { stack, expect });
  if (scenario.requests) {
    const { path, are } = scenario.requests;
    const made = (await controls.requests()).slice(before).filter((request) => path.test(request.path));
    expect(
      'the list of requests',
      made.map(({ method, status }) => `${method} ${status}`),
      are,
    );
  }
  if (scenario.holds && !scenario.holds(await controls.state()))
    problems.push('the platform does not hold what it must');
  return problems;
}

async function expectLetter(
  { letter, bodies }: Scenario,
  { stack, expect }: { stack: Stack; expect(fact: string, actual: unknown, wanted: unknown): void },
): Promise<void> {
  const written = await untilLetter(stack, bodies.at(-1));
  expect('the letter’s body', written?.body, bodies.at(-1));
  expect('the letter’s kind', written?.failure?.kind, letter?.kind);
  if (letter?.status !== undefined) expect('the letter’s status', written?.failure?.status, letter.status);
  const text = `${written?.failure?.message} ${written?.failure?.title} ${written?.failure?.remedy}`;
  if (letter?.says && !letter.says.test(text)) expect('what the letter says', text, String(letter.says));
}

/** Others look at the letters too, and hide each from everybody for a moment. */
async function untilLetter(stack: Stack, body: string | undefined): Promise<DeadLetter | undefined> {
  for (let tries = 0; tries < 10; tries += 1) {
    const letter = (await readLetters(stack)).find((each) => each.body === body);
    if (letter) return letter;
    await sleep(500);
  }
  return undefined;
}

/** All letters, without keeping them from anybody else for longer than a moment. */
export async function readLetters({ sqs, description }: Stack): Promise<DeadLetter[]> {
  const found = new Map<string, Message>();
  for (let empty = 0; empty < 2; ) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: description.deadLetters,
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All'],
        VisibilityTimeout: 1,
      }),
    );
    const before = found.size;
    for (const message of Messages) found.set(message.MessageId ?? '', message);
    empty = found.size > before ? 0 : empty + 1;
  }
  return [...found.values()].map(letterOf);
}
