import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plain, printableJson } from '../../../../lib/runtime/privacy/printable.ts';
import { anyCharacter } from '../../../any-character.ts';

const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u001B[31m',
        '\u001B]8;;x\u0007',
        '\u009B2J',
        '\u0085',
        '\u202E',
        '\u2066',
        '\u200F',
        '\u{E0041}',
      ),
      fc.string({ unit: anyCharacter, maxLength: 4 }),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));

test('what a terminal would obey is not printed', () => {
  expect(plain('a\u001B[31mb\u0007\u202Ec\r\nd\uD800')).toBe('ab  c  d\uFFFD');
  fc.assert(
    fc.property(hostile, (text) => {
      expect(plain(text)).not.toMatch(controls);
    }),
  );
});

test.each([
  ['a\u001B[1;31mb\u009B2Jc\u001B[?25ld\u001B[0 qe\u001B[~f\u001B[@g', 'abcdefg'],
  ['a\u001B[b\u001B[31\u0007c[31m', 'a [31 c[31m'],
  ['a\u001BMb\u0085c\u200Fd\u2028e\u2029f\u{E0041}g\uDC00', 'a Mb c d e f g\uFFFD'],
  ['Zoë, 王 — 7 %', 'Zoë, 王 — 7 %'],
])('%j is printed as %j', (text, printed) => {
  expect(plain(text)).toBe(printed);
});

test.each(['\u001B]', '\u001B]8;', '\u001B[', '\u001B[;', '\u009B0'])(
  'a long row of %j takes no longer than any other text',
  (begun) => {
    // Twenty times as long: of an expression that tries again from each place, four hundred times as long.
    const text = begun.repeat(200_000);
    expect(plain(text)).not.toMatch(controls);
  },
);

describe('JSON that is printed', () => {
  test('has an escape for each character that a terminal would obey', () => {
    expect(printableJson({ a: '\u001B\u0085\u202E\u2028\u{E0041}é' })).toBe(
      String.raw`{"a":"\u001b\u0085\u202e\u2028\udb40\udc41é"}`,
    );
  });

  test('is null where there is none', () => {
    expect(printableJson(undefined)).toBe('null');
    expect(printableJson({ a: undefined, b: '\u0001' })).toBe(String.raw`{"b":"\u0001"}`);
  });

  test('is the same document', () => {
    fc.assert(
      fc.property(fc.dictionary(hostile, fc.oneof(hostile, fc.integer())), (document) => {
        const json = printableJson(document);
        expect(json).not.toMatch(controls);
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(document)));
      }),
    );
  });
});
