/**
 * What a terminal executes or does not show: C0 and C1 controls, direction marks, characters without width, other line ends.
 * Common escape sequences are removed as a whole. (Node's own expression for all sequences takes half a minute for 200 KB of
 * `ESC ]`.)
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for them.
const sequences = /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]/g;
const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text from outside, in one line and without control characters. */
export const plain = (text: string): string =>
  text.toWellFormed().replace(sequences, '').replace(controls, ' ');

/** JSON in one line, with control characters escaped: the same document. */
export const printableJson = (document: unknown): string =>
  (JSON.stringify(document) ?? 'null').replace(controls, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
