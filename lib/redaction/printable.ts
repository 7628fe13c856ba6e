/**
 * What a terminal obeys, or does not show where it stands: C0 and C1, marks of direction, what has no width, other ends of lines.
 * A sequence that begins with ESC goes as a whole where it is an ordinary one. (Node's own expression for all of them takes half a
 * minute for 200 KB of `ESC ]`.)
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const sequences = /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]/g;
const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Texts of others in one line, without what a terminal obeys. */
export const plain = (text: string): string =>
  text.toWellFormed().replace(sequences, '').replace(controls, ' ');

/** JSON in one line: the same document, with an escape for whatever a terminal would obey. */
export const printableJson = (document: unknown): string =>
  (JSON.stringify(document) ?? 'null').replace(controls, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
