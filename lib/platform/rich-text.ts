import * as z from 'zod';

/** Text as the platform gives it; submissions and news take it in this form as well. */
export const richText = z.looseObject({ Text: z.string().nullish(), Html: z.string().nullish() });

export type RichText = z.infer<typeof richText>;

/** Text as grades and descriptions take it, to be told from `{Text,Html}`, the form in which the same text is read. */
export type TextContent = { Content: string; Type: 'Text' | 'Html' };

export const textContent = (text: string): TextContent => ({ Content: text, Type: 'Text' });

/** Text that was read, in the form in which it goes back: with its markup, where it has any. */
export const contentOf = (text: RichText): TextContent =>
  text.Html ? { Content: text.Html, Type: 'Html' } : textContent(text.Text ?? '');

/** The words of a text. Of one that has HTML alone, the words between its tags: an empty one is often an empty paragraph. */
export const plainText = async (text: RichText | null | undefined): Promise<string> =>
  text?.Text || wordsOf(text?.Html ?? '');

const wordsOf = async (html: string): Promise<string> => {
  const written = html.replace(/<br\s*\/?>|<\/(p|div|li)>/gi, '\n').replace(/<[a-z/!][^>]*>/gi, '');
  // Loaded when first needed: few comments have HTML alone.
  const { decodeHTML } = await import('entities/decode');
  return decodeHTML(written).replaceAll('\u00a0', ' ').trim();
};
