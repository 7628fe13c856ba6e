import { options } from '../../options.ts';
import type { Queue } from '../../runtime/aws/sqs.ts';
import {
  type CallCount,
  type CallUsage,
  countedSinceMs,
  priorities,
  readPaceUse,
} from '../../runtime/telemetry/call-usage.ts';
import type { PlatformReach } from '../../runtime/telemetry/platform-reach.ts';
import { type AuditedCommand, openCommands } from '../../stage/audit-log.ts';
import { awsTimeMs } from '../../stage/aws-time.ts';
import { RefusedError } from '../../stage/command-errors.ts';
import { type ConnectionReport, checkConnection } from '../../stage/connection/check.ts';
import { withConnection } from '../../stage/connection/connection.ts';
import { functionsReach } from '../../stage/connection/functions-reach.ts';
import { type PausedFunction, pausedFunctions } from '../../stage/pause.ts';
import type { Target } from '../../stage/target.ts';
import { compareDeployed, type DeployedVersion } from '../../stage/version.ts';
import { type Groups, groupLetters } from '../messages/letters/list.ts';
import { type Counts, countsOf, receive } from '../messages/letters/queue.ts';
import { listWaiting, type WaitingGroup, withMended } from '../messages/waiting/waiting.ts';
import { type MetricCount, readUnanswered } from './metric-counts.ts';
import { type ExpectedLook, readExpected } from './on-call.ts';

export type QueueStatus = Counts & {
  function: string;
  /** When the oldest visible message was sent; undefined: `oldest` was not given, all are hidden, or there is none. */
  oldestMs: number | undefined;
};

/** What an option reports of a stage. */
export type OptionFacts = {
  /** Members of the document that `status --json` prints; undefined: unknown. */
  facts: object;
};

export type Status<Part extends OptionFacts = never> = {
  /** What is deployed, and whether this command is of the same version; undefined: unknown. */
  deployed: DeployedVersion | undefined;
  queues: QueueStatus[];
  /** Functions that somebody has stopped from receiving messages; undefined: unknown. */
  paused: PausedFunction[] | undefined;
  /** `unread`: why the lists cannot be read; then neither letters nor waiting messages are reported. */
  letters: Groups & { counts: Counts; unread?: string };
  /** What messages wait for, by their functions' last report, except those that wait only for their turn. */
  waiting: WaitingGroup[];
  /** Since half an hour, what the functions had no answer for, also if they could record nothing; undefined: unknown. */
  unanswered: MetricCount[] | undefined;
  /** What operators have begun and is not ended; undefined: unknown. */
  atWork: Omit<AuditedCommand, 'meant' | 'did'>[] | undefined;
  /** What is expected to come, as the schedule looked at it last; undefined: it has not, or it is unknown. */
  expected: ExpectedLook | undefined;
  /** What the options report. */
  options: Part[];
  /** What this machine sees. Undefined if the target does not name a platform. */
  connection: ConnectionReport | undefined;
  /** What the functions saw last; undefined: none has reported for a week, or it cannot be read. */
  reach: PlatformReach | undefined;
  pace: PaceStatus;
};

/** As one JSON document. */
export const documentOf = ({ options, ...status }: Status<OptionFacts>): object =>
  Object.assign({}, status, ...options.map(({ facts }) => facts));

export type PaceStatus = {
  /** The platform's credits, shared by all its clients; `none`: it reports none; undefined: unknown. */
  window: Window | 'none' | undefined;
  /** By function and class; undefined if it cannot be read. */
  calls: CallCount[] | undefined;
  /** The start of the counts. */
  sinceMs: number;
};

/** `budget` and `used` are undefined if no function has called the platform recently. */
type Window = {
  remaining: number;
  endsMs: number;
  budget: number | undefined;
  used: number | undefined;
};

export type ListReaders = { letters(): Promise<Groups>; waiting(): Promise<WaitingGroup[]> };

type StatusOptions<Part extends OptionFacts> = {
  functions: string[];
  /** How the reports of the options are read. They throw nothing. */
  parts?: readonly ((target: Target, signal: AbortSignal) => Promise<Part>)[];
  oldest?: boolean;
  signal: AbortSignal;
  /** How the lists are read; default: from the letter index. */
  lists?: ListReaders | undefined;
};

/**
 * Reports the queues, the letters by cause, and whether the platform accepts our calls. Changes nothing, except that `oldest` counts one
 * more receipt for some messages.
 */
export const statusOf = async <Part extends OptionFacts = never>(
  target: Target,
  { functions, parts = [], oldest = false, signal, lists = listsOf(target, signal) }: StatusOptions<Part>,
): Promise<Status<Part>> => {
  const sqs = await target.sqs();
  const deadLetters = { sqs, url: await target.deadLetterQueueUrl() };
  const queueStatus = async (name: string): Promise<QueueStatus[]> => {
    const url = await target.queueUrlOf(name);
    if (url === undefined) return [];
    const queue = { sqs, url };
    const counts = await countsOf(queue);
    const oldestMs = oldest && counts.visible > 0 ? await oldestSeen(queue, target.pollSeconds) : undefined;
    return [{ function: name, ...counts, oldestMs }];
  };
  const counts = await countsOf(deadLetters);
  // The right to read the queues does not include the right to read what is in the bucket.
  const known = <Value>(reading: Promise<Value>): Promise<Value | undefined> =>
    reading.catch(() => undefined);
  const reviews = Promise.all([
    known(deployedVersion(target)),
    known(openCommands(target, signal)),
    known(functionsReach(target)),
    known(readExpected(target)),
    readUnanswered(target, { functions, sinceMs: Date.now() - unansweredSinceMs, signal }),
    Promise.all(parts.map((read) => read(target, signal))),
  ]);
  const [queues, paused, connection, uses, letters, waiting] = await Promise.all([
    Promise.all(functions.map(queueStatus)),
    pausedFunctions(target, functions),
    withConnection(target, async (connection) =>
      checkConnection(connection, { mayLackSecret: true, ownOffsetMs: await known(ownOffsetMs(target)) }),
    ),
    usesOf(target, [...functions, ...jobs]),
    refusalAsValue(lists.letters()),
    refusalAsValue(lists.waiting()),
  ]);
  const [deployed, atWork, reach, expected, unanswered, ofOptions] = await reviews;
  const { visible, inFlight, delayed } = counts;
  const unlisted = { groups: [], matching: 0, listed: undefined, queued: visible + inFlight + delayed };
  return {
    deployed,
    queues: queues.flat(),
    paused,
    unanswered,
    atWork: atWork?.map(({ meant: _, did: __, ...command }) => command),
    expected,
    options: ofOptions,
    connection,
    reach,
    pace: {
      window: windowOf(connection, uses),
      calls: uses && byClass(uses.flatMap(({ calls }) => calls)),
      sinceMs: countedSinceMs(Date.now()),
    },
    letters: 'refused' in letters ? { ...unlisted, counts, unread: letters.refused } : { ...letters, counts },
    waiting: 'refused' in waiting ? [] : await withMended(target, waiting, connection?.credentialSinceMs),
  };
};

const unansweredSinceMs = 30 * 60_000;

const deployedVersion = async (target: Target): Promise<DeployedVersion | undefined> => {
  const deployed = await target.deployed?.();
  return deployed && compareDeployed(deployed);
};

/** How far this machine's clock is behind AWS'. */
const ownOffsetMs = async (target: Target): Promise<number> => (await awsTimeMs(target)) - Date.now();

const listsOf = (target: Target, signal: AbortSignal): ListReaders => ({
  letters: () => groupLetters(target, {}, { signal }),
  waiting: async () => (await listWaiting(target, { filter: {}, limit: 0 }, { signal })).groups,
});

/** Keeps a refused list from hiding the rest of the status. */
const refusalAsValue = <Value>(reading: Promise<Value>): Promise<Value | { refused: string }> =>
  reading.catch((error: unknown) => {
    if (error instanceof RefusedError) return { refused: error.message };
    throw error;
  });

/** They also call the platform, though they have no queue. */
const jobs = options.flatMap((option) => option.functions);

/** Undefined if there is no table, or it cannot be read: the connection’s report says why, and the rest is reported all the same. */
const usesOf = async (
  { dynamodb, ledgerTable: table }: Target,
  functions: string[],
): Promise<CallUsage[] | undefined> =>
  table === undefined
    ? undefined
    : Promise.all(functions.map((name) => readPaceUse({ dynamodb, table, nowMs: Date.now }, name))).catch(
        () => undefined,
      );

/** Most urgent class first. */
const byClass = (calls: CallCount[]): CallCount[] =>
  priorities.flatMap((each) => calls.filter(({ priority }) => priority === each));

/** Windows that end this close to each other are the same: each container uses its own clock. */
const sameWindowMs = 5_000;

/** The probe reads what is left now. Only a function that called all the while knows the whole budget. */
const windowOf = (connection: ConnectionReport | undefined, uses: CallUsage[] = []): PaceStatus['window'] => {
  const budgets = uses.flatMap(({ budgets }) => budgets);
  const endsMs = Math.max(...budgets.map((each) => each.endsMs));
  const latest = budgets.filter((each) => each.endsMs > endsMs - sameWindowMs);
  const remaining = Math.min(...latest.map((each) => each.remaining));
  const now = connection?.budget ?? (endsMs > Date.now() ? { remaining, endsMs } : undefined);
  if (now === undefined) {
    const isAnswered = connection?.reachable === true || uses.some(({ calls }) => calls.length > 0);
    return isAnswered && budgets.length === 0 ? 'none' : undefined;
  }
  if (latest.length === 0) return { ...now, budget: undefined, used: undefined };
  const budget = Math.max(now.remaining, ...latest.map((each) => each.budget));
  return { ...now, budget, used: budget - now.remaining };
};

/** Receives with a visibility timeout of 0, so that no message is hidden from its function; but it counts as a receipt. */
const oldestSeen = async (queue: Queue, pollSeconds: number): Promise<number | undefined> => {
  // The right to count messages does not include the right to receive them.
  const messages = await receive(queue, { leaseSeconds: 0, pollSeconds }).catch(() => []);
  const times = messages.map(({ Attributes }) => Number(Attributes?.SentTimestamp)).filter(Number.isFinite);
  return times.length === 0 ? undefined : Math.min(...times);
};
