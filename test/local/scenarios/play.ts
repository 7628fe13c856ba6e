import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  ChangeMessageVisibilityCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf } from '../../../lib/delivery/letters/dead-letter.ts';
import { waitLimitMs } from '../../limits.ts';
import { type Controls, controlsOf } from '../controls.ts';
import type { Stack } from '../stack.ts';
import type { Invocation, Scenario } from './scenarios.ts';

/** What a log line tells of one attempt of a message. */
export type Attempt = {
  messageId: string;
  eventId?: string;
  function: string;
  outcome: string;
  kind?: string;
  reason?: string;
  operation?: string;
  status?: number;
  attempts?: number;
  replays?: number;
  requests?: number;
  durationMs?: number;
  waitSeconds?: number;
  /** What the answer of an invocation says. */
  answer?: string;
};

type FollowerOptions = {
  onAttempt?(attempt: Attempt, title: string): void;
  /** A line that tells of no message. */
  onOther?(functionName: string, line: string): void;
};

type Story = {
  title?: string;
  attempts: Attempt[];
  waiting: PromiseWithResolvers<void>;
  end: PromiseWithResolvers<Attempt>;
};

/** Follows messages to their ends, by the functions' log lines. */
export function createFollower({ onAttempt = () => {}, onOther = () => {} }: FollowerOptions = {}) {
  const stories = new Map<string, Story>();
  const storyOf = (messageId: string): Story => {
    const begun = {
      attempts: [],
      waiting: Promise.withResolvers<void>(),
      end: Promise.withResolvers<Attempt>(),
    };
    const story = stories.get(messageId) ?? begun;
    stories.set(messageId, story);
    return story;
  };
  return {
    onLog: (functionName: string, line: string): void => {
      const made = attemptsIn(line);
      if (made.length === 0) onOther(functionName, line);
      for (const attempt of made) {
        const { title, attempts, waiting, end } = storyOf(attempt.messageId);
        attempts.push(attempt);
        if (title !== undefined) onAttempt(attempt, title);
        if (attempt.outcome === 'waiting') waiting.resolve();
        else end.resolve(attempt);
      }
    },
    /** A function may be quicker than SQS' answer to whoever sent the message: what it has told already comes first. */
    follow: (messageId: string, title: string): Story => {
      const story = storyOf(messageId);
      story.title = title;
      for (const attempt of story.attempts) onAttempt(attempt, title);
      return story;
    },
  };
}

type Follower = ReturnType<typeof createFollower>;

/** What a log line tells of messages: of one, of several that fared alike, or of none. */
export function attemptsIn(line: string): Attempt[] {
  if (!line.startsWith('{') || !line.includes('"messageId"')) return [];
  try {
    const { messages, ...told } = JSON.parse(line);
    if (typeof told.outcome !== 'string') return [];
    const all = (messages ?? [told]) as Attempt[];
    return all.map((own) => ({ ...told, ...own }));
  } catch {
    return [];
  }
}

/** Collects the dead letters as they come. Who receives one hides it from everybody else, so one reader serves all. */
export function collectLetters({ sqs, description }: Stack) {
  const letters: DeadLetter[] = [];
  const receipts = new Map<string, string>();
  let stopped = false;
  const collecting = collect();
  async function collect() {
    while (!stopped) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: description.deadLetters,
          MaxNumberOfMessages: 10,
          WaitTimeSeconds: 1,
          VisibilityTimeout: 12 * 3600,
          MessageAttributeNames: ['All'],
          MessageSystemAttributeNames: ['All'],
        }),
      );
      letters.push(...Messages.map(letterOf));
      for (const { Body = '', ReceiptHandle = '' } of Messages) receipts.set(Body, ReceiptHandle);
    }
  }
  return {
    of: (bodies: string[]): DeadLetter[] => letters.filter(({ body }) => bodies.includes(body)),
    /** Shows letters with these bodies to everybody again; only once nothing is collected any more. */
    giveBack: async (bodies: string[]): Promise<void> => {
      for (const body of bodies)
        await sqs.send(
          new ChangeMessageVisibilityCommand({
            QueueUrl: description.deadLetters,
            ReceiptHandle: receipts.get(body),
            VisibilityTimeout: 0,
          }),
        );
    },
    /** All of them, once nothing more comes. */
    end: async (): Promise<DeadLetter[]> => {
      stopped = true;
      await collecting;
      return letters;
    },
  };
}

export type Letters = ReturnType<typeof collectLetters>;

type PlayOptions = { stack: Stack; follower: Follower; letters: Letters };

/** Plays a scenario, and tells what has missing or wrong fields: nothing, if all is well. */
export async function play(scenario: Scenario, options: PlayOptions): Promise<string[]> {
  const late = Promise.withResolvers<string[]>();
  const timer = setTimeout(
    () => late.resolve([`it did not end within ${waitLimitMs / 60_000} min`]),
    waitLimitMs,
  );
  try {
    return await Promise.race([perform(scenario, options), late.promise]);
  } catch (error) {
    return [`it broke off: ${error}`];
  } finally {
    clearTimeout(timer);
  }
}

async function perform(scenario: Scenario, { stack, follower, letters }: PlayOptions): Promise<string[]> {
  const { description, sqs } = stack;
  const controls = controlsOf(description);
  const { bodies } = scenario;
  const ends: Attempt[] = [];
  let waits: Attempt[] = [];
  await scenario.prepare?.(controls, description, stack);
  for (const [at, body] of bodies.entries()) {
    if (at > 0 && at === bodies.length - 1) await scenario.beforeLast?.(controls, description, stack);
    const QueueUrl = description.queues[receiverOf(body, scenario)];
    const { MessageId = '' } = await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: body }));
    const { attempts, waiting, end } = follower.follow(MessageId, scenario.title);
    if (scenario.whileWaiting) {
      await Promise.race([waiting.promise, end.promise]);
      await scenario.whileWaiting(controls, description, stack);
    }
    ends.push(await end.promise);
    waits = attempts.slice(0, -1);
  }

  const problems: string[] = [];
  const expect = (fact: string, actual: unknown, wanted: unknown) =>
    problems.push(...problemOf(fact, actual, wanted));
  expect(
    'how it ended',
    ends.map(({ outcome }) => outcome),
    scenario.outcomes ?? [scenario.letter ? 'parked' : 'done'],
  );
  const { waits: least = 0 } = scenario;
  expect('how often it waited', waits.length, Math.max(waits.length, least));
  const { waitsFor } = scenario;
  const reasons = waits.map(({ kind, reason }) => `${kind}: ${reason}`);
  if (waitsFor && !reasons.some((each) => each.startsWith(`${waitsFor.kind}:`) && waitsFor.says.test(each)))
    problems.push(
      `it waited for ${JSON.stringify(reasons)} and nothing like ${waitsFor.kind} ${waitsFor.says}`,
    );
  expect('the failure', ends.at(-1)?.kind, scenario.letter?.kind);
  if (scenario.requests) {
    const { path, userId, are } = scenario.requests;
    const made = async (): Promise<string[]> =>
      (await controls.requests())
        .filter((request) => path.test(request.path) && request.userId === (userId ?? request.userId))
        .map(({ method, status }) => `${method} ${status}`);
    // The platform notes a request once it has answered, which the function may have told by then.
    const untilMs = Date.now() + 1_000;
    let requests = await made();
    while (requests.length < are.length && Date.now() < untilMs) {
      await sleep(50);
      requests = await made();
    }
    // How often something is looked up depends on how busy the machine is; what changes the platform does not.
    const isRead = (request: string): boolean => request.startsWith('GET ');
    const changesOf = (all: string[]) => all.filter((each) => !isRead(each));
    expect('its changes', changesOf(requests), changesOf(are));
    const wanted = [...new Set(are.filter(isRead))];
    const reads = new Set(requests.filter(isRead));
    expect(
      'its reads',
      [...reads].filter((each) => wanted.length === 0 || wanted.includes(each)).sort(),
      wanted.sort(),
    );
  }
  problems.push(...(await holdsProblems(scenario, controls)));
  const written = await lettersOf(scenario, { letters, isParked: ends.at(-1)?.outcome === 'parked' });
  expect(
    'its letters',
    written.map(({ failure }) => failure?.kind),
    scenario.letter ? [scenario.letter.kind] : [],
  );
  for (const letter of written) problems.push(...letterProblems(letter, scenario));
  return problems;
}

/** A message comes to the function of its type; what has none, to that of its scenario. */
const receiverOf = (body: string, scenario: Scenario): string =>
  /"type":"sis\.([\w-]+)\.v1"/.exec(body)?.[1] ?? scenario.function;

type Played = { problems: string[]; answer: Record<string, unknown> };

/** Invokes a function, and tells what is not as it must be. */
export function playInvocation(
  invocation: Invocation,
  options: Omit<PlayOptions, 'follower'>,
): Promise<Played> {
  return performInvocation(invocation, options).catch((error) => ({
    problems: [`it broke off: ${error}`],
    answer: {},
  }));
}

async function performInvocation(
  invocation: Invocation,
  { stack, letters }: Omit<PlayOptions, 'follower'>,
): Promise<Played> {
  const { function: name, event, prepare, does, letterOf, answers } = invocation;
  const { lambda, description } = stack;
  const controls = controlsOf(description);
  await prepare?.(controls, description, stack);
  if (letterOf) await letters.giveBack(letterOf.bodies);
  const invoke = async () => {
    const result = await lambda?.invoke(name, event);
    return Object(result?.ok ? result.payload : result?.error);
  };
  const answer: Record<string, unknown> = await (does ? does(stack) : invoke()).catch((error) => ({
    error: `${error}`,
  }));
  const problems: string[] = [];
  if (!isDeepStrictEqual(like(answer, answers), answers))
    problems.push(`its answer: ${JSON.stringify(answer)} and not ${JSON.stringify(answers)}`);
  problems.push(...(await holdsProblems(invocation, controls)));
  return { problems, answer };
}

type Holding = Pick<Scenario, 'holds' | 'holdsLater'>;

/** What the platform does not hold as it must. */
async function holdsProblems({ holds = [], holdsLater = false }: Holding, controls: Controls) {
  const untilMs = Date.now() + (holdsLater ? 20_000 : 0);
  for (;;) {
    const state = await controls.state();
    const problems = [holds].flat().flatMap(({ table, where, rows }) => {
      const found = (state[table] ?? []).filter((row) => isDeepStrictEqual(like(row, where), where));
      const shown = found.map((row, at) => like(row, rows[at] ?? row));
      return problemOf(`the platform’s ${table}`, sorted(shown), sorted(rows));
    });
    if (problems.length === 0 || Date.now() >= untilMs) return problems;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const sorted = (rows: Record<string, unknown>[]) =>
  rows
    .map((row) => ({ row, text: JSON.stringify(row) }))
    .sort((one, other) => (one.text < other.text ? -1 : 1))
    .map(({ row }) => row);

function problemOf(fact: string, actual: unknown, wanted: unknown): string[] {
  if (isDeepStrictEqual(actual, wanted)) return [];
  return [`${fact}: ${JSON.stringify(actual)} and not ${JSON.stringify(wanted)}`];
}

/** As much of a row as the other one tells, also of what it holds. */
function like(row: Record<string, unknown>, other: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(other).map(([name, wanted]) => {
      const isNested = isRecord(wanted) && isRecord(row[name]);
      return [name, isNested ? like(row[name] as Record<string, unknown>, wanted) : row[name]];
    }),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The letter is written before its outcome is told, and yet it may take a moment until the collector has it. */
async function lettersOf(
  { bodies, letter }: Scenario,
  { letters, isParked }: { letters: Letters; isParked: boolean },
): Promise<DeadLetter[]> {
  const untilMs = Date.now() + 5_000;
  while ((letter || isParked) && letters.of(bodies).length === 0 && Date.now() < untilMs)
    await new Promise((resolve) => setTimeout(resolve, 20));
  return letters.of(bodies);
}

/** What every letter must tell, and this one besides. */
function letterProblems({ failure, source, replays }: DeadLetter, scenario: Scenario): string[] {
  const { letter, function: name } = scenario;
  if (!failure) return ['its letter does not tell why'];
  const { message, title = '', detail = '', remedy, status } = failure;
  const text = [message, title, detail, remedy].join(' ');
  return [
    letter?.says.test(text) === false && `its letter says “${text}” and nothing like ${letter.says}`,
    status !== letter?.status && `its letter’s status: ${status} and not ${letter?.status}`,
    !source.endsWith(`-${name}`) && `its letter’s source: ${source || 'none'}`,
    failure.function !== name && `its letter’s function: ${failure.function}`,
    remedy === '' && 'its letter does not say what to do',
    replays !== 0 && `its letter’s replays: ${replays}`,
    /x_[a-d]=|local-key|rotated-key/.test(JSON.stringify(failure)) && 'its letter tells a secret',
  ].filter((problem) => problem !== false);
}
