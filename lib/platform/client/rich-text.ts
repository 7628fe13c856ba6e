import * as z from 'zod';
import { piecesOf } from './html.ts';

const given = z.looseObject({ Content: z.string().nullable(), Type: z.enum(['Text', 'Html']) });

/**
 * Text as the platform returns it; submissions and news also accept it in this form. Some platforms return it in the form that
 * grades accept. A text in neither form must not be taken for an empty one.
 */
export const richText = z.union([
  given,
  z
    .looseObject({ Text: z.string().nullish(), Html: z.string().nullish() })
    .refine((text) => (text.Text ?? text.Html) !== undefined || !Object.values(text).some(Boolean)),
]);

export type RichText = { Text?: string | null | undefined; Html?: string | null | undefined };

const givenOrRead = (text: z.infer<typeof richText>): RichText => {
  const { Content, Type } = given.safeParse(text).data ?? {};
  return Content === undefined ? (text as RichText) : { [Type ?? 'Text']: Content };
};

/** Text as grades and descriptions accept it; it is read in another form, `{Text,Html}`. */
export type TextContent = { Content: string; Type: 'Text' | 'Html' };

export const textContent = (text: string): TextContent => ({ Content: text, Type: 'Text' });

/** A text that was read, in the form in which it is written: as HTML if the platform shows HTML, which keeps its markup. */
export const writtenBack = (text: z.infer<typeof richText> | null | undefined): TextContent => {
  const { Text, Html } = text ? givenOrRead(text) : {};
  return Html ? { Content: Html, Type: 'Html' } : textContent(Text ?? '');
};

/** A setting that was read, in the form in which it is written. */
export const asTaken = (setting: unknown): unknown => {
  const isText = typeof setting === 'object' && setting !== null && ('Text' in setting || 'Html' in setting);
  const text = isText ? richText.safeParse(setting).data : undefined;
  return text === undefined ? setting : writtenBack(text);
};

/** The words of a text. If it is only HTML, the words between its tags: an empty text is often an empty paragraph. */
export const plainText = async (text: z.infer<typeof richText> | null | undefined): Promise<string> => {
  const { Text, Html } = text ? givenOrRead(text) : {};
  return Text || (Html ? textOfHtml(Html) : '');
};

/**
 * The same for a text that was sent and for the platform's version of it: the platform may store line ends, hard spaces and edges
 * in its own way.
 */
export const comparableText = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replaceAll('\u00a0', ' ').trim();

const textOfHtml = async (html: string): Promise<string> => {
  const written = Array.from(piecesOf(html), (piece) =>
    'text' in piece ? piece.text : /^(br|\/(p|div|li))$/.test(piece.tag) ? '\n' : '',
  ).join('');
  // Loaded when first needed: few comments have HTML alone.
  const { decodeHTML } = await import('entities/decode');
  return decodeHTML(written).replaceAll('\u00a0', ' ').trim();
};
