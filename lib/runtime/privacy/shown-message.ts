import { unwrapped } from '../../message/envelope.ts';
import { fieldName, hidden } from '../../message/hidden.ts';
import { jsonIn } from '../../message/json.ts';
import { shownIds } from './shown-ids.ts';

/** Fields of the event itself that name the message, and no person. */
const plainFields = new Set(['specversion', 'id', 'source', 'type', 'time', 'sequence', 'datacontenttype']);

/** A message that may be shown to anybody: its shape and its ids, without its envelopes. Undefined if it is no JSON object. */
export const maskedBody = (body: string): unknown => {
  const json = heldIn(body);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  return maskedFields(json, (name, value) => maskedField([name], value));
};

/** The event in a text, otherwise its JSON as it is: the JSON of a notice names no event, and is hidden as any other. */
const heldIn = (body: string): unknown => {
  const json = jsonIn(body);
  const unwrappedEvent = unwrapped(json);
  return 'event' in unwrappedEvent ? unwrappedEvent.event : json;
};

/** The value of one field of a message, given its path. */
export const maskedField = (path: (string | number)[], value: unknown): unknown => {
  const name = String(path.at(-1));
  return path.length === 1 && isOwn(name, value) ? value : maskedValue(name, value);
};

/** In an event that is not valid, these fields may hold sentences. */
const isOwn = (name: string, value: unknown): boolean =>
  plainFields.has(name) && typeof value === 'string' && /^\S*(?:; \S+)*$/.test(value);

const maskedValue = (name: string, value: unknown): unknown => {
  if (value === null || value === undefined || isPlain(name, value)) return value;
  if (Array.isArray(value)) return value.map((each) => maskedValue('', each));
  return typeof value === 'object' ? maskedFields(value, maskedValue) : hidden;
};

/** Fields whose names are hidden are numbered, so that no two of them have the same name. */
const maskedFields = (object: object, masked: (name: string, value: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(object).map(([name, value], at) => [
      fieldName(name) === hidden ? `${hidden}${at + 1}` : name,
      masked(name, value),
    ]),
  );

/**
 * Ids of the platform, if they are numbers, and the fields that determine the shape of the data. An object may have a `toString`
 * that is no function.
 */
const isPlain = (name: string, value: unknown): boolean =>
  shownIds.has(name)
    ? typeof value !== 'object' && /^-?\d{1,16}$/.test(String(value))
    : ['type', 'contentType'].includes(name) && typeof value === 'string' && /^[\w.+/-]{1,60}$/.test(value);

/** Every text and every number that `maskedBody` hides; the whole body if it is no JSON. */
export const hiddenIn = (body: string): string[] => {
  const json = heldIn(body);
  if (json === undefined) return [body];
  const texts: string[] = [];
  const collect = (value: unknown, name: string, isTop = false): void => {
    if (value === null) return;
    if (typeof value === 'object')
      for (const [key, each] of Object.entries(value)) {
        if (fieldName(key) === hidden) texts.push(key);
        if (!isTop || !isOwn(key, each)) collect(each, key);
      }
    else if (!isPlain(name, value)) texts.push(String(value));
  };
  collect(json, '', true);
  return texts;
};
