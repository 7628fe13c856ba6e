import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventTexts } from '../../../../lib/delivery/handle/event-texts.ts';

const start = { byte: 0, line: 1, isList: false };

const textsIn = (file: string | Uint8Array, { pieceBytes = 7, from = start, maxBytes = 100 } = {}) => {
  const bytes = Buffer.from(file).subarray(from.byte);
  const pieces = async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  };
  return Array.fromAsync(eventTexts(pieces(), { from, maxBytes }));
};

const read = async (...given: Parameters<typeof textsIn>) => {
  const found = await textsIn(...given);
  return found.map((each) => ({
    line: each.line,
    ...('text' in each ? { text: Buffer.from(each.text).toString() } : { problem: each.problem }),
  }));
};

test.each([
  [
    '{"a":1}\n{"b":2}\n',
    [
      { line: 1, text: '{"a":1}' },
      { line: 2, text: '{"b":2}' },
    ],
  ],
  [
    '{"a":1}\r\n\r\nnot JSON\n\n{"b":2}',
    [
      { line: 1, text: '{"a":1}\r' },
      { line: 3, text: 'not JSON' },
      { line: 5, text: '{"b":2}' },
    ],
  ],
  ['\uFEFF\n {"a":"ü\u2028"}', [{ line: 2, text: '{"a":"ü\u2028"}' }]],
  [
    '\uFEFF[{"a":1},\n {"b":[1,{"c":"],[\\"}"}]}\n]\n',
    [
      { line: 1, text: '{"a":1}' },
      { line: 2, text: '\n {"b":[1,{"c":"],[\\"}"}]}\n' },
    ],
  ],
  ['[]', []],
  [
    '[ , 7 , nonsense]',
    [
      { line: 1, text: ' 7 ' },
      { line: 1, text: ' nonsense' },
    ],
  ],
  ['', []],
  [' \n ', []],
  [
    `{"a":"${'x'.repeat(200)}"}\n{"b":2}`,
    [
      { line: 1, problem: 'is larger than 100 bytes, the most that its queue accepts' },
      { line: 2, text: '{"b":2}' },
    ],
  ],
  [
    `[{"a":"${'x'.repeat(200)}"},{"b":2}]`,
    [
      { line: 1, problem: 'is larger than 100 bytes, the most that its queue accepts' },
      { line: 1, text: '{"b":2}' },
    ],
  ],
  [
    '[{"a":1},\n{"b":2',
    [
      { line: 1, text: '{"a":1}' },
      { line: 2, text: '\n{"b":2' },
      { line: 2, problem: 'is the end of the file, but the list is not closed' },
    ],
  ],
])('%j is read', async (file, texts) => {
  for (const pieceBytes of [1, 3, 7, 1_000]) expect(await read(file, { pieceBytes })).toEqual(texts);
});

test.each<[string, typeof start, [number, number, number, boolean, string][]]>([
  [
    '\uFEFF\n{"a":1}\r\n\n{"b":2}',
    start,
    [
      [2, 13, 3, false, '{"a":1}\r'],
      [4, 21, 4, false, '{"b":2}'],
    ],
  ],
  [
    `{"a":1}\n\n${'x'.repeat(101)}\n7`,
    { byte: 8, line: 2, isList: false },
    [
      [3, 111, 4, false, 'is larger than 100 bytes, the most that its queue accepts'],
      [4, 112, 4, false, '7'],
    ],
  ],
  [
    ' \uFEFF\n\t\n\v\f\r\n \n\b\n\u000E',
    start,
    [
      [1, 5, 2, false, '\uFEFF'],
      [5, 15, 6, false, '\b'],
      [6, 16, 6, false, '\u000E'],
    ],
  ],
  [
    `${'x'.repeat(100)}\n${'y'.repeat(101)}\nz`,
    start,
    [
      [1, 101, 2, false, 'x'.repeat(100)],
      [2, 203, 3, false, 'is larger than 100 bytes, the most that its queue accepts'],
      [3, 204, 3, false, 'z'],
    ],
  ],
  [
    '\n[1,\n"a\\\\",\n\n[[],{}],{"b":"[{"}\n]\n x\n y',
    start,
    [
      [2, 4, 2, true, '1'],
      [3, 11, 3, true, '\n"a\\\\"'],
      [5, 21, 5, true, '\n\n[[],{}]'],
      [5, 33, 6, true, '{"b":"[{"}\n'],
      [7, 35, 7, true, 'comes after the end of the list'],
    ],
  ],
  [
    '[1,\n\n 2\n',
    { byte: 3, line: 1, isList: true },
    [
      [3, 8, 4, true, '\n\n 2\n'],
      [4, 8, 4, true, 'is the end of the file, but the list is not closed'],
    ],
  ],
])('each text of %j tells its line, and where the next one begins', async (file, from, expected) => {
  for (const pieceBytes of [1, 2, 5, 1_000]) {
    const found = await textsIn(file, { pieceBytes, from });
    expect(
      found.map((each) => [
        each.line,
        each.end,
        each.nextLine,
        each.isList,
        'text' in each ? Buffer.from(each.text).toString() : each.problem,
      ]),
    ).toEqual(expected);
  }
});

test('what follows after a list is told once, and not read', async () => {
  const found = await read('[1]\n[2] [3]');
  expect(found).toEqual([
    { line: 1, text: '1' },
    { line: 2, problem: 'comes after the end of the list' },
  ]);
});

test('any file is read on from wherever a text ended, as if it were read at once', async () => {
  const element = fc.jsonValue().filter((value) => JSON.stringify(value).length < 1_000);
  await fc.assert(
    fc.asyncProperty(fc.array(element, { minLength: 2 }), fc.boolean(), async (elements, isList) => {
      const texts = elements.map((each) => JSON.stringify(each));
      const file = isList ? `[${texts.join(' ,\n')}]` : texts.join('\n');
      const bytes = Buffer.from(file);
      // A line that begins a file with a bracket is a list.
      if (!isList && file.startsWith('[')) return;
      const pieces = async function* (byte: number) {
        yield bytes.subarray(byte);
      };
      const whole = await Array.fromAsync(eventTexts(pieces(0), { from: start, maxBytes: 10_000 }));
      expect(whole).toHaveLength(texts.length);
      const at = Math.floor(whole.length / 2) - 1;
      const { end = 0, nextLine = 1 } = whole[at] ?? {};
      const from = { byte: end, line: nextLine, isList };
      const rest = await Array.fromAsync(eventTexts(pieces(end), { from, maxBytes: 10_000 }));
      expect(rest.map((each) => 'text' in each && `${Buffer.from(each.text)}`.trim())).toEqual(
        texts.slice(at + 1),
      );
      expect(rest.map(({ line }) => line)).toEqual(whole.slice(at + 1).map(({ line }) => line));
    }),
  );
});
