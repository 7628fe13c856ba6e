import { type Envelope, unwrapped } from '../../../message/envelope.ts';
import { readJson, readJsonWithPlace } from '../../../message/json.ts';
import { eventFields, fieldOf } from '../../../message/message.ts';
import { maskedText } from '../../../runtime/privacy/platform-words.ts';
import { maskedField } from '../../../runtime/privacy/shown-message.ts';
import { RefusedError } from '../../../stage/command-errors.ts';

/** A change to a message's JSON, as in `data.grade.points=7`, or a removal, as in `data.gradde`. */
export type MessageEdit = { path: string[]; value?: unknown };

/** The text to edit. If the event is wrapped in envelopes, only the event: no function needs the envelopes. */
const editedAs = (body: string): { json: unknown; envelopes: readonly Envelope[] } | { problem: string } => {
  const read = readJsonWithPlace(body);
  if ('problem' in read) return read;
  const unwrappedEvent = unwrapped(read.json);
  return 'event' in unwrappedEvent
    ? { json: unwrappedEvent.event, envelopes: unwrappedEvent.envelopes }
    : { json: read.json, envelopes: [] };
};

/** The event with its changes, without its envelopes. @throws RefusedError if the event has no such place. */
export const changed = (body: string, changes: MessageEdit[]): string => {
  const read = editedAs(body);
  if ('problem' in read)
    throw new RefusedError(
      `The message ${read.problem}, so its fields cannot be set. Open it in an editor, without --set.`,
      { inBrowser: `The message ${read.problem}, so its fields cannot be set.` },
    );
  const { json } = read;
  for (const { path } of changes) checkTop(json, path);
  for (const { path, ...change } of changes) {
    const last = path.at(-1) ?? '';
    const parent = path.slice(0, -1).reduce((at, part) => inside(at, part, { path, ...change }), json);
    if (typeof parent !== 'object' || parent === null)
      throw new RefusedError(
        `The message has no field ${path.slice(0, -1).join('.')} that could hold ${last}.`,
      );
    const fields = parent as Record<string, unknown>;
    if ('value' in change) fields[last] = change.value;
    else if (!Object.hasOwn(fields, last))
      throw new RefusedError(`The message has no field ${path.join('.')}.`);
    else if (Array.isArray(fields)) fields.splice(Number(last), 1);
    else delete fields[last];
  }
  return JSON.stringify(json);
};

/** The event as it was saved in an editor, which shows it indented. If nothing was edited, the body stays the same, byte for byte. */
export const changedInEditor = async (
  body: string,
  edit: (text: string) => Promise<string>,
): Promise<string> => {
  const before = editedAs(body);
  const shown = 'json' in before ? `${JSON.stringify(before.json, null, 2)}\n` : body;
  const saved = await edit(shown);
  // An editor may append a line break.
  if (saved.trimEnd() === shown.trimEnd()) return body;
  const after = readJson(saved);
  return 'json' in after ? JSON.stringify(after.json) : saved;
};

/**
 * Functions ignore an attribute that they do not know: a field outside of `data` would be sent, and change nothing.
 * @throws RefusedError if a path begins with a field that the event does not have, and that no event has.
 */
const checkTop = (json: unknown, path: readonly string[]): void => {
  const [top = ''] = path;
  if (eventFields.has(top) || (typeof json === 'object' && json !== null && Object.hasOwn(json, top))) return;
  throw new RefusedError(`The message has no field ${top}. Did you mean data.${path.join('.')}?`);
};

const inside = (at: unknown, part: string, { path, ...change }: MessageEdit): unknown => {
  if (typeof at === 'object' && at !== null) {
    const fields = at as Record<string, unknown>;
    const isMissing = !Object.hasOwn(fields, part) && !Array.isArray(at);
    // What is missing or `null` becomes an object; the function's schema reports a wrong name, and what else the object needs.
    if ('value' in change && (isMissing || fields[part] === null)) fields[part] = {};
    if (Object.hasOwn(fields, part)) return fields[part];
  }
  throw new RefusedError(`The message has no field ${path.slice(0, -1).join('.')}.`);
};

export type Difference = { field: string; before: unknown; after: unknown };

/**
 * The differences, field by field; `undefined` for a missing field. Personal data are masked unless revealed. `isTyped`: the reader
 * has typed the new values.
 */
export const differences = (
  before: string,
  after: string,
  { reveal, isTyped = true }: { reveal: boolean; isTyped?: boolean },
): Difference[] => {
  const [old, fresh] = [fieldsIn(before), fieldsIn(after)];
  const [was, is] = [envelopesOf(before), envelopesOf(after)];
  const ofEnvelopes = was === is ? [] : [{ field: 'the envelope', before: was, after: is }];
  const ofFields = [...new Map([...old, ...fresh])]
    .filter(([field]) => old.get(field)?.value !== fresh.get(field)?.value)
    .map(([field, { path }]) => {
      const [was, is] = [old.get(field)?.value, fresh.get(field)?.value];
      if (reveal) return { field, before: was, after: is };
      const place = path.length === 0 ? field : fieldOf(path);
      if (!isTyped) return { field: place, before: maskedField(path, was), after: maskedField(path, is) };
      // The operator typed the new value and may see it, but no personal data that the message held before.
      const masked = maskedText(String(is), before);
      return {
        field: place,
        before: maskedField(path, was),
        after: is === maskedField(path, is) || masked === String(is) ? is : masked,
      };
    });
  return [...ofEnvelopes, ...ofFields];
};

const envelopesOf = (body: string): string | undefined => {
  const read = editedAs(body);
  return 'json' in read ? read.envelopes.join(', ') || undefined : undefined;
};

type ValueAtPath = { path: (string | number)[]; value: unknown };

const pathText = (path: ValueAtPath['path']): string =>
  path.map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${part}`)).join('') ||
  'the whole message';

const fieldsIn = (body: string): Map<string, ValueAtPath> => {
  const fields = new Map<string, ValueAtPath>();
  const collect = (value: unknown, path: ValueAtPath['path']): void => {
    if (typeof value !== 'object' || value === null) fields.set(pathText(path), { path, value });
    else if (Object.keys(value).length === 0)
      fields.set(pathText(path), { path, value: JSON.stringify(value) });
    else if (Array.isArray(value)) for (const [at, each] of value.entries()) collect(each, [...path, at]);
    else for (const [name, each] of Object.entries(value)) collect(each, [...path, name]);
  };
  const read = editedAs(body);
  if ('json' in read) collect(read.json, []);
  else fields.set(pathText([]), { path: [], value: body });
  return fields;
};
