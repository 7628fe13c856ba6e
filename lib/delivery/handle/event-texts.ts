import { inThousands, type SafeText, safe } from '../../message/safe-text.ts';

/** One text of a file of events, and where the next begins; or the reason why there is no text. */
export type EventText = { line: number; end: number; nextLine: number } & (
  | { text: Uint8Array }
  | { problem: SafeText }
);

/** Where reading continues: at this byte of the file, in this line, inside a list or not. */
export type ReadPosition = { byte: number; line: number; isList: boolean };

const newline = 10;
const [quote, backslash, comma] = [34, 92, 44];
const [list, object] = [
  { begins: 91, ends: 93 },
  { begins: 123, ends: 125 },
];
const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13);
const mark = [0xef, 0xbb, 0xbf];

type Limits = { maxBytes: number };

/**
 * Yields the texts of JSON Lines, or of the elements of a JSON array, as they are written. It does not parse them, so that a broken
 * one cannot affect the others. It holds one text and one piece of the file at most.
 */
export async function* eventTexts(
  pieces: AsyncIterable<Uint8Array>,
  { from, maxBytes }: Limits & { from: ReadPosition },
): AsyncGenerator<EventText & { isList: boolean }> {
  let isList = from.isList;
  let reader = from.byte === 0 ? undefined : readerOf(isList, from, { maxBytes });
  let { byte, line } = from;
  for await (const piece of pieces) {
    let rest = piece;
    if (reader === undefined) {
      const blank = blankBefore(piece, byte);
      line += blank.lines;
      rest = piece.subarray(blank.bytes);
      if (rest.length > 0) {
        isList = rest[0] === list.begins;
        if (isList) rest = rest.subarray(1);
        const begins = byte + piece.length - rest.length;
        reader = readerOf(isList, { byte: begins, line }, { maxBytes });
      }
    }
    byte += piece.length;
    for (const each of reader?.read(rest) ?? []) yield { ...each, isList };
  }
  for (const each of reader?.end() ?? []) yield { ...each, isList };
}

/** Before the first text: space, and the byte order mark that programs on Windows write. */
const blankBefore = (piece: Uint8Array, byte: number): { bytes: number; lines: number } => {
  const found = piece.findIndex((code, at) => !isSpace(code) && code !== mark[byte + at]);
  const bytes = found < 0 ? piece.length : found;
  return { bytes, lines: piece.subarray(0, bytes).filter((code) => code === newline).length };
};

type Reader = { read(piece: Uint8Array): Generator<EventText>; end(): Generator<EventText> };
type Start = { byte: number; line: number };

const readerOf = (isList: boolean, start: Start, limits: Limits): Reader =>
  isList ? listReader(start, limits) : lineReader(start, limits);

/** Collects one text over the pieces that contain it. */
const gathering = ({ maxBytes }: Limits) => {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  return {
    add: (part: Uint8Array): void => {
      bytes += part.length;
      // The rest of a text that is too long is skipped.
      if (bytes > maxBytes) parts = [];
      else if (part.length > 0) parts.push(Uint8Array.from(part));
    },
    *take(place: { line: number; end: number; nextLine: number }): Generator<EventText> {
      const text = Buffer.concat(parts);
      const isTooLong = bytes > maxBytes;
      [parts, bytes] = [[], 0];
      if (isTooLong)
        yield {
          ...place,
          problem: safe`is larger than ${inThousands(maxBytes)} bytes, the most that its queue accepts`,
        };
      else if (!text.every(isSpace)) yield { ...place, text };
    },
  };
};

const lineReader = (start: Start, limits: Limits): Reader => {
  const gathered = gathering(limits);
  let { byte, line } = start;
  return {
    *read(piece) {
      let begins = 0;
      for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, begins)) {
        gathered.add(piece.subarray(begins, at));
        begins = at + 1;
        yield* gathered.take({ line, end: byte + begins, nextLine: line + 1 });
        line += 1;
      }
      gathered.add(piece.subarray(begins));
      byte += piece.length;
    },
    *end() {
      yield* gathered.take({ line, end: byte, nextLine: line });
    },
  };
};

/** Separates elements by brackets and strings alone. */
const listReader = (start: Start, limits: Limits): Reader => {
  const gathered = gathering(limits);
  let { byte, line } = start;
  /** First byte of the current element; undefined: it has not begun. */
  let first: number | undefined;
  let depth = 0;
  let string: 'no' | 'yes' | 'escaped' = 'no';
  let isOver = false;
  let isReported = false;

  const ends = (code: number): boolean => {
    if (string !== 'no') {
      if (string === 'escaped') string = 'yes';
      else if (code === backslash) string = 'escaped';
      else if (code === quote) string = 'no';
      return false;
    }
    if (code === quote) string = 'yes';
    if (code === list.begins || code === object.begins) depth += 1;
    else if (code === comma) return depth === 0;
    else if (code === list.ends || code === object.ends) {
      depth -= 1;
      isOver = depth < 0;
      return isOver;
    }
    return false;
  };
  return {
    *read(piece) {
      let begins = 0;
      for (let at = 0; at < piece.length; at += 1) {
        const code = piece[at] ?? 0;
        if (isOver && !isSpace(code) && !isReported) {
          isReported = true;
          yield { line, end: byte + at, nextLine: line, problem: safe`comes after the end of the list` };
        }
        if (!isSpace(code)) first ??= line;
        if (!isOver && ends(code)) {
          gathered.add(piece.subarray(begins, at));
          begins = at + 1;
          yield* gathered.take({ line: first ?? line, end: byte + begins, nextLine: line });
          first = undefined;
        }
        if (code === newline) line += 1;
      }
      gathered.add(piece.subarray(begins));
      byte += piece.length;
    },
    *end() {
      if (isOver) return;
      yield* gathered.take({ line: first ?? line, end: byte, nextLine: line });
      yield {
        line,
        end: byte,
        nextLine: line,
        problem: safe`is the end of the file, but the list is not closed`,
      };
    },
  };
};
