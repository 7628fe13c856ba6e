/** What stands in a cell, or what is wrong with it. */
export type Cell<Value> = { value: Value; problem?: undefined } | { value?: undefined; problem: string };

// biome-ignore lint/suspicious/noControlCharactersInRegex: what is to be found.
const control = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: but for tabs and ends of lines.
const controlInText = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** An id of the SIS: anything that is one line, and not too long. */
export const isId = (text: string): boolean => text !== '' && text.length <= 255 && !control.test(text);

export const hasControl = (text: string): boolean => control.test(text);
export const hasControlInText = (text: string): boolean => controlInText.test(text);

/** `1.2E+05` is no number here: a spreadsheet that writes one has lost digits. */
const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)$/;

export const numberIn = (text: string): number | undefined =>
  decimal.test(text) && text.length <= 30 ? Number(text) : undefined;

const date = /^\d{4}-\d\d-\d\d$/;

/** A day as the export writes it; it sorts as text. */
export const dayIn = (text: string): string | undefined =>
  date.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)
    ? text
    : undefined;

const instant = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

export const instantMsIn = (text: string): number | undefined => {
  const ms = instant.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
};
