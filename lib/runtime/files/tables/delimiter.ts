/** Spreadsheets write commas or semicolons, by their locale. */
export const delimiterIn = (header: string): string => {
  const counts = [',', ';', '\t'].map((each) => ({ each, count: header.split(each).length }));
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).each;
};
