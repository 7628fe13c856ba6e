import * as z from 'zod';
import { piecesOf } from './html.ts';

/** Text as the platform gives it; submissions and news take it in this form as well. */
export const richText = z.looseObject({ Text: z.string().nullish(), Html: z.string().nullish() });

export type RichText = z.infer<typeof richText>;

/** Text as grades and descriptions take it, to be told from `{Text,Html}`, the form in which the same text is read. */
export type TextContent = { Content: string; Type: 'Text' | 'Html' };

export const textContent = (text: string): TextContent => ({ Content: text, Type: 'Text' });

/** A setting that was read, in the form in which it goes back: texts are read in one form and taken in another. */
export const asTaken = (setting: unknown): unknown => {
  const isText = typeof setting === 'object' && setting !== null && ('Text' in setting || 'Html' in setting);
  const text = isText ? richText.safeParse(setting).data : undefined;
  return text ? contentOf(text) : setting;
};

/** With its markup, where it has any. */
const contentOf = (text: RichText): TextContent =>
  text.Html ? { Content: text.Html, Type: 'Html' } : textContent(text.Text ?? '');

/** The words of a text. Of one that has HTML alone, the words between its tags: an empty one is often an empty paragraph. */
export const plainText = async (text: RichText | null | undefined): Promise<string> =>
  text?.Text || wordsOf(text?.Html ?? '');

const wordsOf = async (html: string): Promise<string> => {
  const written = Array.from(piecesOf(html), (piece) =>
    'text' in piece ? piece.text : /^(br|\/(p|div|li))$/.test(piece.tag) ? '\n' : '',
  ).join('');
  // Loaded when first needed: few comments have HTML alone.
  const { decodeHTML } = await import('entities/decode');
  return decodeHTML(written).replaceAll('\u00a0', ' ').trim();
};
