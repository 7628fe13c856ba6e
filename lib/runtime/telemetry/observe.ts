import type { Outcome } from '../../message/failure.ts';
import { type FailureKind, failureKinds, needsPerson } from '../../message/failure-kinds.ts';
import type { Priority } from '../../message/priority.ts';
import { type SafeText, safe } from '../../message/safe-text.ts';
import { logText } from '../privacy/log-text.ts';
import { type Facts, logLine } from './log-facts.ts';
import { createTally } from './metrics.ts';

export type MessageReport = {
  /** Default: the function that observes. */
  function?: SafeText;
  /** SQS' id. */
  messageId: SafeText;
  /** The CloudEvents id, once the message is parsed. */
  eventId?: SafeText | undefined;
  outcome: Outcome;
  kind?: FailureKind | undefined;
  /** The failure's sentence, or why the message is superseded. */
  reason?: SafeText | undefined;
  /** `METHOD /path`, without query. */
  operation?: SafeText | undefined;
  status?: number | undefined;
  /** How often SQS has delivered the message, including this time. */
  attempts: number;
  replays: number;
  /** Without the wait for its turn. */
  durationMs: number;
  /** Spent waiting for the rate limiter, if it had to. */
  turnMs?: number | undefined;
  /** The part of `durationMs` spent waiting for the platform. */
  platformMs: number;
  requests: number;
  /** Until SQS delivers a waiting message again. */
  waitSeconds?: number | undefined;
  /** Since it was sent. */
  ageSeconds?: number | undefined;
  /** Since it was received for the first time. */
  waitedSeconds?: number | undefined;
  /** The platform's id of the last request. */
  requestId?: string | undefined;
};

export type ObserveOptions = {
  function: string;
  /** Level of log lines. Metrics are written at every level but `silent`; at `debug`, each call of the platform has a line. */
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Namespace of the metrics. Each stage in an account needs its own. */
  namespace: string;
  write?: (line: string) => void;
};

/** Logs and metrics of one function, as lines of JSON on stdout, where CloudWatch reads both. */
export const createObserve = (options: ObserveOptions) => {
  const { level, namespace } = options;
  const lines = createLines(options.write);
  let invocationId: string | undefined;
  const log = createLog({ name: options.function, least: level, invocation: () => invocationId }, lines.add);
  const tally = createTally(namespace);
  const successes = createSuccesses((text, facts) => log('info', text, facts));
  const batch = { isUnavailable: false, isAnswered: false };
  const failed = (kind: FailureKind | undefined, name = options.function): void => {
    if (kind && needsPerson(kind)) tally.add('Refusals', { function: name, kind }, 1);
  };
  return {
    /** From now on, log lines have this invocation's id, as CloudWatch and X-Ray do. */
    begin: (id: string): void => {
      // For an invocation that did not end.
      successes.write();
      invocationId = id;
    },
    /**
     * Writes the line of an attempt, and its metrics. A waiting or parked message has a line at once. Messages that need nothing
     * more and have the same outcome share one at the end of the invocation, except at level `debug`.
     */
    message: (report: MessageReport): void => {
      const { function: name = options.function, outcome, kind = 'none', durationMs } = report;
      const { ageSeconds, waitedSeconds } = report;
      failed(report.kind, name);
      if (levelOf[outcome] === 'info' && level !== 'debug') successes.add(report);
      else log(levelOf[outcome], safe`message ${outcome}`, report);
      tally.add('Messages', { function: name, outcome, kind }, 1);
      tally.add('MessageDuration', { function: name, outcome }, durationMs);
      if (outcome === 'parked' && kind !== 'none')
        tally.add('Letters', { function: name, kind, responsible: failureKinds[kind].responsible }, 1);
      const age = outcome === 'waiting' ? waitedSeconds : ageSeconds;
      if (age !== undefined)
        tally.add(outcome === 'waiting' ? 'WaitingAge' : 'MessageAge', { function: name }, age);
      if (outcome === 'waiting') batch.isUnavailable ||= kind === 'unavailable';
      else batch.isAnswered ||= report.requests > 0;
    },
    info: (text: SafeText, facts: Facts = {}) => log('info', text, facts),
    warn: (text: SafeText, facts: Facts = {}) => log('warn', text, facts),
    /** Logs the name, code, message and stack of the error; for its cause, all but the stack. */
    error: (text: SafeText, facts: Facts = {}, error?: unknown) => log('error', text, facts, error),
    /** One request to the platform: `operation` is its name, not its path. */
    call: ({ operation: called, status, durationMs, priority }: ObservedCall): void => {
      const operation = logText(called);
      log('debug', safe`platform call`, { operation: called, status, durationMs });
      tally.add('PlatformLatency', { function: options.function, operation }, durationMs);
      tally.add('PlatformAnswers', { function: options.function, status: String(status ?? 'none') }, 1);
      tally.add('PaceCalls', { priority }, 1);
      if (isThrottled(status)) tally.add('PaceRefused', { priority }, 1);
    },
    /** How long a message waited for the rate limiter. */
    slotWait: (priority: Priority, waitedMs: number): void => {
      if (waitedMs > 0) tally.add('PaceWait', { priority }, waitedMs);
    },
    /** A failure that concerns no message. If a person must act, it triggers the same alarms. */
    failed: (kind: FailureKind) => failed(kind),
    /** Counts for any other metric. */
    count: tally.add,
    /** Call this at the end of an invocation: it writes the metrics. */
    flush: (): void => {
      successes.write();
      if (batch.isUnavailable && !batch.isAnswered)
        tally.add('BatchesUnanswered', { function: options.function }, 1);
      Object.assign(batch, { isUnavailable: false, isAnswered: false });
      const metrics = tally.take();
      if (level !== 'silent') for (const line of metrics) lines.add(line);
      lines.release();
    },
  };
};

export type Observe = ReturnType<typeof createObserve>;

/** Without a status if no answer came. */
type ObservedCall = {
  operation: SafeText;
  status?: number | undefined;
  durationMs: number;
  priority: Priority;
};

/** The platform refused a call as one too many. */
export const isThrottled = (status: number | undefined): boolean => status === 429;

/** Fields of messages that share a line, three or four of each: CloudWatch Logs Insights finds 200 in a line. */
const maxShared = 180;
const sharedFieldsOf = ({ turnMs }: MessageReport): number => (turnMs === undefined ? 3 : 4);

/** The facts that messages must have in common to share a line. */
const sharedFacts = ({
  function: name,
  outcome,
  reason,
  status,
  attempts,
  replays,
  requests,
}: MessageReport) => ({ function: name, outcome, reason, status, attempts, replays, requests });

/** Holds reports until the end of the invocation: a line's own facts are billed once, and not for each message. */
const createSuccesses = (print: (text: SafeText, facts: LoggedFacts) => void) => {
  const alike = new Map<string, MessageReport[]>();
  const writeOut = (reports: MessageReport[]): void => {
    const [first, ...others] = reports;
    if (first === undefined) return;
    const { outcome } = first;
    // A message with a unique outcome is logged in full.
    if (others.length === 0) print(safe`message ${outcome}`, first);
    else
      print(safe`messages ${outcome}`, { ...sharedFacts(first), count: reports.length, messages: reports });
  };
  return {
    add: (report: MessageReport): void => {
      const key = JSON.stringify(sharedFacts(report));
      const reports = alike.get(key) ?? [];
      alike.set(key, reports);
      reports.push(report);
      if (reports.reduce((sum, each) => sum + sharedFieldsOf(each), 0) < maxShared) return;
      alike.delete(key);
      writeOut(reports);
    },
    write: (): void => {
      for (const reports of alike.values()) writeOut(reports);
      alike.clear();
    },
  };
};

const levelOf = {
  done: 'info',
  duplicate: 'info',
  superseded: 'info',
  waiting: 'warn',
  parked: 'error',
} as const satisfies Record<Outcome, string>;

type Lines = { add(line: string, atOnce?: boolean): void; release(): void };

const maxHeld = 100;

/**
 * A write costs as much as all the rest of a line, so lines are held until the end of the invocation. Warnings and errors are
 * written at once, with all lines before them: if the function dies, only lines of messages that come again are lost.
 */
const createLines = (write?: (line: string) => void): Lines => {
  let buffered: string[] = [];
  const release = (): void => {
    if (buffered.length === 0) return;
    const lines = buffered;
    buffered = [];
    if (write) for (const line of lines) write(line);
    else process.stdout.write(`${lines.join('\n')}\n`);
  };
  return {
    add: (line, atOnce = false) => {
      buffered.push(line);
      if (atOnce || buffered.length >= maxHeld) release();
    },
    release,
  };
};

const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

type LoggedFacts = Facts & { messages?: readonly MessageReport[] };

type LogOptions = { name: string; least: ObserveOptions['level']; invocation(): string | undefined };

const createLog = ({ name, least, invocation }: LogOptions, print: Lines['add']) => {
  const from = levels.indexOf(least);
  return (level: ObserveOptions['level'], text: SafeText, facts: LoggedFacts, error?: unknown): void => {
    const at = levels.indexOf(level);
    if (at < from) return;
    const about = {
      level,
      atMs: Date.now(),
      message: text,
      function: name,
      invocationId: invocation(),
      error,
    };
    print(JSON.stringify(logLine(about, facts)), level === 'warn' || level === 'error');
  };
};
