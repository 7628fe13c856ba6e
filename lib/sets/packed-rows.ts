/**
 * The rows of a packed file as a table in a statement. A tab separates the cells; no cell contains one. `path` is the parameter that its path is
 * bound to, such as `$1`. A cell without text is NULL.
 */
export const packedRows = (path: `$${number}`, columns: readonly string[]): string =>
  `read_csv(${path}, auto_detect = false, header = false, delim = '\t', quote = '', escape = '', compression = 'gzip',
     new_line = '\\n', columns = {${columns.map((column) => `'${column}': 'VARCHAR'`).join(', ')}})`;
