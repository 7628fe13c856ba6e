import type { Measured, Size } from './bench.ts';
import { bundled, functionSource, team, teamSource } from './bundle.ts';
import type { DriveAnswered, DriveAsked } from './driver.ts';
import { type Floor, lineOf, type Repeats, ratioOf, spreadOf } from './figures.ts';
import { launch, type Program } from './processes.ts';
import type { Servers } from './servers.ts';

const ours = 'sis-relay';
const raw = 'raw undici';

/**
 * A message of grade-push through the whole handler, with its ledger as it is deployed: parsed, claimed, signed, sent, settled, counted
 * and logged to a pipe that is read. The first peer makes the same three signed calls and nothing else, the other one has Powertools'
 * idempotency, which writes twice.
 */
export const measureMessages = async (size: Size, folder: string): Promise<Measured> => {
  const modules = {
    [raw]: new URL('peers/raw-undici.ts', import.meta.url).href,
    [ours]: await bundled(functionSource('grade-push'), folder),
    [team]: await bundled(teamSource, folder),
  };
  // In a process of their own, so that only the handler's CPU time is counted.
  const servers = launch<object, Servers>({ program: new URL('servers.ts', import.meta.url) });
  try {
    const env = environmentOf(await servers.ask({}));
    const answers: DriveAnswered[][] = [[], [], []];
    // Fresh processes of each, as no two are compiled alike.
    for (let at = 0; at < size.launches; at += 1) {
      const drivers = Object.values(modules).map((module) => startDriver({ module, env }));
      const more = await interleaved(drivers, size);
      for (const [subject, all] of more.entries()) answers[subject]?.push(...all);
      await Promise.all(drivers.map((driver) => driver.close()));
    }
    const of = (value: (answer: DriveAnswered) => number): Repeats =>
      Object.fromEntries(Object.keys(modules).map((name, at) => [name, (answers[at] ?? []).map(value)]));
    const cpu = of(({ cpuMs, messages }) => (cpuMs * 1000) / messages);
    const perSecond = of(({ wallMs, messages }) => (messages * 1000) / wallMs);
    return {
      lines: [
        lineOf('CPU a message', 'µs', cpu),
        lineOf('Messages a second in one container', '', perSecond),
      ],
      floors: floorsOf(cpu, perSecond),
    };
  } finally {
    await servers.close();
  }
};

/** Three times what it was when the SDK's client wrote the ledger. */
const minPerSecond = 1_584;

const floorsOf = (cpu: Repeats, perSecond: Repeats): Floor[] => [
  {
    name: `CPU a message / ${raw}`,
    ratio: ratioOf(cpu[ours], cpu[raw]),
    target: 1.7,
    tolerance: 2.2,
    reason:
      'raw undici checks, counts, logs and retries nothing, and no function of ours takes more than 2 % of a profile',
  },
  {
    name: `CPU a message / ${team}`,
    ratio: ratioOf(cpu[ours], cpu[team]),
    target: 0.3,
    tolerance: 0.45,
    reason: 'raw undici costs twice as much on some processors, and this peer 1.3 to 1.9 times as much',
  },
  {
    name: `${minPerSecond.toLocaleString('en')} messages a second / ${ours}`,
    ratio: minPerSecond / spreadOf(perSecond[ours] ?? []).median,
    target: 1,
    tolerance: 1,
    reason: 'nothing more',
  },
];

const environmentOf = ({ platform, secretsManager, dynamodb }: Servers): Record<string, string> => ({
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
  AWS_LAMBDA_FUNCTION_NAME: 'bench',
  AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager,
  AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
  // A letter or a visibility would be a failure of the bench: it fails at once, instead of going to the real queues.
  AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:9',
  PLATFORM_URL: platform,
  SECRET_PREFIX: 'bench',
  QUEUE_URL: 'http://127.0.0.1:9/000000000000/sis-relay-bench',
  DEAD_LETTER_QUEUE_URL: 'http://127.0.0.1:9/000000000000/sis-relay-dead-letters',
  LEDGER_TABLE: 'ledger',
  LEDGER_KEY_SECRET: 'bench/ledger-key',
});

type Driver = Program<DriveAsked, DriveAnswered>;

/** A handler in a process of its own, to be driven with messages. */
export const startDriver = ({ module, env }: { module: string; env: Record<string, string> }): Driver => {
  const driver = launch<DriveAsked, DriveAnswered>({
    program: new URL('driver.ts', import.meta.url),
    parameters: [module],
    env,
  });
  return {
    ...driver,
    ask: async (asked) => {
      const answer = await driver.ask(asked);
      // What was not sent costs nothing, and would be praised for it.
      if (answer.failed > 0)
        throw new Error(
          `${answer.failed} of ${asked.messages} messages failed in ${module}: ${driver.lastOutput()}`,
        );
      return answer;
    },
  };
};

const warmUps = 8;

/**
 * Repeats that take turns, each time in the other order: the machine is shared, and whatever else it does at a moment falls
 * on all of them alike. The first repeats warm up and do not count.
 */
const interleaved = async (
  drivers: readonly Driver[],
  { rounds, messages }: Pick<Size, 'rounds' | 'messages'>,
): Promise<DriveAnswered[][]> => {
  const answers = drivers.map((): DriveAnswered[] => []);
  for (let round = 0; round < warmUps + rounds; round += 1)
    for (const [at, driver] of round % 2 === 0 ? drivers.entries() : [...drivers.entries()].reverse()) {
      const answer = await driver.ask({ messages, batchSize: 10 });
      if (round >= warmUps) answers[at]?.push(answer);
    }
  return answers;
};
