/** A text, or a column. */
export type TemplatePart = { text: string } | { column: string };

/**
 * The parts of a name: `classCode` is one column, `{TERM}.{CRN}` is two columns and the text between them. Undefined: its braces are not
 * in pairs, or it has no column.
 */
export const templateParts = (name: string): TemplatePart[] | undefined => {
  if (!/[{}]/.test(name)) return [{ column: name }];
  const pieces = name.match(/\{[^{}]+\}|[^{}]+/g) ?? [];
  const parts = pieces.map((piece) =>
    piece.startsWith('{') ? { column: piece.slice(1, -1).trim() } : { text: piece },
  );
  const columns = parts.flatMap((part) => ('column' in part ? part.column : []));
  return pieces.join('') === name && columns.length > 0 && !columns.includes('') ? parts : undefined;
};
