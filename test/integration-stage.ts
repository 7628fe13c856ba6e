import { randomUUID } from 'node:crypto';
import type { Context, SQSBatchResponse, SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { createServices } from '../lib/delivery/handle/services.ts';
import type { DeadLetter } from '../lib/delivery/letters/dead-letter.ts';
import { type Credential, createAuthenticator } from '../lib/platform/auth/auth.ts';
import { createPlatformClient, type PlatformClient } from '../lib/platform/client/client.ts';
import type { Operation } from '../lib/platform/client/operation.ts';
import { platformOptionsOf } from '../lib/platform/client/platform-options.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';
import { messageSettings } from '../lib/runtime/aws/settings.ts';
import { keysOf } from './lib/platform/local-client.ts';
import { passingTime } from './local/aws/passing-time.ts';
import { type Controls, controlsOf, type PlatformRequest, type PlatformState } from './local/controls.ts';
import { eventOf } from './local/examples.ts';
import { type Stack, settingsAsDeployed, startStack } from './local/stack.ts';

/** A message of an integration: its example, or another that makes other calls. */
export type Part = {
  integration: Integration<unknown>;
  /** In the place of the example's. */
  data?: object;
  /** How the platform is set. */
  settings?: object;
};

/** A container dies before it sends its first call of an operation, or after it has got the answer. */
export type Death = { moment: 'before' | 'after'; operation: Operation<unknown> };

/** Of each attempt at a message, its outcome and its kind of failure; and the letters of it. */
type AttemptLog = { story: string[]; letters: DeadLetter[] };

/** What became of a message, delivered until it had ended. */
type Ended = AttemptLog & {
  requests: PlatformRequest[];
  /** Without what differs from time to time: the times, and how often a row was written. */
  state: PlatformState;
};

type Container = {
  invoke(record: SQSRecord): Promise<SQSBatchResponse | 'dead'>;
  /** Of the message in hand. */
  told?: AttemptLog;
  death?: Death | undefined;
};

type Options = {
  /** Default: each user's own key. */
  credentialOf?(actor: string | undefined): Credential | Promise<Credential>;
};

const keyOf = (actor: string | undefined): Credential => keysOf(Number(actor ?? 100));

const visibilitySeconds = 720;
const context = { getRemainingTimeInMillis: () => 120_000 } as Context;

/**
 * Integrations in this process, for a test file, where what waits is there again at once. Before each test, and where it is asked for, nothing has happened yet.
 */
export function integrationStage({ credentialOf = keyOf }: Options = {}) {
  const time = passingTime();
  let stack: Stack;
  let controls: Controls;
  const clients: { close(): Promise<void> }[] = [];
  const containers = new Map<Part, Container>();
  const examples = new Map<string, { Records: SQSRecord[] }>();
  let sent = 0;

  beforeAll(async () => {
    stack = await startStack({ functions: false, visibilitySeconds });
    controls = controlsOf(stack.description);
    // The SDK's clients read them by themselves.
    for (const [name, value] of Object.entries(settingsAsDeployed(stack.description, '')))
      if (name.startsWith('AWS_')) process.env[name] = value;
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await stack.close();
  });

  /** How many requests the platform has had since then. */
  let seen = 0;

  const reset = async (): Promise<void> => {
    await controls.reset();
    seen = 0;
    // Whatever the ledger has of messages before, it is in no other's way any more.
    time.pass(3_600_000);
  };
  beforeEach(reset);

  const newContainer = ({ integration }: Part): Container => {
    const { name } = integration;
    const settings = readSettings(messageSettings, {
      ...settingsAsDeployed(stack.description, name),
      LOG_LEVEL: 'silent',
    });
    const services = createServices(name, settings);
    const platform = createPlatformClient(
      { ...platformOptionsOf(settings.platform), maxAnswerBytes: 256 * 1024 },
      createAuthenticator({
        read: async (actor) => ({ credential: await credentialOf(actor), version: '1' }),
        refuse: () => undefined,
      }),
    );
    clients.push(services.platform, platform);
    const container: Container = { invoke: async () => 'dead' };
    const dead = Promise.withResolvers<'dead'>();
    const handler = handlerOf(integration, () => ({
      ...services,
      platform: mortal(platform, container, () => dead.resolve('dead')),
      queues: {
        ...services.queues,
        writeLetter: async (letter) => void container.told?.letters.push(letter),
        delay: async ([waiting]) => time.pass(1000 * (waiting?.seconds ?? 0)),
      },
      observe: {
        ...services.observe,
        message: ({ outcome, kind }) => {
          // That it waits for its turn is no part of its story.
          if (outcome !== 'waiting' || kind)
            container.told?.story.push([outcome, kind].filter(Boolean).join(' '));
        },
      },
    }));
    container.invoke = (record) => Promise.race([handler({ Records: [record] }, context), dead.promise]);
    return container;
  };

  /** Each is newer than those before it. */
  const recordOf = async ({ integration: { name }, data }: Part): Promise<SQSRecord> => {
    const example = examples.get(name) ?? (await eventOf(name));
    examples.set(name, example);
    const [record] = example.Records;
    const event = JSON.parse(record.body);
    sent += 1;
    const time = new Date(Date.now() - 3_600_000 + sent).toISOString();
    const body = JSON.stringify({ ...event, id: randomUUID(), time, data: data ?? event.data });
    const now = String(Date.now());
    const times = { SentTimestamp: now, ApproximateFirstReceiveTimestamp: now };
    return { ...record, messageId: randomUUID(), body, attributes: { ...record.attributes, ...times } };
  };

  const state = async (): Promise<PlatformState> => timeless(await controls.state());

  return {
    reset,
    state,
    controls: () => controls,
    description: () => stack.description,
    /** What comes from now on is another container's, which knows nothing of what was done before. */
    inAnotherContainer: () => containers.clear(),
    bodyOf: async (part: Part): Promise<string> => (await recordOf(part)).body,

    /** Delivers a message until it has ended; without a body, a new one. `hasWaited`: for so long that what fails becomes a letter. */
    deliver: async (
      part: Part,
      { body, death, hasWaited = false }: { body?: string; death?: Death; hasWaited?: boolean } = {},
    ): Promise<Ended> => {
      if (part.settings) await controls.settings(part.settings);
      const log: AttemptLog = { story: [], letters: [] };
      const record = { ...(await recordOf(part)), ...(body !== undefined && { body }) };
      if (hasWaited) record.attributes.ApproximateFirstReceiveTimestamp = String(Date.now() - 24 * 3_600_000);
      let container = Object.assign(containers.get(part) ?? newContainer(part), { told: log, death });
      for (let attempt = 1; ; attempt += 1) {
        record.attributes.ApproximateReceiveCount = String(attempt);
        const answer = await container.invoke(record);
        if (answer !== 'dead' && answer.batchItemFailures.length === 0) break;
        if (attempt === 100) throw new Error(`it has no end: ${log.story.join(', ')}`);
        if (answer !== 'dead') continue;
        log.story.push('death');
        container = Object.assign(newContainer(part), { told: log, death: undefined });
        time.pass(1000 * visibilitySeconds);
      }
      containers.set(part, container);
      const all = await controls.requests();
      const requests = all.slice(seen);
      seen = all.length;
      return { ...log, requests, state: await state() };
    },

    /** Which of its operations these requests are of. */
    calledIn: ({ integration }: Part, requests: readonly PlatformRequest[]): Operation<unknown>[] =>
      integration.operations.filter((operation) =>
        requests.some(({ method, path }) => method === operation.method && patternOf(operation).test(path)),
      ),
  };
}

/** Of the paths of its requests. */
export const patternOf = ({ path }: Operation<unknown>): RegExp =>
  new RegExp(`${path.replace(/\{\w+\}/g, '[^/]+')}$`);

/** A client in a container that dies with a call: nothing after it happens. */
const mortal = (
  client: PlatformClient,
  container: Pick<Container, 'death'>,
  die: () => void,
): PlatformClient => ({
  ...client,
  for: (callContext) => {
    const platform = client.for(callContext);
    return {
      ...platform,
      call: async (operation, input) => {
        const { death } = container;
        if (operation !== death?.operation) return platform.call(operation, input);
        if (death.moment === 'after') await platform.call(operation, input);
        die();
        return new Promise(() => {});
      },
    };
  },
});

const timeless = (state: PlatformState): PlatformState =>
  JSON.parse(JSON.stringify(state), (name, value) => {
    if (name === 'writes') return undefined;
    const isOfNow = typeof value === 'string' && Math.abs(Date.parse(value) - Date.now()) < 7 * 86_400_000;
    return isOfNow ? 'now' : value;
  });
