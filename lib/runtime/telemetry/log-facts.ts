import type { Outcome } from '../../message/failure.ts';
import type { FailureKind } from '../../message/failure-kinds.ts';
import type { SafeText } from '../../message/safe-text.ts';
import { withoutFileNames } from '../privacy/file-name.ts';
import { errorFactsOf, logText } from '../privacy/log-text.ts';

/** Facts may be of any type: one that is not a text, or not a number, is left out. */
const text = (value: unknown): string | undefined => (typeof value === 'string' ? logText(value) : undefined);
/** Of the facts, only a sentence names files. */
const sentence = (value: unknown): string | undefined =>
  typeof value === 'string' ? withoutFileNames(logText(value)) : undefined;
const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? Math.round(value * 10) / 10 : undefined;

/** Hexadecimal, with digits and letters: any other text in its place may name a person, and only the letter has it. */
const requestId = (value: unknown): string | undefined =>
  typeof value === 'string' && /^(?=\D*\d)(?=[\d-]*[a-f])(?:-?[\da-f]){8,64}$/i.test(value)
    ? value
    : undefined;

/** What every line has, besides its facts. */
type LineHead = {
  level: string;
  atMs: number;
  message: SafeText;
  /** The function that logs, unless the facts name another. */
  function: string;
  /** Lambda's id of the invocation; `requestId` is the platform's. */
  invocationId?: string | undefined;
  error: unknown;
};

/**
 * One flat object, as Powertools' Logger writes it. Only these facts reach a log line, whatever object is given. They are
 * written out because a loop over their names costs half a microsecond more: a fifth of the cost of a line.
 */
export const logLine = (head: LineHead, given: Record<string, unknown>) => ({
  level: head.level.toUpperCase(),
  timestamp: new Date(head.atMs).toISOString(),
  message: withoutFileNames(logText(head.message)),
  function: text(given.function) ?? head.function,
  invocationId: head.invocationId,
  messageId: text(given.messageId),
  eventId: text(given.eventId),
  outcome: text(given.outcome),
  kind: text(given.kind),
  reason: sentence(given.reason),
  operation: text(given.operation),
  status: number(given.status),
  attempts: number(given.attempts),
  replays: number(given.replays),
  requests: number(given.requests),
  durationMs: number(given.durationMs),
  turnMs: number(given.turnMs),
  platformMs: number(given.platformMs),
  waitSeconds: number(given.waitSeconds),
  ageSeconds: number(given.ageSeconds),
  waitedSeconds: number(given.waitedSeconds),
  requestId: requestId(given.requestId),
  // Of warnings and errors:
  code: text(given.code),
  count: number(given.count),
  error: head.error === undefined ? text(given.error) : errorFactsOf(head.error),
  remainingMs: number(given.remainingMs),
  seconds: number(given.seconds),
  /** Its name. */
  secret: text(given.secret),
  // Last, as there may be many: CloudWatch Logs Insights finds the first 200 fields of a line.
  messages: Array.isArray(given.messages) ? given.messages.map(ownFacts) : undefined,
});

/** The facts that differ between the messages of a shared line. */
const ownFacts = (given: Record<string, unknown>) => ({
  messageId: text(given.messageId),
  eventId: text(given.eventId),
  durationMs: number(given.durationMs),
  turnMs: number(given.turnMs),
});

/** To log a further fact, add it to the list above. */
export type Facts = {
  [Name in Exclude<
    keyof ReturnType<typeof logLine>,
    'level' | 'timestamp' | 'message' | 'invocationId' | 'messages' | 'requestId'
  >]?: SafeText | FailureKind | Outcome | number | undefined;
} & {
  /** The platform may put any text there: the line has it only in the form of an id. */
  requestId?: string | undefined;
};
