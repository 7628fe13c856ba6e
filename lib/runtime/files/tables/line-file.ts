import { closeSync, openSync, writeSync } from 'node:fs';

export type LineFile = { path: string; add(line: string): void; close(): void };

/** A file to which lines are added one by one. */
export const createLineFile = (path: string): LineFile => {
  const file = openSync(path, 'w');
  let text = '';
  const write = (): void => {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    text = '';
  };
  return {
    path,
    add: (line) => {
      text += `${line}\n`;
      if (text.length >= 64 * 1024) write();
    },
    close: () => {
      write();
      closeSync(file);
    },
  };
};
