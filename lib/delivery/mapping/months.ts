/** Whether it is the code of a language whose months are known, such as `de` or `pt-BR`. */
export const isLanguage = (code: string): boolean => {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf([code]).length > 0;
  } catch {
    return false;
  }
};

/** In lower case and without accents, which exports often lack. */
const folded = (text: string, language: string): string =>
  text
    .toLocaleLowerCase(language)
    .normalize('NFD')
    .replace(/[^\p{L}]/gu, '');

const known = new Map<string, ReadonlyMap<string, number>>();

/** The names of months, alone and beside a day, whole and short. */
const namesIn = (language: string): ReadonlyMap<string, number> => {
  const before = known.get(language);
  if (before) return before;
  const names = new Map<string, number>();
  for (const style of ['long', 'short'] as const)
    for (const day of [undefined, 'numeric'] as const) {
      const written = new Intl.DateTimeFormat(language, { month: style, day, timeZone: 'UTC' });
      for (let month = 0; month < 12; month += 1)
        for (const { type, value } of written.formatToParts(Date.UTC(2026, month, 15)))
          if (type === 'month') names.set(folded(value, language), month + 1);
    }
  known.set(language, names);
  return names;
};

/**
 * The number of a month by its name, or by letters of it in their order, as `MRZ` for März: systems abbreviate in ways of their own.
 * Undefined: it is none, or could be two.
 */
export const monthIn = (text: string, language = 'en'): number | undefined => {
  const names = namesIn(language);
  const name = folded(text, language);
  const exact = names.get(name);
  if (exact !== undefined) return exact;
  const found = new Set([...names].flatMap(([each, month]) => (isShortFor(name, each) ? month : [])));
  const [month] = found;
  return found.size === 1 ? month : undefined;
};

const isShortFor = (text: string, name: string): boolean => {
  if (text.length < 3 || text[0] !== name[0]) return false;
  let at = 0;
  for (const letter of name) if (letter === text[at]) at += 1;
  return at === text.length;
};
