export type FieldProblem = { path: string; problem: string };

/** What these errors say of fields of a message, by their paths, as in `data.grade.points`. */
export const problemsIn = (errors: readonly string[]): FieldProblem[] =>
  errors.flatMap((error) =>
    [...error.matchAll(/(?<![\w.[\]-])(data\.[\w.[\]-]+): ([^;]+)/g)].map(([, path = '', problem = '']) => ({
      path: path.replace(/\[(\d+)\]/g, '.$1'),
      problem,
    })),
  );

/** The field of a message that an error names first. */
export const firstFieldIn = (error: string): string | undefined =>
  /(?<![\w.-])data\.[\w.-]*\w(?=[:[])/.exec(error)?.[0];

/** Fields of a message that an error names by their paths, or else the platform's words, as `gradeObjectId` in “Grade object not found”. */
export const fieldsNamed = (
  message: unknown,
  { error, words }: { error: string; words: string },
): FieldProblem[] => {
  const { data } = Object(message) as { data?: unknown };
  const names = Object.keys(Object(data));
  const inError = names.filter((name) => isWordOf(error, `data.${name}`));
  const named = inError.length > 0 ? inError : names.filter((name) => isNamedIn(words, name));
  return named.map((name) => ({ path: `data.${name}`, problem: inError.length > 0 ? error : words }));
};

const isNamedIn = (words: string, name: string): boolean => {
  const asWords = name
    .replace(/Id$/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
  return isWordOf(words, name) || (asWords.includes(' ') && isWordOf(words.toLowerCase(), asWords));
};

/** Not within a longer word: a scope such as `grades:gradevalues:write` is not about the field `grade`. */
const isWordOf = (text: string, word: string): boolean => {
  const parts = text.split(word);
  return parts.some((before, at) => {
    const after = parts[at + 1];
    return after !== undefined && !/[\w:./-]$/.test(before) && !/^[\w:-]/.test(after);
  });
};
