// biome-ignore lint/suspicious/noControlCharactersInRegex: what is to be found.
const control = /[\u0000-\u001f\u007f]/;

/** An id of the SIS may be any single line that is not too long. */
export const isId = (text: string): boolean => text !== '' && text.length <= 255 && !control.test(text);

const instant = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

export const instantMsIn = (text: string): number | undefined => {
  const ms = instant.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
};
