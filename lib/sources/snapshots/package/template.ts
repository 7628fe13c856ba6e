/** The other rows whose columns a name may use. */
export const linkedRows = ['course', 'term', 'school'] as const;
export type LinkedRow = (typeof linkedRows)[number];

/** A text, or a column of the row itself or of a row that it names. */
export type NamePart = { text: string } | { of: LinkedRow | 'itself'; column: string };

/**
 * The parts of a name: `classCode` is one column, `{course.courseCode}-{term.title}` is two columns and the text between them.
 * undefined: its braces are not in pairs, or it has no column.
 */
export const namePartsIn = (setting: string): NamePart[] | undefined => {
  if (!/[{}]/.test(setting)) return [{ of: 'itself', column: setting }];
  const pieces = setting.match(/\{[^{}]+\}|[^{}]+/g) ?? [];
  const parts = pieces.map((piece) =>
    piece.startsWith('{') ? columnIn(piece.slice(1, -1).trim()) : { text: piece },
  );
  const columns = parts.flatMap((part) => ('column' in part ? part.column : []));
  return pieces.join('') === setting && columns.length > 0 && !columns.includes('') ? parts : undefined;
};

/** A column's own name may have a dot, as those of `metadata.` do. */
const columnIn = (name: string): NamePart => {
  const dot = name.indexOf('.');
  const [row, column] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
  if (row === 'class' || row === 'user') return { of: 'itself', column };
  const of = linkedRows.find((each) => each === row);
  return of ? { of, column } : { of: 'itself', column: name };
};
