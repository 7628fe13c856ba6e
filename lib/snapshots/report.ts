import { closeSync, openSync, writeSync } from 'node:fs';

/** Rows that were not used, as a table for people. */
export type Report = {
  add(problem: Problem): void;
  /** How many rows it tells of. */
  count(): number;
  end(): void;
};

export type Problem = {
  file: string;
  /** undefined: what was accepted before is no longer valid. */
  line?: number | undefined;
  column?: string | undefined;
  problem: string;
};

/** Of a file of which every row is wrong, the first ones tell enough. */
const maxRows = 100_000;

export const createReport = (path: string, most = maxRows): Report => {
  const file = openSync(path, 'w');
  let count = 0;
  let text = 'file,line,column,problem\n';
  const write = (): void => {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    text = '';
  };
  return {
    add: ({ file, line = '', column = '', problem }) => {
      count += 1;
      if (count > most) return;
      text += `${[file, String(line), column, problem].map(cell).join(',')}\n`;
      if (text.length > 64 * 1024) write();
    },
    count: () => count,
    end: () => {
      if (count > most) text += `${['', '', '', `and ${count - most} more`].map(cell).join(',')}\n`;
      write();
      closeSync(file);
    },
  };
};

/** In quotation marks, and so that no spreadsheet takes it for a formula. */
const cell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
