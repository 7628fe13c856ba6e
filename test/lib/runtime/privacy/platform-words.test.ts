import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskedText } from '../../../../lib/runtime/privacy/platform-words.ts';
import { eventBody } from '../../desk/cli/office.ts';

test('the platform’s words name nobody in either spelling of an umlaut', () => {
  const body = JSON.stringify({ data: { comments: 'Dear J\u00fcrgen M\u00fcller' } });
  for (const form of ['NFC', 'NFD'])
    expect(maskedText('No Jürgen Müller here'.normalize(form), body)).toBe('No ••• ••• here');
  expect(maskedText('No J\u00fcrgen', body.normalize('NFD'))).toBe('No •••');
  for (const [inText, inBody] of [
    ['NFC', 'NFD'],
    ['NFD', 'NFC'],
  ])
    expect(maskedText('No Lí here'.normalize(inText), '{"data":{"comments":"Lí"}}'.normalize(inBody))).toBe(
      'No ••• here',
    );
});

describe('the platform’s words', () => {
  const body = eventBody('grade-push', {
    grade: { type: 'numeric', points: 8.5 },
    comments: 'Dear Jane, well argued',
    privateComments: 'Wu is right',
  });

  test.each([
    ['Grade object 5001 not found', 'Grade object 5001 not found'],
    ['Value 8.5 of "dear jane, well argued" is too large', 'Value ••• of "••• •••, ••• •••" is too large'],
    [
      'Not authorized for [ orgUnitId: 2001, securityVariableName: X ]',
      'Not authorized for [ orgUnitId: 2001, securityVariableName: X ]',
    ],
    ['Grade is for Jane Wu by wu', 'Grade is for ••• ••• by •••'],
  ])('%s is shown as %s', (text, shown) => {
    expect(maskedText(text, body)).toBe(shown);
  });

  describe('do not repeat what the message says', () => {
    const said = eventBody('grade-push', {
      grade: { type: 'numeric', points: 8.5 },
      comments: 'Dear Jürgen Müller, Łukasz, Łi and Søren: 1,250 points, matriculation s1234567',
      privateComments: '王小明 wrote it',
    });
    const masked = (text: string) => maskedText(text, said);

    test.each(['8.5', '8.50', '8,5', '8,50', '8.500', '08.5'])(
      'in another form of a number: %s',
      (number) => {
        expect(masked(`Value ${number} is too large`)).toBe('Value ••• is too large');
        expect(masked(`(${number})/10, ${number}pts`)).toBe('(•••)/10, •••pts');
      },
    );
    test.each(['85', '8', '5', '18.5', '8.51', '0.85', '8¼', '18.5pts', '8.51pts', 'v1.82'])(
      'and no other number: %s',
      (number) => {
        expect(masked(`Value ${number}`)).toBe(`Value ${number}`);
      },
    );

    test.each([
      'Müller',
      'MÜLLER',
      'müller'.normalize('NFD'),
      'Łukasz',
      'łi',
      'S1234567',
      'M%C3%BCller',
      'M%c3%bcller',
      '%4D%C3%BC%6C%6C%65%72',
      'M&uuml;ller',
      'M&#252;ller',
      'M&#xFC;ller',
      'M<b>ü</b>ller',
      String.raw`M\u00fcller`,
      String.raw`M\\u00FCller`,
    ])('in any case, and with escapes: %s', (name) => {
      expect(masked(`No ${name} here`)).toBe('No ••• here');
    });

    test('in a script without spaces between words', () => {
      expect(masked('用户王小明不存在')).toBe('•••');
    });

    test.each([
      ['Müller or Łukasz, M&uuml;ller', '••• or •••, •••'],
      ['“…” ½ \u{1F600} M&uuml;ller – ﬁ %41', '“…” ½ \u{1F600} ••• – ﬁ A'],
    ])('several times: %s', (text, shown) => {
      expect(masked(text)).toBe(shown);
    });

    test.each([
      'Grade object 5001 not found for user 301 in org unit 2001',
      'Insufficient scope to call API. Required: grades:gradevalues:write',
      'Not authorized for [ orgUnitId: 2001, securityVariableName: X ]',
      'PUT /svc/api/le/1.82/2001/grades/5001/values/301 at 2026-06-01T12:00:00Z: 0f6c1a52-58e1-4a0c-9d55-6a3d0b7e21c4',
      'The value 100% &amp; more <b>is</b> wrong\\n',
    ])('and nothing else: %s', (text) => expect(masked(text)).toBe(text));
  });

  test('of a large message are none of its words, the last ones either', () => {
    const names = Array.from({ length: 12_000 }, (_, at) => `name${at}x`);
    const large = eventBody('grade-push', { comments: `${names.join(' ')} Zuletzt` });
    expect(maskedText('No Zuletzt and no name11999x', large)).toBe('No ••• and no •••');
  });

  test('take no longer for a message that is made to be slow', () => {
    const slow = [
      '1.'.repeat(60_000),
      '\\'.repeat(120_000),
      'a'.repeat(120_000),
      '%25'.repeat(40_000),
      '&amp;'.repeat(25_000),
    ];
    for (const comments of slow)
      expect(maskedText('No Zuletzt', eventBody('grade-push', { comments: `${comments} Zuletzt` }))).toBe(
        'No •••',
      );
    for (const text of slow) expect(maskedText(`${text.slice(0, 120_000)} Jane`, body)).toContain('•••');
  });

  test('hide a name that the producer gave a field, and what the message calls as the envelope does', () => {
    const odd = JSON.stringify({
      id: 'event',
      data: { source: 'Jane', id: 'Smith', 'Dear Wu Li': 1, userId: 301 },
    });
    expect(maskedText('Jane Smith Wu Li 301 event', odd)).toBe('••• ••• ••• ••• 301 event');
  });

  test('never repeat a word of the message that is hidden', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-zäöü]{4,12}$/), { minLength: 1, maxLength: 8 }),
        (words) => {
          const said = JSON.stringify({ data: { comments: words.join(' ') } });
          const shown = maskedText(`Refused: ${words.join(', ')} is not allowed`, said);
          const innocent = new Set(['refused', 'allowed']);
          for (const word of words) if (!innocent.has(word)) expect(shown.split(/\W+/)).not.toContain(word);
        },
      ),
    );
  });
});
