import { nestingOf } from './platform/json.ts';

/**
 * JSON of others is read no deeper. The deepest message that a function takes has five levels; and what has 64 is far from the
 * thousands at which whatever walks it by calling itself, such as zod and `JSON.stringify`, runs out of stack.
 */
const mostLevels = 64;

export const tooDeep = `is nested deeper than ${mostLevels} levels`;

type Reading = { json: unknown } | { problem: string };

/** The JSON that a text of others is, or why it is not read. */
export const readJson = (text: string): Reading => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { problem: 'is not JSON' };
  }
  return isTooDeep(text) ? { problem: tooDeep } : { json };
};

/** The same; undefined where it is not read. */
export const jsonIn = (text: string): unknown => {
  const read = readJson(text);
  return 'json' in read ? read.json : undefined;
};

/** Whether a text is JSON, however deep. */
export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Of JSON alone. It costs next to nothing where there are few brackets, as in every message that is taken. */
const isTooDeep = (text: string): boolean =>
  countOf('{', text) + countOf('[', text) > mostLevels && nestingOf(text).deepest > mostLevels;

/** Counts no further than is of interest. */
const countOf = (bracket: string, text: string): number => {
  let count = 0;
  for (let at = text.indexOf(bracket); at >= 0 && count <= mostLevels; at = text.indexOf(bracket, at + 1))
    count += 1;
  return count;
};
