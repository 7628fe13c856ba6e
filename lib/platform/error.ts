import { scrub } from './echo.ts';
import type { Operation } from './operation.ts';

/** An answer that is not a success, parsed from whichever of the platform's forms it came in. */
export type RefusedCall = {
  status: number;
  /** The anchor of the problem's type, such as `not-authorized`. */
  type?: string | undefined;
  title?: string | undefined;
  detail?: string | undefined;
  /** Which of the two a 403 says is missing, where its text tells. */
  missing?: 'scope' | 'permission' | undefined;
  /** The name of the missing scope or permission, where the text tells. */
  required?: string | undefined;
  /** The answer was cut off: what its text would have told may be missing. */
  cutOff?: true;
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
};

/** A call of the platform that did not succeed. Built from the request as it was before it was proved: nothing to redact. */
export class PlatformError extends Error {
  override name = 'PlatformError';
  readonly operation: Operation<unknown>;
  /** `METHOD /path`, without query. */
  readonly call: string;
  /** The platform's answer; undefined where no usable one came. */
  readonly refused: RefusedCall | undefined;
  /** False only if the platform cannot have acted: never connected, or the body was not handed over to its end. */
  readonly sent: boolean;
  /** It was answered with a success, and its effect was not seen. */
  readonly taken: boolean;

  constructor(facts: {
    operation: Operation<unknown>;
    call: string;
    message: string;
    refused?: RefusedCall;
    sent: boolean;
    taken?: boolean;
    cause?: unknown;
  }) {
    super(facts.message, { cause: facts.cause });
    this.operation = facts.operation;
    this.call = facts.call;
    this.refused = facts.refused;
    this.sent = facts.sent;
    this.taken = facts.taken ?? false;
  }

  /** Refusals are certain, and so is 503: the request was not taken. Other server errors can come after the effect. */
  get mayHaveActed(): boolean {
    if (this.refused === undefined) return this.sent;
    const { status } = this.refused;
    return (status >= 500 && status !== 503) || status === 408;
  }
}

/** At most this much of an error's body is read, in bytes. */
export const maximumErrorBytes = 64 * 1024;
const maximumDetail = 2_000;

type RawAnswer = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  cutOff?: boolean;
};

/**
 * Parses any answer that is not a success: both JSON forms, plain text, HTML, nothing, half of something, a redirect.
 * `proof` are words of the request that no text may bring back.
 */
export const parseRefusal = (answer: RawAnswer, proof: string[] = []): RefusedCall => {
  const header = (name: string): string | undefined => [answer.headers[name] ?? []].flat()[0];
  const said = wordsOf(answer, header('content-type') ?? '', header('location'));
  const clean = (text: string | undefined, maximum: number): string | undefined =>
    text === undefined ? undefined : cut(scrub(text, proof), maximum);
  const title = clean(said.title, 200);
  const detail = clean(said.detail, maximumDetail);
  const rateLimitReset = answer.status === 429 ? header('x-rate-limit-reset') : undefined;
  return {
    status: answer.status,
    type: clean(said.type, 100),
    title,
    detail,
    ...missingIn(`${title ?? ''} ${detail ?? ''}${answer.cutOff ? '' : '\n'}`),
    ...(answer.cutOff ? { cutOff: true } : {}),
    requestId: clean(header('x-request-id') ?? header('x-correlation-id'), 200),
    retryAfterSeconds: retryAfter(header('retry-after'), rateLimitReset, header('date')),
  };
};

type Words = { type?: string | undefined; title?: string | undefined; detail?: string | undefined };

const wordsOf = (answer: RawAnswer, contentType: string, location: string | undefined): Words => {
  const text = answer.text.trim();
  if (answer.status >= 300 && answer.status < 400)
    return { title: 'Redirect', detail: location ? `to ${withoutQuery(location)}` : 'to nowhere' };
  if (text === '') return {};
  if (text.startsWith('{') || (/json/i.test(contentType) && !text.startsWith('<'))) return jsonWords(text);
  // Some plain sentences, such as the one about the timestamp, are labelled as HTML: the text itself tells.
  if (/<[a-z!][^<>]*>/i.test(text)) return htmlWords(text);
  const [first = '', ...rest] = text.split(/\r?\n/);
  return { title: first, detail: rest.length > 0 ? text : undefined };
};

const jsonWords = (text: string): Words => {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    const type = anchorOf(textIn(text, 'type'));
    return { type, title: textIn(text, 'title') ?? 'Unreadable JSON', detail: text };
  }
  if (typeof body !== 'object' || body === null) return { detail: String(body) };
  const problem = body as Record<string, unknown>;
  if (Array.isArray(problem.Errors)) {
    const messages = problem.Errors.map((each) => stringOf((each as { Message?: unknown } | null)?.Message));
    return { title: 'Errors', detail: messages.filter(Boolean).join('; ') || undefined };
  }
  return {
    type: anchorOf(stringOf(problem.type)),
    title: stringOf(problem.title),
    // Written anew, without escapes: who hides a name looks for it as people write it.
    detail:
      stringOf(problem.detail) ?? (stringOf(problem.title) === undefined ? JSON.stringify(body) : undefined),
  };
};

const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** A field of JSON that is not whole. */
const textIn = (json: string, field: string): string | undefined =>
  new RegExp(`"${field}"\\s*:\\s*"([^"\\\\]+)"`).exec(json)?.[1];

const anchorOf = (type: string | undefined): string | undefined => type?.split(/[#/]/).at(-1) || undefined;

const htmlWords = (html: string): Words => {
  const bare = html.replace(/<(script|style|title|head)\b[\s\S]*?<\/\1\s*>/gi, ' ');
  const plain = (text: string) =>
    text
      .replace(/<[^>]*>?/g, ' ')
      .replace(/\s+/g, ' ')
      .trim();
  const title = /<title[^>]*>([\s\S]*?)<\/title/i.exec(html)?.[1];
  return { title: plain(title ?? '') || 'HTML page', detail: plain(bare) || undefined };
};

/**
 * `Insufficient scope to call API. Required: <scope>`, or `Not authorized for [ …, securityVariableName: X ]`. A name
 * counts only if something follows it: at the end of a text that is cut, half a name would send people the wrong way.
 */
const missingIn = (text: string): Pick<RefusedCall, 'missing' | 'required'> => {
  const named = (pattern: RegExp): string | undefined => pattern.exec(text)?.[1]?.replace(/[.:]+$/, '');
  if (/insufficient scope/i.test(text))
    return {
      missing: 'scope',
      required: named(/required:\s*([\w.:*-]+(?:[ ,]+[\w.*-]+:[\w.:*-]+)*)(?=[^\w.:*…-])/i),
    };
  const permission = named(/securityVariableName:\s*([\w.-]+)(?=[^\w.…-])/i);
  return permission ? { missing: 'permission', required: permission } : {};
};

const withoutQuery = (location: string): string => location.replace(/[?#].*$/s, '');

const cut = (text: string, maximum: number): string =>
  text.length > maximum ? `${text.slice(0, maximum - 1)}…` : text;

/** Seconds to wait: Retry-After as a number or a date, else the rate limit's reset. */
const retryAfter = (value: string | undefined, reset: string | undefined, date: string | undefined) => {
  const number = secondsOf(value) ?? secondsUntil(value, date) ?? secondsOf(reset);
  return number === undefined ? undefined : Math.max(0, Math.ceil(number));
};

const secondsOf = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;

/** Of an HTTP date, against the answer's own Date where there is one, as our clock may differ from the platform's. */
const secondsUntil = (value: string | undefined, date: string | undefined): number | undefined => {
  if (value === undefined || !/\d:\d\d:\d\d/.test(value)) return undefined;
  const until = Date.parse(value);
  const now = Date.parse(date ?? '');
  return Number.isNaN(until) ? undefined : (until - (Number.isNaN(now) ? Date.now() : now)) / 1000;
};
