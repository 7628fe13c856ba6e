export type FieldProblem = { path: string; problem: string };

/** What these errors say of fields of a message, by their paths, as in `data.grade.points`. */
export const problemsIn = (errors: readonly string[]): FieldProblem[] =>
  errors.flatMap((error) =>
    [...error.matchAll(/(?<![\w.[\]-])(data\.[\w.[\]-]+): ([^;]+)/g)].map(([, path = '', problem = '']) => ({
      path: path.replace(/\[(\d+)\]/g, '.$1'),
      problem,
    })),
  );

/** Fields of a message that the platform's words name, as `gradeObjectId` in “Grade object not found”. */
export const fieldsNamed = (message: unknown, words: string): FieldProblem[] => {
  const { data } = Object(message) as { data?: unknown };
  const spoken = words.toLowerCase();
  return Object.keys(Object(data)).flatMap((name) => {
    const asWords = name
      .replace(/Id$/, '')
      .replace(/[A-Z]/g, (letter) => ` ${letter}`)
      .toLowerCase();
    const isNamed = words.includes(name) || (asWords.includes(' ') && spoken.includes(asWords));
    return isNamed ? [{ path: `data.${name}`, problem: words }] : [];
  });
};
