import { readJsonWithPlace } from '../../../../message/json.ts';
import { UsageError } from '../../../../stage/command-errors.ts';
import type { MessageEdit } from '../../../messages/edit/change.ts';

/** The change that a `--set` names. @throws UsageError if it names no field. */
export const changeFrom = (text: string): MessageEdit => {
  const [, field = '', value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (field === '') throw new UsageError(`--set ${text} must be as in data.grade.points=7`);
  return { path: pathOf(field), value: jsonOrText(field, value ?? '') };
};

/** The change that an `--unset` names. */
export const removalOf = (field: string): MessageEdit => ({ path: pathOf(field) });

/** `data.files[0].name`, or `data.files.0.name`. */
const pathOf = (field: string): string[] => {
  const path = field
    .trim()
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.');
  if (path.some((part) => part === '' || part === '__proto__'))
    throw new UsageError(`${field} must be as in data.grade.points`);
  return path;
};

/** Parsed as JSON if possible, else text: `7`, `true`, `"7"`, `hello`. @throws UsageError if it begins as JSON and is not. */
const jsonOrText = (field: string, text: string): unknown => {
  const read = readJsonWithPlace(text);
  if ('json' in read) return read.json;
  if (!/^\s*[[{"]/.test(text)) return text;
  throw new UsageError(
    `--set ${field}: the value begins as JSON, but it ${read.problem}. Correct it, in single quotes for the shell, as in --set '${field}={"points":7}'. To set it as a text, write it as a JSON string, as in --set '${field}="[a text]"'.`,
  );
};
