import { patientReceipts, waitSeconds } from '../../lib/message/backoff.ts';
import { createPace, type Pace } from '../../lib/platform/client/pace/pace.ts';
import { randomFrom } from '../fuzz/random.ts';
import { type Clock, createClock } from './clock.ts';
import { type FunctionLoad, hourMs, type Load } from './load.ts';
import {
  type Answer,
  cost,
  createPlatform,
  latencyMs,
  type PlatformOptions,
  type Window,
} from './platform.ts';
import { createQueue, type Message, type Queue } from './queue.ts';
import { countDone, createRecord, type Lane, minuteOf, type Record } from './record.ts';

export type Scenario = {
  load: Load;
  platform: PlatformOptions;
  /** False: calls go at once, whatever the platform tells. */
  isGated: boolean;
  seed: number;
  /** When it ends, be there messages left or not. */
  maxMs: number;
};

export type Simulated = { record: Record; windows: Window[]; isDone: boolean };

// As serverless.yml and lib/runtime/aws/settings.ts have them.
const timeoutMs = 120_000;
const reserveMs = 10_000;
const headersTimeoutMs = 15_000;
const visibilityMs = 720_000;
const maxWaitMs = 24 * hourMs;
const maximumConcurrency = 2;
const backoff = { minimumSeconds: 5, maximumSeconds: 1_800 };
/** What is refused comes back spread over so long. */
const maxSpreadSeconds = 60;

/** Lambda ends a container that has nothing to do, and now and then one that has. */
const idleLifeMs = 10 * 60_000;
const meanLifeMs = 2 * hourMs;
const coldStartMs = 400;
/** A function dies in one of so many batches: its messages are hidden until their visibility ends. */
const batchesPerDeath = 20_000;
/** With the tail, and what is between two batches. */
const usualCallSeconds = 0.3;
/** From the end of a batch to the beginning of the next: messages are deleted and received. */
const betweenBatchesMs = 40;

/** What all parts of a simulation share. */
type World = {
  clock: Clock;
  random: () => number;
  record: Record;
  platform: { answer(): Answer };
  newPace(): Pace;
};

const ungated: Pick<Pace, 'ask' | 'learn'> = {
  ask: (_priority, _untilMs, settle) => {
    settle({ turn: { next: () => 0, end: () => {} } });
    return () => {};
  },
  learn: () => {},
};

/** Lives through a load from its first message to its last. */
export const simulate = ({ load, platform: options, isGated, seed, maxMs }: Scenario): Simulated => {
  const clock = createClock();
  const random = randomFrom(seed).next;
  const record = createRecord();
  const platform = createPlatform(options, { clock, random });
  const newPace = (): Pace => createPace({ nowMs: clock.nowMs, random, setTimer: clock.setTimer });
  const world: World = {
    clock,
    random,
    record,
    platform,
    newPace: isGated ? newPace : () => ungated as Pace,
  };
  const queues = load.functions.map((each, nth) => {
    const queue = createQueue(each, random);
    startMapping({ ...each, nth }, queue, world);
    return queue;
  });
  const isExported = startExport(load.export, world);
  if (load.reconcile) startReconcile(load.reconcile, world);

  let isDone = false;
  const look = (): void => {
    lookAt(
      { load, queues, record, callsPerSecond: options.budgetAt(clock.nowMs()) / cost / 60 },
      clock.nowMs(),
    );
    isDone = isExported() && queues.every((queue) => queue.isEmpty());
    if (isDone) clock.stop();
    else clock.after(1_000, look);
  };
  look();
  clock.run(maxMs);
  return { record, windows: platform.windows, isDone };
};

type Sight = { load: Load; queues: Queue[]; record: Record; callsPerSecond: number };

/** Each second: who has more on his queue than his containers can take, and whether that is enough for the whole budget. */
const lookAt = ({ load, queues, record, callsPerSecond }: Sight, nowMs: number): void => {
  const minute = minuteOf(nowMs);
  let capacity = 0;
  for (const [nth, { batchSize, priority }] of load.functions.entries())
    for (const kind of ['bulk', 'other'] as const) {
      const most = batchSize * maximumConcurrency;
      const queue = queues[nth];
      if (queue === undefined || queue.visible(nowMs, kind === 'bulk') < most) continue;
      count(record.laneOf(nth, kind === 'bulk' ? 'bulk' : priority).busySeconds, minute);
      capacity += most / usualCallSeconds;
    }
  if (capacity >= callsPerSecond) count(record.work, minute);
};

const count = (counts: Uint8Array, at: number): void => {
  counts[at] = (counts[at] ?? 0) + 1;
};

type Container = { pace: Pace; endsMs: number; idleSinceMs: number };

/** Lambda's pollers of one queue, and its function's containers. */
const startMapping = (of: FunctionLoad & { nth: number }, queue: Queue, world: World): void => {
  const { clock, random } = world;
  /** The last used stand last. */
  const free: Container[] = [];
  let isWorking = 0;
  let batch: Message[] = [];
  let batchFromMs = 0;
  let wakesMs = Number.POSITIVE_INFINITY;

  const wake = (atMs: number): void => {
    if (atMs >= wakesMs || atMs === Number.POSITIVE_INFINITY) return;
    wakesMs = atMs;
    clock.after(atMs - clock.nowMs(), () => {
      if (wakesMs !== atMs) return;
      wakesMs = Number.POSITIVE_INFINITY;
      poll();
    });
  };

  const poll = (): void => {
    while (isWorking < maximumConcurrency) {
      const nowMs = clock.nowMs();
      while (batch.length < of.batchSize) {
        const message = queue.receive(nowMs);
        if (message === undefined) break;
        if (batch.length === 0) batchFromMs = nowMs;
        batch.push(message);
      }
      const endsMs = batchFromMs + of.batchingWindowMs;
      const isFull = batch.length === of.batchSize;
      if (batch.length === 0 || (!isFull && nowMs < endsMs)) {
        wake(Math.min(batch.length > 0 ? endsMs : Number.POSITIVE_INFINITY, queue.nextMs(nowMs)));
        return;
      }
      const messages = batch;
      batch = [];
      invoke(messages);
    }
  };

  const invoke = (messages: Message[]): void => {
    isWorking += 1;
    const nowMs = clock.nowMs();
    let container = free.pop();
    while (container && (nowMs > container.endsMs || nowMs > container.idleSinceMs + idleLifeMs))
      container = free.pop();
    const isCold = container === undefined;
    container ??= {
      pace: world.newPace(),
      endsMs: nowMs - Math.log(1 - random()) * meanLifeMs,
      idleSinceMs: nowMs,
    };
    if (random() * batchesPerDeath < 1) {
      for (const message of messages) queue.hide(message, nowMs + visibilityMs);
      isWorking -= 1;
      return;
    }
    const { pace } = container;
    const begin = (): void =>
      deliver({ messages, of, queue, pace }, world, () => {
        isWorking -= 1;
        container.idleSinceMs = clock.nowMs();
        free.push(container);
        clock.after(betweenBatchesMs * (0.5 + random()), poll);
      });
    if (isCold) clock.after(coldStartMs, begin);
    else begin();
  };

  wake(queue.nextMs(0));
};

type Batch = { messages: Message[]; of: FunctionLoad & { nth: number }; queue: Queue; pace: Pace };
type Waiting = { message: Message; seconds: number };

/** One invocation, as lib/delivery/handle does it: each message for itself, and what waits is hidden when all have ended. */
const deliver = ({ messages, of, queue, pace }: Batch, world: World, end: () => void): void => {
  const { clock, random, record } = world;
  const untilMs = clock.nowMs() + timeoutMs - reserveMs - of.attemptTimeoutMs;
  const waiting: Waiting[] = [];
  let left = messages.length;

  const settled = (): void => {
    left -= 1;
    if (left > 0) return;
    for (const { message, seconds } of waiting) queue.hide(message, clock.nowMs() + seconds * 1_000);
    end();
  };
  const done = (message: Message): void => {
    queue.delete();
    record.lastMs = clock.nowMs();
    countDone(record.laneOf(of.nth, message.priority), message, clock.nowMs());
    settled();
  };
  const wait = (message: Message, retryAfterSeconds: number | undefined): void => {
    const { receipts: receiveCount } = message;
    const seconds = waitSeconds({ receiveCount, retryAfterSeconds }, { ...backoff, random });
    waiting.push({ message, seconds });
    settled();
  };
  const failed = (message: Message, retryAfterSeconds?: number): void => {
    if (clock.nowMs() - message.firstMs < maxWaitMs) {
      wait(message, retryAfterSeconds);
      return;
    }
    queue.delete();
    record.lastMs = clock.nowMs();
    record.laneOf(of.nth, message.priority).letters += 1;
    settled();
  };
  const noTurn = (message: Message, seconds: number): void =>
    (message.receipts > patientReceipts ? failed : wait)(message, seconds);
  const throttled = (message: Message, seconds: number): void =>
    failed(message, seconds + random() * Math.min(maxSpreadSeconds, seconds));

  const start = (message: Message): void => {
    const { priority } = message;
    const lane = record.laneOf(of.nth, priority);
    pace.ask(priority, untilMs, (asked) => {
      const { turn } = asked;
      if (turn === undefined) {
        noTurn(message, asked.seconds);
        return;
      }
      let calls = of.callsPerMessage;
      const next = (): void => {
        const seconds = turn.next();
        if (seconds > 0) throttled(message, seconds);
        else request();
      };
      const request = (): void =>
        call({ lane, pace }, world, ({ status, retryAfterSeconds }) => {
          calls -= 1;
          if (status === 200 && calls > 0) return next();
          turn.end();
          if (status === 200) done(message);
          else if (status === 429) throttled(message, retryAfterSeconds ?? 1);
          else failed(message, retryAfterSeconds);
        });
      next();
    });
  };
  for (const message of messages) start(message);
};

/** One request and its answer. */
const call = (
  { lane, pace }: { lane: Lane; pace: Pace },
  { clock, random, platform }: World,
  answered: (answer: Answer) => void,
): void => {
  const sentMs = clock.nowMs();
  const halfMs = latencyMs(random) / 2;
  clock.after(halfMs, () => {
    const answer = platform.answer();
    if (answer.status === 200) countCall(lane, clock.nowMs());
    clock.after(answer.status === undefined ? headersTimeoutMs - halfMs : halfMs, () => {
      pace.learn({ sentMs, ...answer });
      answered(answer);
    });
  });
};

type Job = { nth: number; calls: number; concurrency: number; untilMs: number };

/** A container of its own that makes its calls, so many at a time. */
const startJob = (job: Job, world: World, ended: () => void): void => {
  const { clock, newPace, record } = world;
  const { nth, calls, concurrency, untilMs } = job;
  const lane = record.laneOf(nth, 'bulk');
  let left = calls;
  let under = 0;
  let pace = newPace();
  const isOver = (): boolean => left === 0 || clock.nowMs() >= untilMs;
  const renew = (): void => {
    pace = newPace();
    if (!isOver()) clock.after(meanLifeMs, renew);
  };
  const goOn = (): void => {
    while (under < concurrency && !isOver()) {
      left -= 1;
      under += 1;
      attempt();
    }
    if (under === 0) ended();
  };
  const attempt = (): void => {
    if (clock.nowMs() >= untilMs) {
      under -= 1;
      goOn();
      return;
    }
    const own = pace;
    own.ask('bulk', Math.min(untilMs, clock.nowMs() + timeoutMs), ({ turn, ...asked }) => {
      if (turn === undefined) {
        clock.after('seconds' in asked ? asked.seconds * 1_000 : 0, attempt);
        return;
      }
      turn.next();
      call({ lane, pace: own }, world, ({ status, retryAfterSeconds }) => {
        turn.end();
        if (status !== 200) {
          clock.after((retryAfterSeconds ?? 5) * 1_000, attempt);
          return;
        }
        under -= 1;
        goOn();
      });
    });
  };
  clock.after(meanLifeMs, renew);
  goOn();
};

/** Tells whether it has made all its calls. */
const startExport = ({ fromMs, calls, concurrency }: Load['export'], world: World): (() => boolean) => {
  const { clock, record } = world;
  let isExported = false;
  clock.after(fromMs, () => {
    const job = { nth: exportNth, calls, concurrency, untilMs: Number.POSITIVE_INFINITY };
    startJob(job, world, () => {
      record.lastMs = clock.nowMs();
      isExported = true;
    });
  });
  return () => isExported;
};

/** The comparison of the platform with what was sent, which always has more to read. */
const startReconcile = (
  { fromMs, toMs, concurrency }: NonNullable<Load['reconcile']>,
  { clock, ...world }: World,
): void =>
  clock.after(fromMs, () => {
    const job = { nth: reconcileNth, calls: Number.POSITIVE_INFINITY, concurrency, untilMs: toMs };
    startJob(job, { clock, ...world }, () => {});
  });

/** What has no queue stands behind the functions. */
export const [reconcileNth, exportNth] = [98, 99];

const countCall = ({ calls }: Lane, nowMs: number): void => {
  const minute = minuteOf(nowMs);
  calls[minute] = (calls[minute] ?? 0) + 1;
};
