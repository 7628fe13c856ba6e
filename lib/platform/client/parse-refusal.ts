import { jsonIn, readJson } from '../../message/json.ts';
import { ownText, type SafeText, safe } from '../../message/safe-text.ts';
import { type HttpAnswer, isSuccess, maxErrorBytes } from '../../runtime/aws/receive-answer.ts';
import { redact } from '../../runtime/privacy/request-secrets.ts';
import { withoutQuery } from '../../runtime/privacy/secrets.ts';
import { hasTags, piecesOf } from './html.ts';
import { anchorOf, type ErrorWords, errorWords, likenessToError } from './json-error.ts';
import { isInvalidToken, isTimestampOutOfRange, type RefusedCall } from './platform-error.ts';

const maxDetail = 2_000;

type RawAnswer = Pick<HttpAnswer, 'status' | 'headers' | 'text'> & { cutOff?: boolean };

/** The words of an answer; `status` is that in the error's body. */
type Words = Omit<ErrorWords, 'form'> & Pick<RefusedCall, 'form'>;

/**
 * Parses any answer that is not the declared success, whatever its status: both JSON forms, plain text, HTML, nothing, an
 * incomplete text, a redirect. `sensitiveValues` are those of the request: no text may repeat them.
 */
export const parseRefusal = (answer: RawAnswer, sensitiveValues: string[] = []): RefusedCall => {
  const header = (name: string): string | undefined => [answer.headers[name] ?? []].flat()[0];
  const contentType = header('content-type') ?? '';
  const said = wordsIn(answer, contentType, header('location'));
  const clean = (text: string | undefined, maximum: number): string | undefined =>
    // Shortened before secrets are searched for, as the search takes time.
    text === undefined ? undefined : redact(excerpt(text, maximum), sensitiveValues, maximum);
  const title = clean(said.title, 200);
  const detail = clean(said.detail, maxDetail);
  const status = isSuccess(answer.status) ? (said.status ?? answer.status) : answer.status;
  const rateLimitReset = status === 429 ? header('x-rate-limit-reset') : undefined;
  return {
    status,
    ...(status === answer.status ? {} : { sentAs: answer.status }),
    form: said.form ?? 'nothing',
    contentType: typeIn(contentType),
    type: clean(said.type, 100),
    title,
    detail,
    ...missingIn([title, detail].filter(Boolean).join(' ') + (answer.cutOff ? '' : '\n')),
    ...(answer.cutOff ? { cutOff: true } : {}),
    requestId: clean(header('x-request-id') ?? header('x-correlation-id'), 200),
    retryAfterSeconds: retryAfter(header('retry-after'), rateLimitReset, header('date')),
  };
};

const wordsIn = (answer: RawAnswer, contentType: string, location: string | undefined): Words => {
  const { status } = answer;
  const text = answer.text.trim();
  if (status >= 300 && status < 400)
    return {
      form: 'redirect',
      title: 'Redirect',
      detail: location ? `to ${withoutQuery(location)}` : 'to nowhere',
    };
  if (text === '') return { form: 'nothing' };
  if (text.startsWith('{') || (/json/i.test(contentType) && !text.startsWith('<'))) return jsonWords(text);
  // Some plain sentences, such as the one about the timestamp, are labelled as HTML, so the text itself decides. No success of
  // the API is labelled as HTML.
  if (hasTags(text.slice(0, maxErrorBytes)) || (isSuccess(status) && /html/i.test(contentType)))
    return { form: 'page', ...htmlWords(text.slice(0, maxErrorBytes)) };
  const [first = '', ...rest] = text.slice(0, maxErrorBytes).split(/\r?\n/);
  return { form: 'text', title: first, detail: rest.length > 0 ? text : undefined };
};

const jsonWords = (text: string): Words => {
  const read = readJson(text);
  if ('flaw' in read) {
    const start = text.slice(0, maxErrorBytes);
    const type = anchorOf(fieldIn(start, /"type"\s*:\s*"([^"\\]+)"/));
    const title = fieldIn(start, /"title"\s*:\s*"([^"\\]+)"/) ?? 'Unreadable JSON';
    return { form: type === undefined ? 'text' : 'error', type, title, detail: start };
  }
  const { json } = read;
  if (typeof json !== 'object' || json === null) return { form: 'text', detail: String(json) };
  return errorWords(json);
};

/** Whether an answer is an error beyond doubt, whatever its status. */
export const isKnownError = (answer: RawAnswer): boolean => {
  if (likenessToError(jsonIn(answer.text.trim())) === 'certain') return true;
  const refused = parseRefusal(answer);
  return isInvalidToken(refused) || isTimestampOutOfRange(refused);
};

/** A field of JSON that is cut off. */
const fieldIn = (json: string, field: RegExp): string | undefined => field.exec(json)?.[1];

const htmlWords = (html: string): Words => {
  let title = '';
  const words: string[] = [];
  for (const piece of piecesOf(html)) {
    if ('within' in piece) title ||= piece.within === 'title' ? singleSpaced(piece.text) : '';
    // The rest of a tag that was cut off is not a word.
    else if ('text' in piece) words.push(piece.text.replace(/<[a-z/!?].*$/is, ''));
  }
  return { title: title || 'HTML page', detail: singleSpaced(words.join(' ')) || undefined };
};

const singleSpaced = (text: string): string => text.replace(/\s+/g, ' ').trim();

/**
 * `Insufficient scope to call API. Required: <scope>`, or `Not authorized for [ …, securityVariableName: X ]`. A name
 * counts only if something follows it: at the end of a text that is cut off, it may be half a name.
 */
const missingIn = (text: string): Pick<RefusedCall, 'missing' | 'required'> => {
  if (/insufficient scope|no scopes? defined/i.test(text))
    return {
      missing: 'scope',
      // Each piece is searched at its beginning alone: the word may be repeated.
      required: text
        .split(/required:/i)
        .slice(1)
        .map((piece) => nameIn(/^\s*([\w.:*-]+(?:[ ,]+[\w.*-]+:[\w.:*-]+)*)(?=[^\w.:*…-])/, piece))
        .find((name) => name !== undefined),
    };
  const permission = nameIn(/securityVariableName:\s*([\w.-]+)(?=[^\w.…-])/i, text);
  return permission ? { missing: 'permission', required: permission } : {};
};

const nameIn = (pattern: RegExp, text: string): string | undefined =>
  pattern.exec(text)?.[1]?.replace(/(?<![.:])[.:]+$/, '');

/** The names of content types. Any other text in one, such as its parameters, may repeat the request. */
export const typeIn = (contentType: string): SafeText | undefined => {
  const [, type = '', subtype = ''] =
    /^([a-z]{1,15})(?![\w.+-])(?:\/([\w.+-]{1,30})(?![\w.+-]))?/i.exec(contentType) ?? [];
  if (!types.has(type.toLowerCase())) return contentType === '' ? undefined : safe`an unknown content type`;
  return ownText(subtypes.has(subtype.toLowerCase()) ? `${type}/${subtype}` : type);
};

const types = new Set('application audio font image message model multipart text video'.split(' '));
const subtypes = new Set(
  (
    'html plain csv css javascript xml json problem+json problem+xml xhtml+xml soap+xml vnd.api+json octet-stream pdf zip gzip ' +
    'x-www-form-urlencoded form-data mixed png jpeg gif webp svg+xml x-ndjson event-stream'
  ).split(' '),
);

/** Words that decide about the failure's kind: they are kept, wherever they stand in a long page. */
const tellingWords =
  /(?:invalid|expired)(?:\s|&nbsp;|[_-]){0,4}token|token (?:is |has )?(?:invalid|expired)|timestamp out of range|insufficient scope|no scopes? defined|securityVariableName/i;

const excerpt = (text: string, maximum: number): string => {
  const start = text.slice(0, maxErrorBytes);
  const at = start.length > maximum ? start.search(tellingWords) : -1;
  return at < maximum / 2 ? start : `…${start.slice(at)}`;
};

/** Seconds to wait: Retry-After as a number or a date, otherwise the rate limit's reset. */
const retryAfter = (value: string | undefined, reset: string | undefined, date: string | undefined) => {
  const number = secondsOf(value) ?? secondsUntil(value, date) ?? secondsOf(reset);
  return number === undefined ? undefined : Math.max(0, Math.ceil(number));
};

const secondsOf = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;

/** Until an HTTP date, counted from the answer's own Date header if there is one, as our clock may differ. */
const secondsUntil = (value: string | undefined, date: string | undefined): number | undefined => {
  if (value === undefined || !/\d:\d\d:\d\d/.test(value)) return undefined;
  const until = Date.parse(value);
  const now = Date.parse(date ?? '');
  return Number.isNaN(until) ? undefined : (until - (Number.isNaN(now) ? Date.now() : now)) / 1000;
};
