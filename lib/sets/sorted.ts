import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { createLineFile } from './line-file.ts';

/**
 * Sorts more lines than memory holds: sorted runs lie on disk and are merged while they are read. The order is that of
 * JavaScript's `<`, which is the order of the bytes but for characters beyond U+FFFF. Reading and writing are synchronous: that
 * takes a third of the time, and the disk is local. V8 lets garbage grow: call `keepMemoryBelow` while you add and read.
 */
export type Sorter = {
  /** @throws Error where the line contains a line feed. */
  add(line: string): void;
  /** The lines in their order; equal ones as often as they were added. To be read once; then its files are gone. */
  sorted(): Generator<string, void, undefined>;
  /** Removes its files. Needed only where `sorted` is not read to its end. */
  remove(): void;
};

export type SortOptions = {
  /** Where the runs are written, in a folder of their own. */
  folder: string;
  /** How many characters of lines are held in memory. */
  maxBytes?: number;
};

/** More files are not open at the same time. */
const maxRuns = 256;
/** Of a line, beside its characters. */
const lineOverhead = 32;

export const createSorter = ({ folder, maxBytes = 8 * 1024 ** 2 }: SortOptions): Sorter => {
  let held: string[] = [];
  let heldBytes = 0;
  let runs: string[] = [];
  let written = 0;
  let own: string | undefined;

  const newRun = (): string => {
    own ??= mkdtempSync(join(folder, 'sort-'));
    written += 1;
    return join(own, `${written}`);
  };

  const writeRun = (lines: Iterable<string>): void => {
    const path = newRun();
    writeLines(path, lines);
    runs.push(path);
  };

  const spill = (): void => {
    writeRun(held.sort());
    held = [];
    heldBytes = 0;
    if (runs.length < maxRuns) return;
    const old = runs;
    runs = [];
    writeRun(mergeRuns(old, maxBytes));
  };

  const remove = (): void => {
    if (own !== undefined) rmSync(own, { recursive: true, force: true });
    own = undefined;
  };

  return {
    add: (line) => {
      if (line.includes('\n')) throw new Error('A line to be sorted contains a line feed');
      held.push(line);
      heldBytes += line.length + lineOverhead;
      if (heldBytes >= maxBytes) spill();
    },
    sorted: function* () {
      try {
        if (runs.length === 0) {
          yield* held.sort();
          return;
        }
        if (held.length > 0) spill();
        yield* mergeRuns(runs, maxBytes);
      } finally {
        held = [];
        remove();
      }
    },
    remove,
  };
};

export const sortLines = async (
  lines: Iterable<string> | AsyncIterable<string>,
  options: SortOptions,
): Promise<Generator<string, void, undefined>> => {
  const sorter = createSorter(options);
  try {
    for await (const line of lines) sorter.add(line);
  } catch (error) {
    sorter.remove();
    throw error;
  }
  return sorter.sorted();
};

/** Each line is ended by a line feed. */
export const writeLines = (path: string, lines: Iterable<string>): void => {
  const file = createLineFile(path);
  try {
    for (const line of lines) file.add(line);
  } finally {
    file.close();
  }
};

export function* readLines(path: string, bufferBytes = 64 * 1024): Generator<string, void, undefined> {
  const file = openSync(path, 'r');
  try {
    const decoder = new StringDecoder('utf8');
    const bytes = Buffer.allocUnsafe(bufferBytes);
    let rest = '';
    for (;;) {
      const count = readSync(file, bytes, 0, bytes.length, null);
      if (count === 0) break;
      const lines = (rest + decoder.write(bytes.subarray(0, count))).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') yield rest;
  } finally {
    closeSync(file);
  }
}

type Run = { line: string; rest: Iterator<string, void> };

/** Removes each run when it was read. */
function* mergeRuns(paths: string[], maxBytes: number): Generator<string, void, undefined> {
  const bufferBytes = Math.min(256 * 1024, Math.max(16 * 1024, Math.floor(maxBytes / 4 / paths.length)));
  const iterators = paths.map((path) => readLines(path, bufferBytes));
  try {
    // A heap: the run with the least line is the first.
    const heap: Run[] = [];
    for (const rest of iterators) {
      const { value: line, done } = rest.next();
      if (!done) heap.push({ line, rest });
    }
    heap.sort((one, other) => (one.line < other.line ? -1 : 1));
    for (let [least] = heap; least !== undefined; [least] = heap) {
      yield least.line;
      const { value: line, done } = least.rest.next();
      if (!done) least.line = line;
      else {
        const last = heap.pop();
        if (last === undefined || last === least) continue;
        heap[0] = last;
      }
      sink(heap);
    }
  } finally {
    for (const each of iterators) each.return();
    for (const path of paths) rmSync(path, { force: true });
  }
}

/** Moves the first one down to its place. */
const sink = (heap: Run[]): void => {
  const first = heap[0];
  if (first === undefined) return;
  let at = 0;
  for (;;) {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    if (left === undefined) break;
    const isRight = right !== undefined && right.line < left.line;
    const less = isRight ? right : left;
    if (first.line <= less.line) break;
    heap[at] = less;
    at = 2 * at + (isRight ? 2 : 1);
  }
  heap[at] = first;
};
