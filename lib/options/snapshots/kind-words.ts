/** What a kind of row, or a function that gets its messages, is about: `lineItems` is `line items`, `enrollment-create` is `enrollments`. */
export const kindWords = (kind: string, count = 2): string => {
  const several = wordsOfSeveral(kind);
  return count === 1 ? several.replace(/s$/, '') : several;
};

const wordsOfSeveral = (kind: string): string => {
  const words = kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  if (!words.includes('-')) return words;
  const thing = words.split('-').slice(0, -1).join(' ');
  return thing.endsWith('s') ? thing : `${thing}s`;
};
