import { ownText, type SafeText } from '../../message/safe-text.ts';

/** Imported, `node:http` evaluates all that it exports, such as Node's undici and HTTP/2: a third of a command's start. */
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** The content of an error in JSON. */
export type ErrorWords = {
  /** `error`: one of the API's own forms; `fault`: an error in another form; `json`: no known form. */
  form: 'error' | 'fault' | 'json';
  status?: number | undefined;
  /** The anchor of a problem's type. */
  type?: string | undefined;
  title?: string | undefined;
  detail?: string | undefined;
};

/**
 * `certain`: it is an error. `likely`: it has fields of errors, which some successes have as well; it is an error if the expected
 * fields are missing.
 */
export type Likeness = 'certain' | 'likely';

export const likenessToError = (value: unknown): Likeness | undefined => {
  if (Array.isArray(value)) return value.length > 0 ? likenessOfAll(value) : undefined;
  if (typeof value === 'number') return statusIn(value) ? 'likely' : undefined;
  if (!isObject(value)) return undefined;
  const fields = known(value);
  const isList = Array.isArray(fields.errors) && Object.keys(value).length === 1;
  if (isList || isNo(fields.success) || errorNames.some((name) => says(fields[name]))) return 'certain';
  if (statusIn(fields.status ?? fields.statuscode) || isProblem(fields) || isMessage(value, fields))
    return 'certain';
  const failed = /^(error|fail|reject|denied|refused|invalid)/i.test(stringOf(fields.status) ?? '');
  const isLikely = failed || statusIn(fields.code) || likelyNames.some((name) => says(fields[name]));
  return isLikely ? 'likely' : undefined;
};

const isNo = (value: unknown): boolean => value === false || /^(false|no)$/i.test(stringOf(value) ?? '');

const errorNames = ['error', 'errors', 'fault', 'exception', 'exceptionmessage', 'modelstate'];
const likelyNames = ['message', 'detail', 'reason'];

/** The least certain of all. */
const likenessOfAll = (values: unknown[]): Likeness | undefined => {
  let least: Likeness = 'certain';
  for (const each of values) {
    const likeness = Array.isArray(each) ? undefined : likenessToError(each);
    if (likeness === undefined) return undefined;
    if (likeness === 'likely') least = likeness;
  }
  return least;
};

/** The words of any JSON that is not a success. */
export const errorWords = (value: object): ErrorWords => {
  const likeness = likenessToError(value);
  if (Array.isArray(value) && likeness) return wordsOfAll(value.slice(0, maxPieces));
  const fields = known(value);
  const { errors, error } = fields;
  const ownTitle = stringOf(fields.title) ?? stringOf(error);
  const title = ownTitle ?? (says(errors) || Array.isArray(errors) ? 'Errors' : undefined);
  const main = [fields.detail, fields.error_description, fields.message];
  const { messagedetail, reason, modelstate, fault, exception, exceptionmessage } = fields;
  const others = [messagedetail, reason, errors, isObject(error) && error];
  const texts = [...main, ...others, modelstate, fault, exception, exceptionmessage];
  const isDescribed = title !== undefined || main.some((each) => stringOf(each) !== undefined);
  return {
    form: isOfApi(fields) ? 'error' : likeness ? 'fault' : 'json',
    status: statusIn(fields.status ?? fields.statuscode) ?? statusIn(fields.code),
    type: anchorOf(stringOf(fields.type)),
    title,
    // Serialized again, without escapes: names are searched for in their plain form.
    detail: isDescribed ? joined(texts) : JSON.stringify(value),
  };
};

const wordsOfAll = (values: object[]): ErrorWords => {
  const all = values.map(errorWords);
  const isOfApi = all.every(({ form }) => form === 'error');
  const { title = 'Errors', ...first } = all[0] ?? {};
  return {
    ...first,
    form: isOfApi ? 'error' : 'fault',
    title,
    detail: joined(all.map(({ detail }) => detail)),
  };
};

/** More than a letter can hold. */
const maxPieces = 1_000;

const joined = (values: unknown[]): string | undefined => {
  const pieces = new Set<string>();
  const gather = (value: unknown, name = ''): void => {
    if (pieces.size >= maxPieces) return;
    const text = stringOf(value);
    if (text !== undefined) pieces.add(name === '' || messageName.test(name) ? text : `${name}: ${text}`);
    else if (Array.isArray(value)) for (const each of value.slice(0, maxPieces)) gather(each, name);
    else if (isObject(value)) for (const [each, within] of Object.entries(value)) gather(within, each);
  };
  for (const value of values) gather(value);
  return [...pieces].join('; ') || undefined;
};

const messageName = /^(error_?)?(message|detail|description|text|reason)s?$/i;

/** The forms in which the API itself writes errors: a list of them, or a problem. */
const isOfApi = ({ errors, type, title, status, detail }: Record<string, unknown>): boolean =>
  Array.isArray(errors) ||
  [stringOf(type), stringOf(title), statusIn(status), stringOf(detail)].filter(Boolean).length > 1;

const isProblem = ({ title, type }: Record<string, unknown>): boolean =>
  stringOf(title) !== undefined && /[#/:]/.test(stringOf(type) ?? '');

/** The fields that identify an error, whatever their case. */
const known = (value: object): Record<string, unknown> => {
  const found: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value))
    if (errorFields.test(name)) found[name.toLowerCase()] = each;
  return found;
};

const errorFields =
  /^(errors?|error_description|fault|exception(message)?|modelstate|success|status(code)?|code|type|title|detail|message(detail)?|reason)$/i;

/** `{"Message":"An error has occurred."}` and nothing else, but for details for developers. */
const isMessage = (value: object, { message }: Record<string, unknown>): boolean =>
  stringOf(message) !== undefined &&
  Object.keys(value).every((name) => /^(message(detail)?|exception(message|type)|stacktrace)$/i.test(name));

/** The status as a number, in words, or in an object: 403, `403 Forbidden`, `Forbidden`, `{"code":403}`. */
const statusIn = (value: unknown): number | undefined => {
  if (isObject(value) && !Array.isArray(value)) {
    const { code, status } = known(value);
    return isObject(code ?? status) ? undefined : statusIn(code ?? status);
  }
  const text = stringOf(value) ?? '';
  const status =
    typeof value === 'number'
      ? value
      : Number(statuses.get(text.toLowerCase()) ?? /^\d{3}\b/.exec(text)?.[0]);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
};

const statuses = new Map(
  Object.entries(STATUS_CODES).map(([status, reason = '']) => [reason.toLowerCase(), status]),
);

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const says = (value: unknown): boolean => (isObject(value) ? Object.keys(value).length > 0 : Boolean(value));

const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

export const anchorOf = (type: string | undefined): string | undefined =>
  type?.split(/[#/]/).at(-1) || undefined;

const simple = (name: string): string => name.toLowerCase().replace(/[\s-]+/g, ' ');

/** The names of errors in HTTP and in the API's documentation. */
const knownNames = new Map(
  [
    ...Object.values(STATUS_CODES),
    'JSON Binding Error',
    'Invalid Parameters',
    'Invalid Token',
    'Expired Token',
    'Not Authorized',
    'Resource Not Found',
    'Internal Error',
    'Access Denied',
    'Request Rejected',
    'Redirect',
    'Errors',
  ].map((name = '') => [simple(name), ownText(name)]),
);

/** The known name of an error in its title or type. Any other text may be about a person, and is not logged. */
export const errorNameIn = (text = ''): SafeText | undefined =>
  text.length > 60 ? undefined : knownNames.get(simple(text).replace(/^\d{3} /, ''));
