import { type Check, object, oneOf, string } from './http/bind.ts';
import { bindingError } from './http/refusal.ts';
import type { Comment } from './state.ts';

const commentLimit = 4000;

/** Text goes in as `{Content, Type}` where grades and descriptions are concerned … */
export const richTextIn: Check<Comment> = (value, where) => {
  const { Content, Type } = object({ Content: string, Type: oneOf('Text', 'Html') })(value, where);
  return { content: Content, type: Type };
};

export const commentIn: Check<Comment> = (value, where) => {
  const comment = richTextIn(value, where);
  if (comment.content.length > commentLimit)
    throw bindingError(`${where} exceeds ${commentLimit} characters`);
  return comment;
};

/** … and always comes out as `{Text, Html}`. */
export function richTextOut({ content, type }: Comment) {
  return type === 'Html'
    ? { Text: content.replace(/<[^>]*>/g, ''), Html: content }
    : { Text: content, Html: null };
}
