import { describe, expect, test } from 'vitest';
import { readAs, undone } from '../../../../lib/runtime/privacy/escapes.ts';

/** Each UTF-16 unit that was read, and what it is written as. */
const placesIn = (text: string): string[][] => {
  const { read, from, to } = undone(text);
  return Array.from({ length: read.length }, (_, at) => [read[at] ?? '', text.slice(from(at), to(at))]);
};

describe('what is written with escapes is read', () => {
  test.each([
    // Bytes, in UTF-8 where they are valid.
    ['M%C3%BCller', 'Müller'],
    ['%25c3%2525bc%41', 'üA'],
    ['%7F%C2%80%DF%BF', '\u007F\u0080\u07FF'],
    ['%E0%A4%85%EF%BC%AD', '\u0905Ｍ'],
    ['%F0%9F%98%80%41', '😀A'],
    ['%FC%41 %C3%41 %C3', 'üA ÃA Ã'],
    ['%E2%82%41%BF', 'â\u0082A¿'],
    ['100% %4 %g1', '100% %4 %g1'],
    // Of JSON.
    [String.raw`M\u00fcl\\u00FCer`, 'Mülüer'],
    [String.raw`a\nb\\tc\"d\/e\q\u12`, String.raw`a b c d e\q\u12`],
    [`${'\\'.repeat(17)}u00fc`, '\\ü'],
    // Of HTML.
    ['&uuml;&Ouml;&eacute;&agrave;&ecirc;&ntilde;&ccedil;&aring;&ccaron;', 'üÖéàêñçåč'],
    ['&szlig;&aelig;&AElig;&oelig;&OElig;&oslash;&Oslash;', 'ßæÆœŒøØ'],
    ['&#252;&#252 &#xFC;&#X0e4 &amp;uuml;&amp;amp;#252;', 'üü üä üü'],
    ['a&nbsp;b&lt;c&uml;d&bslash;e&ubeef;f&AT&T', 'a b c db e f&AT&T'],
    ['&#9999999;&#xFFFFFF;', '\u{10FFFF}\u{10FFFF}'],
    ['M<b>ü</b>l<wbr>ler <h1> 1 < 2 >', 'Müller <h1> 1 < 2 >'],
    // Of mail.
    ['M=C3=BCller=E2=82=AC', 'Müller€'],
    ['name=41&a=C3', 'name=41&a=C3'],
  ])('%s', (text, read) => {
    expect(readAs(text)).toBe(read);
    expect(undone(text).read).toBe(read);
  });
});

test('each character that was read has the place of the one that it was written as', () => {
  expect(placesIn('a%25C3%BCb%2541&#252;<b>cd</b>%F0%9F%98%80%FC\\ne')).toEqual([
    ['a', 'a'],
    ['ü', '%25C3%BC'],
    ['b', 'b'],
    ['A', '%2541'],
    ['ü', '&#252;'],
    ['c', 'c'],
    ['d', 'd'],
    ['\uD83D', '%F0%9F%98%80'],
    ['\uDE00', '%F0%9F%98%80'],
    ['ü', '%FC'],
    [' ', '\\n'],
    ['e', 'e'],
  ]);
});
