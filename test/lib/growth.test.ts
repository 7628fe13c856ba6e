// @module-tag long
import { describe, expect, test } from 'vitest';
import { readJson } from '../../lib/message/json.ts';
import { piecesOf } from '../../lib/platform/client/html.ts';
import { parseRefusal } from '../../lib/platform/client/parse-refusal.ts';
import { plainText } from '../../lib/platform/client/rich-text.ts';
import { fileUriProblem } from '../../lib/runtime/files/uri.ts';
import { withoutFileNames } from '../../lib/runtime/privacy/file-name.ts';
import { withoutFields } from '../../lib/runtime/privacy/letter-body.ts';
import { logText } from '../../lib/runtime/privacy/log-text.ts';
import { maskedText } from '../../lib/runtime/privacy/platform-words.ts';
import { redact, sensitiveValues, withoutEchoes } from '../../lib/runtime/privacy/request-secrets.ts';

/*
 * Whoever writes the texts that are searched must not decide how long that takes. So four times as much text may take four
 * times as long, and a little more; what is searched from each place to the end takes sixteen times as long.
 */

const values = sensitiveValues({
  query: { x_c: 'Zq3xYh0rT5uVw9AbCdEfGhIjKlMnOpQrStUvWxYz012' },
  headers: { authorization: `Bearer ${'aB3+dE5/gH7jK9lM'.repeat(4)}` },
});
const html = { 'content-type': 'text/html' };
const json = { 'content-type': 'application/json' };
const refusalOf =
  (headers: Record<string, string>, status = 403) =>
  (text: string) =>
    parseRefusal({ status, headers, text }, values);

/** From so many bytes on; less where a scan reads no more than a few thousand. */
type Scan = [what: string, scan: (text: string) => unknown, pieces: string[], bytes?: number];

const tags = [
  '<p',
  '<title',
  '<title>',
  '<script',
  '<script>',
  '</style',
  '<style>',
  '<!--',
  '<!doctype ',
  '<',
  '</',
  '<p>',
];
const secrets = [
  '?a',
  '?a=',
  'x_c=',
  'x_c ',
  'bearer ',
  'bearer+',
  'access_token',
  'client_secret= ',
  '%25',
  '%2525',
  '&#',
  'eyJ',
  'eyJ-',
  'eyJ.',
];

const scans: Scan[] = [
  ['the pieces of a page', (text) => [...piecesOf(text)].length, tags],
  ['an error page', (text) => refusalOf(html)(`<p>${text}`), [...tags, 'invalid ', 'required: a']],
  ['an error page that is 200', (text) => refusalOf(html, 200)(`<p>${text}`), tags],
  ['an error in words', refusalOf({}), [...secrets, 'invalid ', 'required: a', 'required: a:b, ', '\n', ' ']],
  ['an error in JSON', refusalOf(json), ['{"type":"', '"type"  ', '[', '{"a":', '\\"', '"\\', '{"Errors":[']],
  [
    'an error of many messages',
    (text) => refusalOf(json)(`{"Errors":["${text}",{}]}`),
    ['","', '"],["', ' '],
  ],
  [
    'an error of many fields',
    (text) => refusalOf(json)(`{"title":"x","errors":{"a":"${text}"}}`),
    ['","', '","b":"', '"},"errors":{"a":"', ' '],
  ],
  ['JSON', readJson, ['[', '{"a":', '"', '\\"', '\\', '[]', '"",']],
  [
    'a comment',
    (text) => plainText({ Text: '', Html: text }),
    [...tags, '<br', '<br ', '&', '&#', '&amp', '&amp;'],
  ],
  ['secrets', (text) => redact(text, values, 2_000), secrets],
  ['echoes', (text) => withoutEchoes(text, values), [...secrets, 'Zq3xYh0rT5uV'], 950],
  [
    'a line of the log',
    (text) => logText(text),
    [...secrets, '"', "Unexpected token '", 'a_', 'access', 'signature='],
    1_900,
  ],
  [
    'a body with fields that no message may carry',
    (text) => withoutFields(`{${text}`, ['key', 'plainSecret']),
    ['key', 'key ', '"key"', '"key":', '"key":"', 'key:\\"', "key='", '\\', 'plain_', 'key:\\"\\', 'key: '],
  ],
  [
    'JSON with fields that no message may carry',
    (text) => withoutFields(JSON.stringify({ a: text, b: [text] }), ['key', 'plainSecret']),
    [' ', '\t', 'a ', 'eyJr', 'W10', '{"a":', '[', '"', '\\"', '\\'],
  ],
  [
    'almost JSON with fields that no message may carry',
    (text) => withoutFields(text, ['key', 'plainSecret']),
    [
      '{"value":',
      '{"name":"key",',
      '{"value":1,',
      '}',
      ']',
      '{}',
      'k_',
      'key:1,',
      'key:1}',
      "key:'a',",
      'key:1   ',
      'key:{},',
      'key:[',
      '"key":"a","b":',
      '\\\\"key',
      'plain plain ',
      '%20',
      '"a",',
      '"\\"',
    ],
  ],
  [
    'the words that operators see',
    (text) => maskedText(text, '{"data":{"comments":"Dear Jane","points":8.5}}'),
    [
      '1',
      '1.',
      '8.5',
      '8.5a',
      'a8.5',
      '4d ',
      '4d 4',
      '=C3',
      '=C3=BC',
      '…',
      '...a',
      '８',
      '½',
      '\u200b',
      'a',
      'eyJ',
    ],
  ],
  [
    'the words of a message that operators do not see',
    (text) => maskedText('Jane 8.5', JSON.stringify({ data: { comments: text } })),
    ['1', '1.', '8.5', '8.5a', 'a8.5', '=C3', '=C3=BC', '…', '８', '½', '\u200b', 'a '],
  ],
  ['the names of files', withoutFileNames, ['‹', '‹a›', '›']],
  [
    'the address of a file',
    (text) => fileUriProblem(text),
    ['s3://', 's3://a/', 'https://a', '%', '[', '../'],
  ],
  [
    'the address of a file in S3',
    (text) => fileUriProblem(`s3://bucket/${text}`),
    ['/', '.', '../', '\u0000'],
  ],
];

const usualBytes = 12 * 1024;

/**
 * The mean CPU time of a run, in milliseconds. Only this thread counts: what is beside it on the machine, and how busy that is, makes
 * no difference. Some kernels count in steps of 4 ms, so it runs until there are many of those.
 */
const timeOf = async (work: () => unknown): Promise<number> => {
  const before = process.threadCpuUsage();
  for (let runs = 1; ; runs += 1) {
    await work();
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms >= 40 || runs >= 100) return ms / runs;
  }
};

/** Between four and sixteen, and far enough from four for a machine that is at much else. */
const maxGrowth = 11;

const growthOf = async (scan: Scan[1], piece: string, bytes: number): Promise<number> => {
  const text = piece.repeat(Math.ceil(bytes / piece.length));
  const [short, long] = [text, text.repeat(4)];
  const shortMs = await timeOf(() => scan(short));
  // Below this a clock tells nothing, and nobody waits for it.
  return (await timeOf(() => scan(long))) / Math.max(shortMs, 0.3);
};

describe('four times as long a text takes about four times as long', () => {
  test.each(scans)('%s', async (_, scan, pieces, bytes = usualBytes) => {
    const slow: string[] = [];
    for (const piece of pieces) {
      const growths = [await growthOf(scan, piece, bytes)];
      // Once more, where something else had the machine.
      while (growths.length < 10 && (growths.at(-1) ?? 0) > maxGrowth)
        growths.push(await growthOf(scan, piece, bytes));
      if (Math.min(...growths) > maxGrowth)
        slow.push(`${JSON.stringify(piece)}: ${Math.min(...growths).toFixed(1)}`);
    }
    expect(slow).toEqual([]);
  });
});
