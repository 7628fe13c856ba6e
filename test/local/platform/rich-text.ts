import * as z from 'zod';
import type { Comment } from './state.ts';

/** Text goes in as `{Content, Type}` where grades and descriptions are concerned … */
export const richTextBody = z.object({ Content: z.string(), Type: z.enum(['Text', 'Html']) });
export const richText = richTextBody.transform(
  ({ Content: content, Type: type }): Comment => ({ content, type }),
);

/** … and always comes out as `{Text, Html}`. */
export const richTextOut = ({ content, type }: Comment) =>
  type === 'Html' ? { Text: content.replace(/<[^>]*>/g, ''), Html: content } : { Text: content, Html: null };
