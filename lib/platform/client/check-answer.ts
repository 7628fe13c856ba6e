import { readJson } from '../../message/json.ts';
import { ownText, type SafeText, safe, safeList } from '../../message/safe-text.ts';
import { type HttpAnswer, isSuccess } from '../../runtime/aws/receive-answer.ts';
import { shapeOf } from '../../runtime/privacy/json-shape.ts';
import { likenessToError } from './json-error.ts';
import { isFileAnswer, type Operation } from './operation.ts';
import { parseRefusal } from './parse-refusal.ts';
import { type CallFacts, PlatformError, type RefusedCall } from './platform-error.ts';
import type { CallInput } from './request.ts';
import { respelled } from './respell.ts';

export type SentCall<Result> = {
  operation: Operation<Result>;
  call: CallFacts['call'];
  input: CallInput;
  /** Values of the request that no error may repeat. */
  sensitiveValues(): string[];
};

/**
 * The result of the operation's declared success. No error with status 200, no page, and no answer about another resource is one.
 * @throws PlatformError
 */
export const resultOf = <Result>(sent: SentCall<Result>, answer: HttpAnswer): Result => {
  if (!isSuccess(answer.status)) throw refusal(sent, answer);
  if (answer.cutBy !== undefined) throw answer.cutBy;
  const { answer: declared } = sent.operation;
  const text = answer.text.trim();
  const flaw = (message: SafeText, detail?: string) => unexpected(sent, answer, { message, detail });
  if (answer.isTooLong) throw flaw(safe`is too long`);
  const done = (result: unknown): Result => {
    if (doneStatuses.has(answer.status)) return result as Result;
    throw flaw(safe`is ${answer.status}, which does not confirm that the change was made`);
  };
  if (text === '' && declared === 'acknowledged') return done(undefined);
  if (isFileAnswer(declared)) throw noFile(sent, answer);
  if (text === '') throw flaw(safe`carries nothing`);
  const read = readJson(text);
  if ('flaw' in read && read.flaw === 'not JSON') throw refusal(sent, answer);
  if ('flaw' in read)
    throw read.flaw === 'cut off'
      ? cutOff(sent)
      : flaw(read.flaw === 'too deep' ? safe`is nested too deep` : read.problem);
  const { json: value } = read;
  const likeness = likenessToError(value);
  if (likeness === 'certain' || isWords(value)) throw refusal(sent, answer);
  const wanted = requestedValuesOf(sent);
  const other = otherThan(wanted, value);
  if (other !== undefined) throw flaw(safe`is about another ${other} than requested`);
  const parsed = declared === 'acknowledged' ? undefined : declared.safeParse(respelled(declared, value));
  if (parsed?.success) return done(parsed.data);
  if (likeness === 'likely') throw refusal(sent, answer);
  if (parsed === undefined && isHarmless(wanted, value)) return done(undefined);
  const came = `came: ${shapeOf(value)}; expected: `;
  if (parsed === undefined) throw flaw(safe`has an unknown form`, `${came}nothing, or what was asked for`);
  const lacking = parsed.error.issues.slice(0, 20).map(({ path, ...issue }) => ({
    // It is the schema's name, not the answer's.
    name: ownText(path.join('.') || 'the whole'),
    type: 'expected' in issue ? issue.expected : issue.code,
  }));
  throw flaw(
    safe`lacks required fields: ${safeList(lacking.map(({ name }) => name))}`,
    came + lacking.map(({ name, type }) => `${name} (${type})`).join(', '),
  );
};

/** Without 202, which only promises, and 206, which is a part. */
const doneStatuses = new Set([200, 201, 203, 204, 205]);

/** A JSON string is treated like plain text. */
const isWords = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

/** A success that is not the file it should be. */
const noFile = (sent: SentCall<unknown>, answer: HttpAnswer): PlatformError => {
  const { contentType = safe`no content type`, form } = refusedCallOf(sent, answer);
  const isSaid = /^(error|fault|page)$/.test(form ?? '') || (form === 'text' && contentType === 'text/plain');
  if (isSaid) return refusal(sent, answer);
  const { answer: declared } = sent.operation;
  const expected = isFileAnswer(declared) ? `; expected: 200 with ${declared.file.source}` : '';
  const message = safe`is ${answer.status} with ${contentType}`;
  return unexpected(sent, answer, { message, detail: `the answer ${message}${expected}` });
};

const cutOff = ({ operation, call }: SentCall<unknown>): PlatformError =>
  new PlatformError({ operation, call, sent: true, message: safe`cut off before the answer was complete` });

const refusedCallOf = (sent: SentCall<unknown>, answer: HttpAnswer): RefusedCall =>
  parseRefusal({ ...answer, cutOff: answer.cutBy !== undefined }, sent.sensitiveValues());

/** The body decides: a success in unknown words may be an error. */
const refusal = (sent: SentCall<unknown>, answer: HttpAnswer): PlatformError => {
  const { operation, call } = sent;
  const refused = refusedCallOf(sent, answer);
  const unexpected = isSuccess(refused.status) && (refused.form === 'text' || refused.form === 'json');
  const message = unexpected
    ? safe`the answer is in words that match no known error`
    : safe`answered with ${answer.status}`;
  return new PlatformError({ operation, call, refused, sent: true, unexpected, message });
};

/** The error names fields and types of the answer, and the expected ones, but no value. */
const unexpected = (
  sent: SentCall<unknown>,
  answer: HttpAnswer,
  { message, detail = `the answer ${message}` }: { message: SafeText; detail?: string | undefined },
): PlatformError => {
  const { operation, call } = sent;
  const about = refusedCallOf(sent, { ...answer, text: '' });
  return new PlatformError({
    operation,
    call,
    refused: { ...about, form: 'shape', title: 'Unexpected Answer', detail: detail.slice(0, maxDetail) },
    sent: true,
    unexpected: true,
    message: safe`the answer ${message}`,
  });
};

const maxDetail = 2_000;

/** The values of the request, by the answer's names for them, in lower case. */
type RequestedValues = {
  /** Ids, and the numbers and texts of the request's body. */
  words: Map<string, string>;
  /** Names of the body's fields: an answer that has null there did not accept them. */
  set: Set<string>;
};

const requestedValuesOf = ({ operation, input }: SentCall<unknown>): RequestedValues => {
  const { path = {}, query = {}, json } = input;
  const body = typeof json === 'object' && json !== null ? json : {};
  const repeated = Object.entries(operation.repeats ?? {}).map(([name, placeholder]) => [
    name,
    path[placeholder],
  ]);
  const words = new Map<string, string>();
  for (const [name = '', word] of [...Object.entries({ ...query, ...body, ...path }), ...repeated])
    if (wordIn(word) !== undefined) words.set(String(name).toLowerCase(), wordIn(word) ?? '');
  return { words, set: new Set(Object.keys(body).map((name) => name.toLowerCase())) };
};

const wordIn = (value: unknown): string | undefined =>
  typeof value === 'number' || (typeof value === 'string' && value !== '')
    ? String(value).toLowerCase()
    : undefined;

const isId = (name: string): boolean => /id(entifier)?$/i.test(name);

/** The name of an id in the answer, or in a row of its list, that differs from the one asked for. The request has the same name. */
const otherThan = ({ words, set }: RequestedValues, value: unknown): SafeText | undefined => {
  if (words.size === 0) return undefined;
  for (const row of rowsOf(value)) {
    if (typeof row !== 'object' || row === null) continue;
    for (const [name, id] of Object.entries(row)) {
      const wanted = isId(name) ? words.get(name.toLowerCase()) : undefined;
      const isUnset = (id === null || id === '') && set.has(name.toLowerCase());
      if (wanted !== undefined && (wordIn(id) ?? wanted) !== wanted) return ownText(name);
      if (wanted !== undefined && isUnset) return ownText(name);
    }
  }
  return undefined;
};

/** JSON that acknowledges: it is empty, or about what was asked for, or has or is the id of what was created. */
const isHarmless = ({ words }: RequestedValues, value: unknown): boolean =>
  (typeof value === 'number' && value > 0) ||
  (value !== false && typeof value !== 'number' && typeof value !== 'object') ||
  isEmpty(value) ||
  rowsOf(value).every(
    (row) =>
      typeof row === 'object' &&
      row !== null &&
      Object.entries(row).some(([name, each]) => {
        const word = wordIn(each);
        return (
          word !== undefined && (/^id(entifier)?$/i.test(name) || words.get(name.toLowerCase()) === word)
        );
      }),
  );

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' ? Object.values(value ?? {}).every(isEmpty) : value === undefined || value === '';

const rowsOf = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value;
  const listed = Object.entries(Object(value)).find(([name]) => /^(items|objects)$/i.test(name))?.[1];
  return Array.isArray(listed) ? listed : [value];
};
