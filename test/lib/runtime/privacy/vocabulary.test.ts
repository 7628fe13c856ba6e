import { describe, expect, test } from 'vitest';
import { plainSign, vocabularyOf } from '../../../../lib/runtime/privacy/vocabulary.ts';

test.each([
  ['\u200B', ''],
  ['Ｍ', 'M'],
  ['…', '...'],
  ['½', '.5'],
  ['⅒', '.1'],
  ['⅟', '1⁄'],
  ['ü', 'ü'],
])('the plain form of %j is %j', (sign, plain) => {
  expect(plainSign(sign)).toBe(plain);
});

/** What the message says, what is to be hidden, and what is another word. */
type Said = [string, string[], string[]];

describe('the words that a message says are hidden', () => {
  test.each<Said>([
    // A part of a word has four letters at least; none goes from one word to the next.
    ['Ann Dear Bob', ['Ann', 'BOB', 'ann', 'dear', 'Dear'], ['an', 'ear', 'ndea', 'rbob', 'anns', 'Bo']],
    ['Dearest', ['dear', 'rest', 'eare', 'Dearest'], ['dea', 'est', 'dearesto', 'Harbour']],
    // Of two letters only what may be a name.
    [
      'Li is AB x1 王明',
      ['Li', 'LI', 'Ab', '王明', '请王明来'],
      ['li', 'is', 'Is', 'x1', '王', '明王', '不存在'],
    ],
    ['e\u0301 e\u0301t', [], ['e\u0301', 'é', 'e\u0301t']],
    // Joined to others.
    [
      'Jane Doe 8 12',
      ['JaneDoe', 'userJane', 'doe2', '8pts', '12Pkt'],
      ['does', '8pts2', 'a8pts', '9pts', '128pts', '1p'],
    ],
    // With accents or without.
    ['Jürgen', ['Jurgen', 'JUERGEN', 'Ju\u0308rgen', 'Jürgen'], ['Jorgen']],
    ['Ju\u0308rgen', ['Jurgen', 'Juergen', 'Jürgen'], ['Joergen']],
    ['Baerbel Oezil', ['Bärbel', 'Barbel', 'Özil', 'OZIL'], ['Berbel']],
    ['Özil Ågård', ['Oezil', 'Ozil', 'Aagaard', 'AGARD'], ['Aegard']],
    ['Aagaard', ['Ågård', 'Agard'], ['Aegaerd']],
    ['Groß Đặng', ['GROSS', 'gross', 'Dang'], ['Gro', 'Dng']],
    ['Σωκράτης', ['ΣΩΚΡΑΤΗΣ', 'Σωκρατησ'], ['Σωρτη']],
    // Written in another way by the message.
    ['Ｊａｎｅ M&uuml;ller 8½', ['Jane', 'Müller', '8.5'], ['uuml', '8', '5']],
  ])('%s', (text, hidden, others) => {
    const { has } = vocabularyOf(['', text]);
    expect([...hidden, ...others].filter(has)).toEqual(hidden);
  });

  test('and so are its numbers, in all their forms', () => {
    const table: Said[] = [
      ['8.5', ['8.5', '8,50', '08.5', '85e-1', '0.85E+1'], ['85', '8', '5', '8.51', '85e1']],
      ['850', ['850', '85e1', '8.5E2', '850.0', '850,00'], ['85', '0850', '8.5']],
      ['8.5E+10', ['85e9', '85000000000'], ['8.5', '85']],
      ['1,250', ['1250', '1.25', '1.250', '1,250'], ['125', '12.5', '250']],
      ['12.500.000', ['12500000', '12,500,000', '125e5'], ['125', '125000']],
      ['1.234.567,5', ['1234567.5', '1,234,567.50'], ['12345675']],
      ['1234.567', ['1234.567'], ['1234567']],
      ['1.2505', ['1.2505'], ['12505']],
    ];
    for (const [text, hidden, others] of table) {
      const { has } = vocabularyOf([text]);
      expect([...hidden, ...others].filter(has)).toEqual(hidden);
    }
  });

  test('and their beginnings and ends, where a text says that it cut them off', () => {
    const { hasStart, hasEnd } = vocabularyOf(['Ann is', 'Müller']);
    const pieces = ['an', 'Mü', 'MUE', 'a', 'm', 'ul', 'is'];
    expect(pieces.filter(hasStart)).toEqual(['an', 'Mü', 'MUE']);
    const ends = ['nn', 'ER', 'uller', 'r', 'ann', 'le', 'is'];
    expect(ends.filter(hasEnd)).toEqual(['nn', 'ER', 'uller', 'ann']);
  });
});
