/** Whatever is given: what is not a text, or not a number, is left out. */
const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? safeText(value) : undefined;
const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? Math.round(value * 10) / 10 : undefined;

/** What a line is about, besides its facts. */
type About = {
  level: string;
  atMs: number;
  message: string;
  /** Whose line it is, unless the facts name another. */
  function: string;
  /** Lambda's id of the invocation; `requestId` is the platform's. */
  invocationId?: string | undefined;
  error: unknown;
};

/**
 * One flat object, as Powertools' Logger writes it. These are the only facts that reach a log line, whatever object is given.
 * They are written out, as a loop over their names costs half a microsecond more, a fifth of all that a line costs.
 */
export const lineOf = (about: About, given: Record<string, unknown>) => ({
  level: about.level.toUpperCase(),
  timestamp: new Date(about.atMs).toISOString(),
  message: safeText(about.message),
  function: text(given.function) ?? about.function,
  invocationId: about.invocationId,
  messageId: text(given.messageId),
  eventId: text(given.eventId),
  outcome: text(given.outcome),
  kind: text(given.kind),
  reason: text(given.reason),
  operation: text(given.operation),
  status: number(given.status),
  attempts: number(given.attempts),
  replays: number(given.replays),
  requests: number(given.requests),
  durationMs: number(given.durationMs),
  platformMs: number(given.platformMs),
  waitSeconds: number(given.waitSeconds),
  ageSeconds: number(given.ageSeconds),
  waitedSeconds: number(given.waitedSeconds),
  requestId: text(given.requestId),
  // Of warnings and errors:
  code: text(given.code),
  count: number(given.count),
  error: about.error === undefined ? text(given.error) : errorFactsOf(about.error),
  queue: text(given.queue),
  remainingMs: number(given.remainingMs),
  seconds: number(given.seconds),
  /** Its name. */
  secret: text(given.secret),
  skewSeconds: number(given.skewSeconds),
});

/** A further fact is a line in the list above: what is not in it is not logged. */
export type Facts = {
  [Name in Exclude<keyof ReturnType<typeof lineOf>, 'level' | 'timestamp' | 'message' | 'invocationId'>]?:
    | string
    | number
    | undefined;
};

type ErrorFacts = {
  name: string;
  message?: string;
  code?: string;
  stack?: string;
  cause?: ErrorFacts;
};

/** An error without what libraries hang on it: requests with their headers and queries, inputs, answers. */
export const errorFactsOf = (error: unknown): ErrorFacts => {
  if (!(error instanceof Error)) return { name: `a thrown ${typeof error}` };
  // The stack begins with the message, which is there already.
  const frames = String(error.stack).indexOf('\n    at ');
  return {
    ...headOf(error),
    ...(frames < 0 ? {} : { stack: safeText(String(error.stack).slice(frames + 1), maxStack) }),
    ...(error.cause instanceof Error ? { cause: headOf(error.cause) } : {}),
  };
};

const headOf = (error: Error): ErrorFacts => ({
  name: isWord(error.name) ? error.name : 'Error',
  message: safeText(String(error.message)),
  ...('code' in error && isWord(error.code) ? { code: error.code } : {}),
});

const isWord = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w.$-]{1,80}$/.test(value);

const maxText = 500;
const maxStack = 4_000;
/** Beyond this nothing is looked at: long enough that what is cut off here could not be logged anyway. */
const maxRead = 8_000;

/** A text as it may be logged: bounded, and without what has the shape of a secret, a query or a quoted body. */
export const safeText = (text: string, most = maxText): string => {
  const read = text.length > maxRead ? text.slice(0, maxRead) : text;
  const masked = suspect.test(read)
    ? masks.reduce((masking, [shape, mask]) => masking.replace(shape, mask), read)
    : read;
  return masked.length > most ? `${masked.slice(0, most - 1)}…` : masked;
};

/** What each of the masks needs to match. Ids, words and paths have none of it, and are not searched further. */
const suspect = /[?=:"]|eyJ|(?:bearer|basic)\s/i;

const masks: [RegExp, string][] = [
  // JSON.parse quotes from what it could not read, which may be a message.
  [
    /(?:Unexpected token '[\s\S]{1,2}', )?(?:\.{3})?"[\s\S]{0,60}?"(?:\.{3})? is not valid JSON/g,
    'not valid JSON',
  ],
  // The query of a signed request or of a presigned address is its proof.
  [/\?[^\s"'<>?]*=[^\s"'<>]*/g, '?…'],
  [/\bx_([a-z]+)=[^\s&"'<>]*/gi, 'x_$1=…'],
  [/\b(bearer|basic)\s+[\w.~+/=-]{16,}/gi, '$1 …'],
  // A token, whole or not: it ends where it ends, or each of its beginnings would be read to the end.
  [/\beyJ[\w-]*(?:\.[\w-]*)*/g, '…'],
  [/\b(credential|signature)=[^\s"',;&]+/gi, '$1=…'],
  [
    /\b(\w*(?:app|user|access|secret|private)[_-]?key|\w+[_-]?token|client[_-]?(?:secret|assertion))(["']?\s*[=:]\s*["']?)[^\s"',;&}]{12,}/gi,
    '$1$2…',
  ],
];
