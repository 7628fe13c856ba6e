import type { Answer } from './answer.ts';
import { PlatformError, type RefusedCall } from './error.ts';
import { parseJson } from './json.ts';
import { isFileAnswer, type Operation } from './operation.ts';
import { errorIn, isSuccess, parseRefusal } from './refusal.ts';
import type { CallInput } from './request.ts';
import { expectedBy, respelled, shapeOf } from './shape.ts';

/** A call as its answer is judged by it. */
export type Asked<Result> = {
  operation: Operation<Result>;
  /** `METHOD /path`, without query. */
  call: string;
  input: CallInput;
  /** Words of the request that no error may repeat. */
  unspeakable(): string[];
};

/**
 * What an answer brings, if it is the success that the operation declares. Nothing else passes for one: no error that comes
 * with status 200, no page, and nothing about another thing than was asked.
 * @throws PlatformError
 */
export const resultOf = <Result>(asked: Asked<Result>, answer: Answer): Result => {
  if (!isSuccess(answer.status)) throw refusal(asked, answer);
  if (answer.cutBy !== undefined) throw answer.cutBy;
  const { answer: declared } = asked.operation;
  const text = answer.text.trim();
  const flaw = (message: string, came?: string) => unexpected(asked, answer, { message, came });
  if (answer.isTooLong) throw flaw('is longer than is ever read');
  if (text === '' && declared === 'acknowledged') return undefined as Result;
  if (isFileAnswer(declared)) throw noFile(asked, answer);
  if (text === '') throw flaw('carries nothing');
  const json = parseJson(text);
  if ('flaw' in json && json.flaw === 'no JSON') throw refusal(asked, answer);
  if ('flaw' in json) throw json.flaw === 'cut off' ? cutOff(asked) : flaw('is nested too deep');
  const { value } = json;
  if (errorIn(value) || isWords(value)) throw refusal(asked, answer);
  const other = otherThan(asked, value);
  if (other !== undefined) throw flaw(`is about another ${other} than was asked for`);
  // Whatever else it is may be the platform's way to say that it is done, but for a no.
  if (declared === 'acknowledged' && value !== false) return undefined as Result;
  if (declared === 'acknowledged') throw flaw('says false');
  const parsed = declared.safeParse(respelled(declared, value));
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.slice(0, 20).map(({ path }) => path.join('.') || 'the whole');
  throw flaw(`lacks what it must carry: ${fields.join(', ')}`, shapeOf(value));
};

/** A text in quotes is to be read like one without. */
const isWords = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

/** A success that shall be a file and is none. */
const noFile = (asked: Asked<unknown>, answer: Answer): PlatformError => {
  const { contentType = 'what names no type', form } = wordsOf(asked, answer);
  const isSaid = form === 'error' || form === 'page' || (form === 'text' && contentType === 'text/plain');
  if (isSaid) return refusal(asked, answer);
  return unexpected(asked, answer, { message: `is ${answer.status} with ${contentType}` });
};

const cutOff = ({ operation, call }: Asked<unknown>): PlatformError =>
  new PlatformError({ operation, call, sent: true, message: 'cut off before the answer was complete' });

const wordsOf = (asked: Asked<unknown>, answer: Answer): RefusedCall =>
  parseRefusal({ ...answer, cutOff: answer.cutBy !== undefined }, asked.unspeakable());

/** What the body says decides. A success in words that are no known error may be one, or none. */
const refusal = (asked: Asked<unknown>, answer: Answer): PlatformError => {
  const { operation, call } = asked;
  const refused = wordsOf(asked, answer);
  const unexpected = isSuccess(refused.status) && refused.form !== 'error' && refused.form !== 'page';
  const message = unexpected
    ? 'the answer is in words that are no known error'
    : `answered with ${answer.status}`;
  return new PlatformError({ operation, call, refused, sent: true, unexpected, message });
};

/** Tells the names and types that came beside those that were expected: its values are nobody's business. */
const unexpected = (
  asked: Asked<unknown>,
  answer: Answer,
  { message, came }: { message: string; came?: string | undefined },
): PlatformError => {
  const { operation, call } = asked;
  const about = wordsOf(asked, { ...answer, text: '' });
  const detail = `${came === undefined ? `the answer ${message}` : `came: ${came}`}; expected: ${declaredBy(operation)}`;
  return new PlatformError({
    operation,
    call,
    refused: { ...about, form: 'json', title: 'Unexpected Answer', detail: detail.slice(0, mostDetail) },
    sent: true,
    unexpected: true,
    message: `the answer ${message}`,
  });
};

const mostDetail = 2_000;

const declaredBy = ({ answer }: Operation<unknown>): string => {
  if (answer === 'acknowledged') return 'nothing, or JSON';
  return isFileAnswer(answer) ? `200 with ${answer.file.source}` : expectedBy(answer);
};

/** Names an id that an answer repeats, of itself or of a row of a list, otherwise than it was asked for. */
const otherThan = (asked: Asked<unknown>, value: unknown): string | undefined => {
  const ids = idsOf(asked);
  if (ids.size === 0) return undefined;
  for (const row of rowsOf(value)) {
    if (typeof row !== 'object' || row === null) continue;
    for (const [name, id] of Object.entries(row)) {
      const wanted = ids.get(name.toLowerCase());
      const isId = typeof id === 'number' || (typeof id === 'string' && id !== '');
      if (wanted !== undefined && isId && String(id).toLowerCase() !== wanted) return name;
    }
  }
  return undefined;
};

/** What was asked about, by the names that an answer has for it, in small letters. */
const idsOf = ({ operation, input }: Asked<unknown>): Map<string, string> => {
  const { path = {}, query = {}, json } = input;
  const body = typeof json === 'object' && json !== null ? json : {};
  const ids = new Map<string, string>();
  for (const [name, id] of Object.entries({ ...query, ...body, ...path }))
    if (/id$/i.test(name) && (typeof id === 'number' || typeof id === 'string'))
      ids.set(name.toLowerCase(), String(id).toLowerCase());
  for (const [name, placeholder] of Object.entries(operation.repeats ?? {})) {
    const id = path[placeholder];
    if (id !== undefined) ids.set(name.toLowerCase(), String(id).toLowerCase());
  }
  return ids;
};

const rowsOf = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value;
  const listed = Object.entries(Object(value)).find(([name]) => /^(items|objects)$/i.test(name))?.[1];
  return Array.isArray(listed) ? listed : [value];
};
