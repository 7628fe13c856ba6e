/** A part of a text: where it begins in what was read and in the original. `length`: it stands for so many characters; else it is unchanged. */
type Part = { at: number; original: number; length: number | undefined };

/** What was read of a text, and the place in the original of each of its UTF-16 units: from (inclusive), to (exclusive). */
export type Read = { read: string; from(at: number): number; to(at: number): number };

export const createRead = () => {
  const pieces: string[] = [];
  const parts: Part[] = [];
  let [at, original] = [0, 0];
  const add = (piece: string, length?: number): void => {
    parts.push({ at, original, length });
    pieces.push(piece);
    at += piece.length;
    original += length ?? piece.length;
  };
  /** The last part that begins at or before this place: one that is removed is followed by another that begins there. */
  const partAt = (place: number): Part => {
    let [low, high] = [0, parts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((parts[middle]?.at ?? 0) <= place) low = middle;
      else high = middle;
    }
    return parts[low] ?? { at: 0, original: 0, length: undefined };
  };
  return {
    add,
    end: (): Read => ({
      read: pieces.join(''),
      from: (place) => {
        const { at, original, length } = partAt(place);
        return length === undefined ? original + place - at : original;
      },
      to: (place) => {
        const { at, original, length } = partAt(place);
        return original + (length ?? place - at + 1);
      },
    }),
  };
};

/**
 * Decodes escapes: `%C3%BC`, `%25C3%25BC` and `%FC`, `\u00fc` and `\n`, `&uuml;`, `&#252;` and `&#xFC;`, `=C3=BC`. Tags are
 * removed; an entity that is not a letter becomes a space.
 */
export const undone = (text: string): Read => {
  const { add, end } = createRead();
  let done = 0;
  for (const { 0: written, index } of text.matchAll(escapes)) {
    add(text.slice(done, index));
    for (const { sign, length } of signsIn(written)) add(sign, length);
    done = index + written.length;
  }
  add(text.slice(done));
  return end();
};

/** The same without the places: for long texts. */
export const readAs = (text: string): string =>
  text.replace(escapes, (written) =>
    signsIn(written)
      .map(({ sign }) => sign)
      .join(''),
  );

/** Repetitions are bounded, so that the search takes linear time, as in a text of nothing but `\`. */
const escapes = new RegExp(
  [
    '(?:%(?:25)*[\\da-fA-F]{2})+',
    '\\\\{1,16}(?:u[\\da-fA-F]{4}|["/bfnrt])',
    '&(?:amp;)*(?:#\\d{1,7};?|#[xX][\\da-fA-F]{1,6};?|[a-zA-Z]{2,8};)',
    '</?[a-zA-Z]{1,10}>',
    // Of quoted-printable, only what is not ASCII: `name=41` may be a name and its value.
    '(?:=[C-F][\\dA-F](?:=[89AB][\\dA-F]){1,3})+',
  ].join('|'),
  'g',
);

/** The decoded text, and how many characters it is written with. */
type Sign = { sign: string; length: number };

const signsIn = (written: string): Sign[] => {
  const { length } = written;
  if (/[%=]/.test(written)) return byteSigns(written);
  if (written.startsWith('<')) return [{ sign: '', length }];
  const [, unit, hex, decimal, base = '', mark = ''] =
    /u([\da-f]{4})$|#x([\da-f]+)|#(\d+)|([a-z]{1,2}?)(uml|acute|grave|circ|tilde|cedil|ring|caron|slash|lig);/i.exec(
      written,
    ) ?? [];
  if (unit !== undefined) return [{ sign: String.fromCharCode(Number.parseInt(unit, 16)), length }];
  const code = hex === undefined ? Number(decimal ?? 0x20) : Number.parseInt(hex, 16);
  const letter = ligatures[base + mark] ?? (base + (marks[mark] ?? ' ')).normalize();
  return [{ sign: base === '' ? String.fromCodePoint(Math.min(code, 0x10ffff)) : letter, length }];
};

/** The names of accents in HTML entities. */
const marks: Record<string, string> = {
  ...{ uml: '\u0308', acute: '\u0301', grave: '\u0300', circ: '\u0302', tilde: '\u0303' },
  ...{ cedil: '\u0327', ring: '\u030A', caron: '\u030C' },
};
const ligatures: Record<string, string> = {
  ...{ szlig: 'ß', aelig: 'æ', AElig: 'Æ', oelig: 'œ', OElig: 'Œ', oslash: 'ø', Oslash: 'Ø' },
};

/** Decodes UTF-8 where the bytes are valid, otherwise each byte as Latin-1. */
const byteSigns = (written: string): Sign[] => {
  const bytes = [...written.matchAll(/[%=](?:25)*[\da-fA-F]{2}/g)].map(([whole]) => ({
    byte: Number.parseInt(whole.slice(-2), 16),
    length: whole.length,
  }));
  const signs: Sign[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at]?.byte ?? 0;
    const count = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const some = bytes.slice(at, at + count);
    const inUtf8 = Buffer.from(some.map(({ byte }) => byte)).toString();
    const isUtf8 = !inUtf8.includes('\uFFFD');
    const used = isUtf8 ? some : some.slice(0, 1);
    const sign = isUtf8 ? inUtf8 : String.fromCharCode(first);
    signs.push({ sign, length: used.reduce((sum, { length }) => sum + length, 0) });
    at += used.length;
  }
  return signs;
};
