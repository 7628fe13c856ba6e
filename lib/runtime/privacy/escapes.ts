import { decodeHTML } from 'entities/decode';

/** A text without the escapes of HTML, URLs and JSON: `&uuml;` and tags, `%C3%BC`, `\u00fc`. What is no UTF-8 stays. */
export const decoded = (text: string): string =>
  decodeHTML(text)
    .replace(/<\/?[a-zA-Z]{1,10}>/g, '')
    .replace(/(?:%[\da-f]{2})+/gi, fromPercent)
    .replace(/\\{1,16}u([\da-f]{4})/gi, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
    .replace(/\\([bfnrt"/\\])/g, (_, sign: string) => (/[bfnrt]/.test(sign) ? ' ' : sign));

const fromPercent = (bytes: string): string => {
  try {
    return decodeURIComponent(bytes);
  } catch {
    return bytes;
  }
};
