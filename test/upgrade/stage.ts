import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import {
  SendMessageBatchCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
} from '@aws-sdk/client-sqs';
import { controlsOf } from '../local/controls.ts';
import { bodiesOn } from '../local/queues.ts';
import { attemptsIn } from '../local/scenarios/play.ts';
import { startStack } from '../local/stack.ts';
import { nodeOptions } from './clock.ts';
import { putState, type State } from './state.ts';

/** Another version's may have another place. */
const commandOf = (root: string): string =>
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).bin['sis-relay'];

export type Stage = Awaited<ReturnType<typeof startStage>>;

type StageOptions = {
  /** The folder of the version that works here. */
  root: string;
  ledgerKey: string;
  /** How far the time here is from this machine's. */
  aheadMs: number;
  idsInARow?: boolean;
  state?: State;
};

const polled = [
  'grade-push',
  'enrollment-create',
  'enrollment-remove',
  'submission-upload',
  'grade-object-create',
  'grade-object-update',
];
/** Longer, and something hangs. */
const longestMs = 120_000;

/** A local stack on which the functions and the command of one version work, with what the stage held before. */
export const startStage = async ({ root, ledgerKey, aheadMs, idsInARow = false, state }: StageOptions) => {
  const troubles: string[] = [];
  /** By id of the event, the outcomes in their order. */
  const outcomes = new Map<string, string[]>();
  const NODE_OPTIONS = nodeOptions(aheadMs, { idsInARow });
  const stack = await startStack({
    functions: polled,
    ledgerKey,
    taskRoot: root,
    functionTimeoutMs: 60_000,
    visibilitySeconds: 60,
    settings: {
      NODE_OPTIONS,
      ATTEMPT_TIMEOUT_MS: '40000',
      PLATFORM_HEADERS_TIMEOUT_MS: '30000',
      PLATFORM_BODY_TIMEOUT_MS: '30000',
    },
    onLog: (name, line) => {
      for (const { eventId = '', outcome, kind = '' } of attemptsIn(line))
        outcomes.set(eventId, [...(outcomes.get(eventId) ?? []), `${outcome} ${kind}`.trim()]);
      if (/"level":"ERROR"|^\w*Error: /.test(line) && !line.includes('"messageId"'))
        troubles.push(`${name}: ${line}`);
    },
    onError: ({ message }) => troubles.push(message),
  });
  if (state) await putState(stack, state);
  const { description, sqs, s3, lambda } = stack;
  const { bucket: Bucket } = description;
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-upgrade-'));
  const file = join(folder, 'stack.json');
  writeFileSync(file, JSON.stringify(description));

  const until = async <Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> => {
    const giveUpMs = performance.now() + longestMs;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (performance.now() > giveUpMs)
        throw new Error(`${what}: it did not come within ${longestMs / 1_000} s. ${troubles.join('; ')}`);
      await sleep(50);
    }
  };
  const read = async (Key: string): Promise<string> =>
    (await (await s3.send(new GetObjectCommand({ Bucket, Key }))).Body?.transformToString()) ?? '';
  const snapshots = async (): Promise<{ id: string; key: string; state: string }[]> => {
    const { Contents = [] } = await s3.send(
      new ListObjectsV2Command({ Bucket, Prefix: 'snapshot-records/' }),
    );
    const keys = Contents.flatMap(({ Key = '' }) => (Key.endsWith('/record.json') ? [Key] : []));
    return Promise.all(keys.map(async (key) => JSON.parse(await read(key))));
  };
  const queued = (name: string): number => bodiesOn(stack, `sis-relay-local-${name}`).length;

  for (const { function: name, arn, operations } of state?.executions ?? []) {
    const input = JSON.parse(operations[0]?.ExecutionDetails?.InputPayload ?? '{}');
    lambda?.invoke(name, input, { begun: { arn, operations } }).catch(({ message }) => {
      troubles.push(`${name}: ${message}`);
    });
  }

  /** As operators type it. */
  const typed = async (...words: string[]): Promise<string> => {
    const args = [join(root, commandOf(root)), ...words, '--stack', file];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: root,
      env: { ...process.env, NODE_OPTIONS },
    });
    const ended = new Promise<number | null>((end) => child.once('close', end));
    const [out, err, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    // 1: not all was done, as letters say that need a person.
    if (status !== 0 && status !== 1)
      throw new Error(`sis-relay ${words.join(' ')} ended with ${status}: ${err}${out}`);
    return out;
  };

  return {
    stack,
    troubles,
    typed,
    outcomes,
    queued,
    until,
    snapshots,
    controls: controlsOf(description),

    /** No function takes messages any more. */
    stop: () => stack.executions.mappings.stop(),

    /** All letters, as the version's command reads them from the queue: JSON Lines. */
    exported: async (): Promise<string> => {
      const to = join(folder, 'letters.jsonl');
      await typed('letters', 'export', '--to', to, '--reason', 'an upgrade');
      return readFileSync(to, 'utf8');
    },

    /** Puts a letter on the dead-letter queue. */
    park: (letter: Omit<SendMessageCommandInput, 'QueueUrl'>) =>
      sqs.send(new SendMessageCommand({ QueueUrl: description.deadLetters, ...letter })),

    put: async (Key: string, Body: string | Uint8Array): Promise<void> => {
      await s3.send(new PutObjectCommand({ Bucket, Key, Body }));
    },
    invoke: (name: string, event: unknown) => lambda?.invoke(name, event),

    send: async (name: string, bodies: readonly string[]): Promise<void> => {
      for (let from = 0; from < bodies.length; from += 10)
        await sqs.send(
          new SendMessageBatchCommand({
            QueueUrl: description.queues[name],
            Entries: bodies
              .slice(from, from + 10)
              .map((MessageBody, at) => ({ Id: String(at), MessageBody })),
          }),
        );
    },

    /** When nothing is queued any more. */
    quiet: () =>
      until('the end of all messages', async () => {
        const left = polled.filter((name) => queued(name) > 0);
        return left.length === 0 ? true : undefined;
      }),

    close: async (): Promise<void> => {
      rmSync(folder, { recursive: true, force: true });
      await stack.close();
    },
  };
};
