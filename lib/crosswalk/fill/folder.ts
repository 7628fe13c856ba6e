import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Works in a folder of its own on the local disk, which is removed at the end. */
export const inFolder = async <Result>(work: (folder: string) => Promise<Result>): Promise<Result> => {
  const folder = mkdtempSync(join(tmpdir(), 'crosswalk-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

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
