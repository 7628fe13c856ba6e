export type TableCell = { text: string; quoted: boolean };
/** The cells of a row whose quotation marks were checked. `="…"` is a cell, too: a spreadsheet then leaves its text as it is. */
export const cellsOf = (row: string, delimiter: string): TableCell[] => {
  const cells: TableCell[] = [];
  for (let at = 0; at <= row.length; at += 1) {
    const isQuoted = row[at] === '"';
    if (isQuoted || row.startsWith('="', at)) {
      const [text = ''] = /=?"(?:[^"]|"")*"/y.exec(row.slice(at)) ?? [];
      cells.push({ text: isQuoted ? text.slice(1, -1).replaceAll('""', '"') : text, quoted: isQuoted });
      at += text.length;
    } else {
      const end = row.indexOf(delimiter, at);
      cells.push({ text: row.slice(at, end < 0 ? undefined : end), quoted: false });
      at = end < 0 ? row.length : end;
    }
  }
  return cells;
};

/** As the engine reads it: only a quotation mark at the beginning of a cell quotes it. */
export const withoutFormulas = (row: string, delimiter: string): string =>
  cellsOf(row, delimiter)
    .map(({ text, quoted }) => (quoted || text.startsWith('="') ? `"${text.replaceAll('"', '""')}"` : text))
    .join(delimiter);

/** Lets the engine begin to read at any line: otherwise it would have to guess whether a line break is inside a cell. */
export const inOneLine = (row: string): string =>
  row.replaceAll('\u0001', '\u00010').replaceAll('\n', '\u0001n').replaceAll('\r', '\u0001r');

/** As it was before `inOneLine`. */
export const asItWas = (text: string): string => {
  const [first = '', ...pieces] = text.split('\u0001');
  const signs: Record<string, string> = { n: '\n', r: '\r' };
  return first + pieces.map((piece) => (signs[piece[0] ?? ''] ?? '\u0001') + piece.slice(1)).join('');
};

/** The same in a statement. */
export const cellAt = (place: number): string =>
  `CASE WHEN contains(c${place}, chr(1)) THEN
     replace(replace(replace(c${place}, chr(1) || 'n', chr(10)), chr(1) || 'r', chr(13)), chr(1) || '0', chr(1))
   ELSE c${place} END`;
