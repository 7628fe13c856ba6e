import { closeSync, openSync, writeSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

/** A piece of a file that can be unpacked by itself. */
export type Part = { bytes: number; lines: number };

export type PackedLines = {
  add(line: string): void;
  /** What was written, piece by piece; the pieces together are one file of gzip. */
  end(): Part[];
};

/** Lines as a file of gzip, whose pieces can be read by themselves by their place. */
export const createPackedLines = (path: string, linesPerPart = 5_000): PackedLines => {
  const file = openSync(path, 'w');
  const parts: Part[] = [];
  let lines: string[] = [];
  const write = (): void => {
    const packed = gzipSync(`${lines.join('\n')}\n`, { level: 1 });
    for (let at = 0; at < packed.length; ) at += writeSync(file, packed, at);
    parts.push({ bytes: packed.length, lines: lines.length });
    lines = [];
  };
  return {
    add: (line) => {
      if (lines.push(line) >= linesPerPart) write();
    },
    end: () => {
      if (lines.length > 0) write();
      closeSync(file);
      return parts;
    },
  };
};
