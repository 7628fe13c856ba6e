import { type FailureKind, needsPerson, type Outcome } from '../failure.ts';
import { safeText } from '../redaction/log-text.ts';
import { type Facts, logLine } from './log-facts.ts';
import { createTally, type Tally } from './metrics.ts';

export type MessageReport = {
  /** Default: the function that observes. */
  function?: string;
  /** SQS' id. */
  messageId: string;
  /** The CloudEvents id, once the message is parsed. */
  eventId?: string | undefined;
  outcome: Outcome;
  kind?: FailureKind | undefined;
  /** The failure's sentence, or why the message is superseded. It is logged, so it never repeats content of the message. */
  reason?: string | undefined;
  /** `METHOD /path`, without query. */
  operation?: string | undefined;
  status?: number | undefined;
  /** How often SQS has delivered the message, including this time. */
  attempts: number;
  replays: number;
  durationMs: number;
  /** The part of it spent waiting for the platform. */
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

export type Observe = {
  /** From now on, log lines have this invocation's id, as CloudWatch and X-Ray do. */
  begin(invocationId: string): void;
  /** One line per message and attempt, and its metrics. */
  message(report: MessageReport): void;
  info(text: string, facts?: Facts): void;
  warn(text: string, facts?: Facts): void;
  /** Logs the name, code, message and stack of the error, and of its cause all but the stack. */
  error(text: string, facts?: Facts, error?: unknown): void;
  /** One request to the platform: `operation` is its name, not its path; no status where no answer came. */
  call(report: { operation: string; status?: number | null | undefined; durationMs: number }): void;
  /** A failure that concerns no message. Where a person must act, it triggers the same alarms. */
  failed(kind: FailureKind): void;
  /** Counts for any other metric. */
  count: Tally['add'];
  /** The outcome for tokens that were due. */
  tokens(outcome: string): void;
  /** How many credentials wait for a person. 0 is reported, too, so that an alarm ends. */
  authorizationsNeeded(count: number): void;
  /** The end of an invocation: writes its metrics. */
  flush(): void;
};

export type ObserveOptions = {
  function: string;
  /** Of log lines. Metrics are written at every level but `silent`; at `debug`, each call of the platform has a line. */
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Of the metrics. Each stage in an account needs its own. */
  namespace: string;
  write?: (line: string) => void;
};

/** Logs and metrics of one function, as lines of JSON on stdout, where CloudWatch reads both. */
export const createObserve = (options: ObserveOptions): Observe => {
  const { level, namespace } = options;
  const lines = createLines(options.write);
  let invocationId: string | undefined;
  const log = createLog({ name: options.function, least: level, invocation: () => invocationId }, lines.add);
  const tally = createTally(namespace);
  const failed = (kind: FailureKind | undefined, name = options.function): void => {
    if (kind && needsPerson(kind)) tally.add('Refusals', { function: name, kind }, 1);
  };
  return {
    begin: (id) => {
      invocationId = id;
    },
    message: (report) => {
      const { function: name = options.function, outcome, kind = 'none', durationMs } = report;
      const { ageSeconds, waitedSeconds } = report;
      failed(report.kind, name);
      log(levelOf[outcome], `message ${outcome}`, report);
      tally.add('Messages', { function: name, outcome, kind }, 1);
      tally.add('MessageDuration', { function: name, outcome }, durationMs);
      if (outcome === 'parked') tally.add('Letters', { function: name, kind }, 1);
      const age = outcome === 'waiting' ? waitedSeconds : ageSeconds;
      if (age !== undefined)
        tally.add(outcome === 'waiting' ? 'WaitingAge' : 'MessageAge', { function: name }, age);
    },
    info: (text, facts = {}) => log('info', text, facts),
    warn: (text, facts = {}) => log('warn', text, facts),
    error: (text, facts = {}, error) => log('error', text, facts, error),
    call: ({ operation: called, status, durationMs }) => {
      const operation = safeText(called);
      log('debug', 'platform call', { operation, status: status ?? undefined, durationMs });
      tally.add('PlatformLatency', { function: options.function, operation }, durationMs);
      tally.add('PlatformAnswers', { function: options.function, status: String(status ?? 'none') }, 1);
    },
    failed: (kind) => failed(kind),
    count: tally.add,
    tokens: (outcome) => tally.add('TokenRefreshes', { outcome }, 1),
    authorizationsNeeded: (count) => tally.add('AuthorizationsNeeded', { function: options.function }, count),
    flush: () => {
      const metrics = tally.take();
      if (level !== 'silent') for (const line of metrics) lines.add(line);
      lines.release();
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
  let held: string[] = [];
  const release = (): void => {
    if (held.length === 0) return;
    const lines = held;
    held = [];
    if (write) for (const line of lines) write(line);
    else process.stdout.write(`${lines.join('\n')}\n`);
  };
  return {
    add: (line, atOnce = false) => {
      held.push(line);
      if (atOnce || held.length >= maxHeld) release();
    },
    release,
  };
};

const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

type LogOptions = { name: string; least: ObserveOptions['level']; invocation(): string | undefined };

const createLog = ({ name, least, invocation }: LogOptions, print: Lines['add']) => {
  const from = levels.indexOf(least);
  return (level: ObserveOptions['level'], text: string, given: Facts, error?: unknown): void => {
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
    print(JSON.stringify(logLine(about, given)), level === 'warn' || level === 'error');
  };
};
