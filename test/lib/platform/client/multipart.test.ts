import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  contentDisposition,
  filePart,
  mediaType,
  multipart,
  type Part,
} from '../../../../lib/platform/client/multipart.ts';
import { anyCharacter } from '../../../any-character.ts';

describe('multipart', () => {
  test('a submission is a JSON part without disposition, then its files', async () => {
    const form = multipart('mixed', [
      { headers: { 'Content-Type': 'application/json' }, body: '{"Text":"é"}' },
      filePart({ name: '', fileName: 'essay.pdf', contentType: 'application/pdf', file: fileOf('%PDF') }),
    ]);
    const boundary = form.contentType.slice('multipart/mixed; boundary='.length);
    expect(form.contentType).toBe(`multipart/mixed; boundary=${boundary}`);
    const bytes = await bytesOf(form.body);
    expect(bytes.length).toBe(form.contentLength);
    expect(bytes.toString()).toBe(
      [
        `--${boundary}`,
        'Content-Type: application/json',
        '',
        '{"Text":"é"}',
        `--${boundary}`,
        'Content-Disposition: form-data; name=""; filename="essay.pdf"',
        'Content-Type: application/pdf',
        '',
        '%PDF',
        `--${boundary}--`,
        '',
      ].join('\r\n'),
    );
  });

  test('a strict parser finds exactly the parts that went in, and the length is the one announced', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPart, { minLength: 1, maxLength: 5 }), async (wanted) => {
        const form = multipart(
          'form-data',
          wanted.map(({ name, fileName, content, cuts }) =>
            filePart({ name, fileName, contentType: 'image/png', file: fileOf(content, cuts) }),
          ),
        );
        const bytes = await bytesOf(form.body);
        expect(bytes.length).toBe(form.contentLength);
        const found = parse(bytes, form.contentType);
        expect(found.map(({ content }) => content.toString('hex'))).toEqual(
          wanted.map(({ content }) => Buffer.from(content).toString('hex')),
        );
        for (const [index, { headers }] of found.entries()) {
          expect([...headers.keys()]).toEqual(['content-disposition', 'content-type']);
          expect(headers.get('content-type')).toBe('image/png');
          const { name, fileName } = namesIn(headers.get('content-disposition')!);
          expect(name).toBe(wanted[index]!.name.toWellFormed());
          expect(fileName).toBe(wanted[index]!.fileName.toWellFormed());
        }
      }),
    );
  });

  test.each([
    ['more', 3],
    ['fewer', 5],
  ])('a stream with %s bytes than it announced breaks the body before its end', async (_case, announced) => {
    const form = multipart('mixed', [{ headers: {}, body: { ...fileOf('abcd', [1, 2]), bytes: announced } }]);
    const handedOver: Uint8Array[] = [];
    const reading = (async () => {
      for await (const piece of form.body) handedOver.push(piece);
    })();
    await expect(reading).rejects.toThrow(/announced|too early/);
    expect(Buffer.concat(handedOver).length).toBeLessThan(form.contentLength);
    expect(form.complete()).toBe(false);
  });

  test('an error of a stream is the error of the body, and the streams behind it are never opened', async () => {
    let opened = 0;
    const failing = async function* () {
      yield Buffer.from('ab');
      throw new Error('the file went away');
    };
    const neverOpened = () => {
      opened += 1;
      return failing();
    };
    const form = multipart('mixed', [
      { headers: {}, body: { bytes: 4, stream: failing } },
      { headers: {}, body: { bytes: 0, stream: neverOpened } },
    ]);
    await expect(bytesOf(form.body)).rejects.toThrow('the file went away');
    expect(opened).toBe(0);
  });

  test('a body that nobody reads to its end lets go of the file it was reading', async () => {
    let released = false;
    const endless = async function* () {
      try {
        for (;;) yield Buffer.from('abcd');
      } finally {
        released = true;
      }
    };
    const form = multipart('mixed', [{ headers: {}, body: { bytes: 1_000_000, stream: endless } }]);
    let pieces = 0;
    for await (const _ of form.body) {
      pieces += 1;
      if (pieces === 5) break;
    }
    expect(released).toBe(true);
  });

  test('it is complete when the closing boundary was handed over, and not a piece earlier', async () => {
    const form = multipart('form-data', [
      { headers: {}, body: 'a' },
      { headers: {}, body: fileOf('bc', [1]) },
    ]);
    let text = '';
    for await (const piece of form.body) {
      text += Buffer.from(piece).toString();
      expect(form.complete()).toBe(/--\r\n$/.test(text));
    }
    expect(form.complete()).toBe(true);
  });

  test.each([
    ['a line break in a value', { 'Content-Type': 'image/png\r\nX-Evil: 1' }],
    ['a colon in a name', { 'X: Y': 'z' }],
    ['an empty name', { '': 'z' }],
  ])('a header with %s is refused', (_case, headers) => {
    expect(() => multipart('mixed', [{ headers, body: '' }] as Part[])).toThrow(/no header may hold/);
  });
});

describe('names in a disposition', () => {
  test.each([
    ['essay.pdf', 'essay.pdf'],
    ['Prüfung 日本 😀.pdf', 'Prüfung 日本 😀.pdf'],
    ['a"; name="b', 'a%22; name=%22b'],
    ['a\r\nX-Evil: 1\r\n\r\n', 'a%0D%0AX-Evil: 1%0D%0A%0D%0A'],
    ['a\\', 'a%5C'],
    ['\0\t\x7f\x85', '%00%09%7F%C2%85'],
    ['\ud800.pdf', '\ufffd.pdf'],
    ['100%.pdf', '100%.pdf'],
    ['', ''],
  ])('%j is written as %j', (fileName, written) => {
    expect(contentDisposition('', fileName)).toBe(`form-data; name=""; filename="${written}"`);
  });

  test('a field that is no file has no file name', () => {
    expect(contentDisposition('te"xt')).toBe('form-data; name="te%22xt"');
  });
});

describe('media types', () => {
  test.each(['image/png', 'application/vnd.ms-excel', 'text/plain; charset=utf-8', 'a/b;c="d e";f=g'])(
    '%j is one',
    (text) => expect(text).toMatch(mediaType),
  );
  test.each([
    '',
    'png',
    'image/',
    'image/png\r\nX: y',
    'image/png;',
    'image/png; a',
    'a/b;c="d"e"',
    'ä/b',
    'a/b c',
  ])('%j is none', (text) => expect(text).not.toMatch(mediaType));
});

// A percent sign stays as it is, as in browsers; names with one are left out as their decoding is ambiguous.
const anyName = fc
  .oneof(
    fc.string({ unit: anyCharacter, maxLength: 30 }),
    fc.string({
      unit: fc.constantFrom('"', '\\', '\r', '\n', '\0', ';', '=', 'ü', '😀', '\ud800', '-', ' '),
      maxLength: 30,
    }),
  )
  .map((name) => name.replaceAll('%', ''));

const anyContent = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }),
  fc
    .string({ unit: fc.constantFrom('\r\n', '--', '-', '\r', '\n', 'sis-relay-') })
    .map((text) => Buffer.from(text)),
);

const anyPart = fc.record({
  name: anyName,
  fileName: anyName,
  content: anyContent,
  cuts: fc.array(fc.nat(2_000), { maxLength: 4 }),
});

const fileOf = (content: string | Uint8Array, cuts: number[] = []) => {
  const bytes = Buffer.from(content);
  const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  return {
    bytes: bytes.length,
    stream: async function* () {
      for (const [index, edge] of edges.slice(1).entries()) yield bytes.subarray(edges[index], edge);
    },
  };
};

const bytesOf = async (body: AsyncIterable<Uint8Array>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(body));

/** Knows the grammar of RFC 2046 and nothing of the code under test; throws at anything unusual. */
const parse = (bytes: Buffer, contentType: string) => {
  const boundary = /^multipart\/(?:mixed|form-data); boundary=([\w-]{1,70})$/.exec(contentType)?.[1];
  if (!boundary) throw new Error(`no boundary in ${contentType}`);
  const text = `\r\n${bytes.toString('latin1')}`;
  const end = `\r\n--${boundary}--\r\n`;
  const [preamble, ...sections] = text.slice(0, -end.length).split(`\r\n--${boundary}`);
  if (!text.endsWith(end) || preamble !== '')
    throw new Error('bytes before the first boundary or after the last');
  return sections.map((section) => {
    const [, head, content] = /^\r\n((?:[^\r\n]+\r\n)*)\r\n(.*)$/s.exec(section) ?? [];
    if (head === undefined || content === undefined)
      throw new Error(`not a part: ${JSON.stringify(section)}`);
    const headers = head
      .split('\r\n')
      .slice(0, -1)
      .map((line): [string, string] => {
        const [, name, value] = /^([A-Za-z-]+): (.*)$/.exec(line) ?? [];
        if (!name || value === undefined) throw new Error(`not a header: ${line}`);
        return [name.toLowerCase(), Buffer.from(value, 'latin1').toString()];
      });
    return { headers: new Map(headers), content: Buffer.from(content, 'latin1') };
  });
};

const namesIn = (disposition: string) => {
  const [, name, fileName] = /^form-data; name="([^"]*)"; filename="([^"]*)"$/.exec(disposition) ?? [];
  if (name === undefined || fileName === undefined) throw new Error(`not a disposition: ${disposition}`);
  return { name: decodeURIComponent(name), fileName: decodeURIComponent(fileName) };
};
