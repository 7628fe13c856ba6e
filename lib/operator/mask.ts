import { fieldName, hidden } from '../message.ts';

/** Of an event's own fields these name the message, and nobody in it. */
const plainFields = new Set(['specversion', 'id', 'source', 'type', 'time', 'sequence', 'datacontenttype']);

/** Of the data, those that the functions' schemas know. Any other number, such as a `nationalId`, may tell who somebody is. */
const ids = new Set([
  ...[
    'orgUnitId',
    'fromParentId',
    'toParentId',
    'userId',
    'roleId',
    'folderId',
    'moduleId',
    'topicId',
    'linkId',
  ],
  ...['gradeObjectId', 'gradeSchemeId', 'categoryId', 'attributeId', 'dataTypeId'],
]);

/** A message as it may be shown to anybody: its shape and its ids. Undefined: it is no JSON, so that nothing can be shown. */
export const maskedBody = (body: string): unknown => {
  const json = parse(body);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  return maskedFields(json, (name, value) => maskedField([name], value));
};

/** The value of one field of a message, by the names on the way to it. */
export const maskedField = (path: (string | number)[], value: unknown): unknown => {
  const name = String(path.at(-1) ?? '');
  const isOwn = path.length === 1 && plainFields.has(name) && typeof value === 'string';
  return isOwn ? value : maskedValue(name, value);
};

/** The platform's own words, without those that come from the message. */
export const maskedText = (text: string, body: string): string => {
  const json = parse(body);
  const words = new Set<string>();
  collect(json === undefined ? body : json, words);
  return text.normalize().replace(word, (each) => (words.has(each.toLowerCase()) ? hidden : each));
};

/** Of two letters, only what may be a name: `Li` and not `is`. */
const word = /\d+(?:\.\d+)?|[\p{L}\p{N}]{3,}|\p{Lu}\p{L}|\p{Lo}{2}/gu;
const mostWords = 10_000;

const maskedValue = (name: string, value: unknown): unknown => {
  if (value === null || value === undefined || isPlain(name, value)) return value;
  if (Array.isArray(value)) return value.map((each) => maskedValue('', each));
  return typeof value === 'object' ? maskedFields(value, maskedValue) : hidden;
};

/** Fields whose names are hidden are numbered, so that each of them stays one. */
const maskedFields = (object: object, masked: (name: string, value: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(object).map(([name, value], at) => [
      fieldName(name) === hidden ? `${hidden}${at + 1}` : name,
      masked(name, value),
    ]),
  );

/** Ids of the platform, and what tells one shape of data from another. */
const isPlain = (name: string, value: unknown): boolean =>
  ids.has(name)
    ? /^\d{1,16}$/.test(String(value)) && typeof value !== 'object'
    : ['type', 'contentType'].includes(name) && typeof value === 'string' && /^[\w.+/-]{1,60}$/.test(value);

const collect = (value: unknown, words: Set<string>, name = ''): void => {
  if (words.size > mostWords || value === null) return;
  if (Array.isArray(value)) for (const each of value) collect(each, words);
  else if (typeof value === 'object')
    for (const [key, each] of Object.entries(value)) collect(each, words, key);
  else if (!isPlain(name, value) && !plainFields.has(name))
    for (const [each] of String(value).normalize().matchAll(word)) words.add(each.toLowerCase());
};

const parse = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};
