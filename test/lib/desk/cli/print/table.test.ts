import { stripVTControlCharacters, styleText } from 'node:util';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { tableOf, truncated, widthOf, wrapped } from '../../../../../lib/desk/cli/print/table.ts';

describe('a table', () => {
  const columns = [{ title: 'Letters', right: true }, { title: 'Function' }, { title: 'What failed' }];

  test('aligns its columns, numbers to the right', () => {
    expect(
      tableOf(
        columns,
        [
          ['1,204', 'grade-push', 'short'],
          ['7', 'enrollment-create', ''],
        ],
        { width: 100 },
      ),
    ).toEqual([
      'Letters  Function           What failed',
      '  1,204  grade-push         short',
      '      7  enrollment-create',
    ]);
  });

  test('cuts its widest columns where it would not fit', () => {
    const lines = tableOf(columns, [['1', 'grade-push', 'x'.repeat(200)]], { width: 100 });
    expect(Math.max(...lines.map((line) => line.length))).toBe(100);
    expect(lines[1]).toMatch(/x…$/);
  });

  test('cuts all columns that are too wide to the same width', () => {
    const wide = ['1', 'f'.repeat(200), 'x'.repeat(300)];
    expect(tableOf(columns, [wide], { width: 41 })[1]).toBe(
      `      1  ${'f'.repeat(14)}…  ${'x'.repeat(14)}…`,
    );
  });

  test('keeps causes apart where it cuts them: what is the same at their beginning goes', () => {
    const texts = [
      '403 Not authorized for EditGrades',
      '403 Not authorized for ViewPrivateComments',
      '403 Not authorized for ViewPrivateFiles',
      '404 Grade object not found',
      ' ',
    ];
    const apart = [{ title: 'What failed', apart: true }];
    const lines = tableOf(
      apart,
      [...texts, ...texts].map((text) => [text]),
      { width: 16 },
    );
    expect(lines.slice(1, 5)).toEqual([
      '…EditGrades',
      '…ViewPrivateCom…',
      '…ViewPrivateFil…',
      '404 Grade objec…',
    ]);
    expect(lines.slice(6)).toEqual(lines.slice(1, 6));
  });

  const outcomes = [
    ...['Sent', 'Through', 'Came back', 'Waits', 'Unknown', 'Not tried'].map((title) => ({
      title,
      right: true,
    })),
    { title: 'Function' },
    { title: 'Kind' },
    { title: 'Cause' },
    { title: 'What failed', whole: true },
  ];
  const outcome = [
    '1,204',
    '1,000',
    '101',
    '1',
    '2',
    '100',
    'user-attributes-update',
    'missing-permission',
    '0a1b2c3d',
    '403 Not authorized for [ orgUnitId: 2001, securityVariableName: EditGrades ] of the signing user',
  ];

  test.each([80, 100, 120, 140])(
    'with a last column that is shown whole breaks no word at %d columns',
    (width) => {
      const lines = tableOf(outcomes, [outcome, outcome], { width }).flatMap((line) => line.split('\n'));
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
      for (const text of [...outcome.join(' ').split(' '), ...outcomes.map(({ title }) => title)])
        expect(lines.join('\n')).toContain(text);
      expect(lines.join('\n')).not.toContain('…');
    },
  );

  test('is not moved by colours', () => {
    const paint = (text: string) => styleText('red', text, { validateStream: false });
    const [, line = ''] = tableOf(columns, [['7', 'f', 'x']], { width: 100, paint });
    expect(line).toContain(paint('7'));
    expect(stripVTControlCharacters(line).trimEnd()).toBe('      7  f         x');
  });

  const e = 'e\u0301';
  test.each([
    ['CJK characters, which take two columns', '成績を送信', '成績を送…'],
    ['emoji of several code points', '👩‍🏫🇨🇭👍🏽👩‍🏫🇨🇭', '👩‍🏫🇨🇭👍🏽👩‍🏫…'],
    ['combining marks, which take none', e.repeat(10), `${e.repeat(8)}…`],
  ])('is not moved by %s', (_, wide, cutOff) => {
    const wideColumns = [{ title: 'Function' }, { title: 'Kind' }];
    expect(
      tableOf(
        wideColumns,
        [
          [wide, 'x'],
          ['0123456789', 'x'],
        ],
        { width: 100 },
      ).slice(1),
    ).toEqual([`${wide}  x`, '0123456789  x']);
    expect(wrapped(`${wide} ${wide}`, 20)).toEqual([wide, wide]);
    expect(wrapped(`${wide} ${wide}`, 21)).toEqual([`${wide} ${wide}`]);
    expect(truncated(wide, 10)).toBe(wide);
    expect(truncated(wide, 9)).toBe(cutOff);
  });
});

test('what is to be typed is not broken between lines', () => {
  expect(wrapped('Start `npm run local` there, or `a` first', 20)).toEqual([
    'Start',
    '`npm run local`',
    'there, or `a` first',
  ]);
  expect(wrapped('it is 5` long and wide', 10)).toEqual(['it is 5`', 'long and', 'wide']);
});

test('a text is broken between words, and a word never', () => {
  expect(wrapped('one two three averyveryverylongword four', 10, '  ')).toEqual([
    'one two',
    '  three',
    '  averyveryverylongword',
    '  four',
  ]);
});

test('a text that is too long ends in an ellipsis', () => {
  expect(truncated('letters', 4)).toBe('let…');
});

test('each character is as wide as the tables of Unicode say, also those that are not looked up there', () => {
  const characters = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code));
  expect(characters.filter((each) => widthOf(each) !== stringWidth(each))).toEqual([]);
  for (const text of ['Zoë · “301” – 4 → 5 ✓', 'e\u0301', '日本語', '👩🏽‍🎓'])
    expect(widthOf(text)).toBe(stringWidth(text));
});
