/** The only facts that reach a log line, whatever object is given, and what each of them must be. */
const loggedFacts = {
  function: 'string',
  messageId: 'string',
  eventId: 'string',
  outcome: 'string',
  kind: 'string',
  reason: 'string',
  operation: 'string',
  status: 'number',
  attempts: 'number',
  replays: 'number',
  requests: 'number',
  durationMs: 'number',
  platformMs: 'number',
  waitSeconds: 'number',
  ageSeconds: 'number',
  requestId: 'string',
  // Of warnings and errors:
  code: 'string',
  count: 'number',
  error: 'string',
  queue: 'string',
  remainingMs: 'number',
  seconds: 'number',
  secret: 'string',
  skewSeconds: 'number',
} as const;

/** A further fact is a line in the list above: what is not in it is not logged. `secret` is a secret's name. */
export type Facts = { [Name in keyof typeof loggedFacts]?: string | number | undefined };

const names = Object.keys(loggedFacts) as (keyof Facts)[];

export const factsOf = (given: Facts): Record<string, string | number> => {
  const facts: Record<string, string | number> = {};
  for (const name of names) {
    const value = given[name];
    if (typeof value !== loggedFacts[name]) continue;
    if (typeof value === 'string') facts[name] = safeText(value);
    else if (typeof value === 'number' && Number.isFinite(value)) facts[name] = Math.round(value * 10) / 10;
  }
  return facts;
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
    ...(frames < 0 ? {} : { stack: safeText(String(error.stack).slice(frames + 1), mostStack) }),
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

const mostText = 500;
const mostStack = 4_000;
/** Beyond this nothing is looked at: long enough that what is cut off here could not be logged anyway. */
const mostRead = 8_000;

/** A text as it may be logged: bounded, and without what has the shape of a secret, a query or a quoted body. */
export const safeText = (text: string, most = mostText): string => {
  const read = text.length > mostRead ? text.slice(0, mostRead) : text;
  const masked = suspect.test(read)
    ? masks.reduce((masking, [shape, mask]) => masking.replace(shape, mask), read)
    : read;
  return masked.length > most ? `${masked.slice(0, most - 1)}…` : masked;
};

/** Without one of these a text matches none of the masks. Ids and words have none, and are not searched further. */
const suspect = /[?=:\s]|eyJ/;

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
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '…'],
  [/\b(credential|signature)=[^\s"',;&]+/gi, '$1=…'],
  [
    /\b(\w*(?:app|user|access|secret|private)[_-]?key|\w+[_-]?token|client[_-]?(?:secret|assertion))(["']?\s*[=:]\s*["']?)[^\s"',;&}]{12,}/gi,
    '$1$2…',
  ],
];
