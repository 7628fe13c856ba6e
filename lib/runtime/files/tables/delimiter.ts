/** What may separate cells. */
export const delimiters = [',', ';', '\t', '|', '~', '^', ':'] as const;
export type Delimiter = (typeof delimiters)[number];

/** What programs write by themselves: commas or semicolons by their locale, tabs, and `|` in feeds. */
const usual = [',', ';', '\t', '|'] as const;

export const delimiterIn = (header: string): Delimiter => {
  const counts = usual.map((each) => ({ each, count: header.split(each).length }));
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).each;
};

/** What a first line such as `sep=;` says to a spreadsheet; undefined: the line is no such line. */
export const delimiterSaidIn = (line: string): Delimiter | undefined => {
  const [, sign] = /^"?sep=(.)"?[ \t]*$/i.exec(line) ?? [];
  return delimiters.find((each) => each === sign);
};
