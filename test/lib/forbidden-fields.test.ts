import { describe, expect, test } from 'vitest';
import { withoutFields } from '../../lib/forbidden-fields.ts';

const names = ['key', 'plainSecret'];

describe('a body without forbidden fields stays as it is, to the byte', () => {
  test.each([
    ['{ "data" : {"keys":1, "monkey":"key"},  "é":"\\u00e9" }'],
    ['{"data":'],
    ['the key is under the mat'],
    [''],
    ['"key"'],
    [JSON.stringify({ data: { customParameters: [{ name: 'options', value: '{"key":1}' }] } })],
    ['{"title":"{ key: k","a":"key: k","b":"[1]"}'],
    ['null'],
    [JSON.stringify({ data_base64: 'eyJhIjoxfQ', data: '{"a":', body: '["key"]' })],
  ])('%s', (body) => {
    expect(withoutFields(body, names)).toEqual({ body, fields: [] });
  });

  test('and any body where nothing is forbidden', () => {
    expect(withoutFields('{"key":"k"}')).toEqual({ body: '{"key":"k"}', fields: [] });
  });
});

test.each<[string, string, string, string[]]>([
  ['at the top', '{"key":"k","a":1}', '{"key":"…","a":1}', ['key']],
  [
    'deep inside, and in lists',
    '{"a":[{"b":{"plainSecret":"s"}}]}',
    '{"a":[{"b":{"plainSecret":"…"}}]}',
    ['plainSecret'],
  ],
  [
    'in another case',
    '{"KEY":"k","PlainSecret":"s"}',
    '{"KEY":"…","PlainSecret":"…"}',
    ['KEY', 'PlainSecret'],
  ],
  ['written in snake case', '{"plain_secret":"s","a":1}', '{"plain_secret":"…","a":1}', ['plain_secret']],
  [
    'in data that is JSON within JSON',
    JSON.stringify({ data: '{"key":"k","a":"the key: k"}' }),
    JSON.stringify({ data: '{"key":"…","a":"the key: k"}' }),
    ['key'],
  ],
  [
    'in what a topic has wrapped',
    JSON.stringify({ Type: 'Notification', Message: '{"data":{"key":"k"}}' }),
    JSON.stringify({ Type: 'Notification', Message: '{"data":{"key":"…"}}' }),
    ['key'],
  ],
  [
    'in a body that was written as JSON twice',
    JSON.stringify(JSON.stringify({ data: { key: 'k' } })),
    JSON.stringify(JSON.stringify({ data: { key: '…' } })),
    ['key'],
  ],
  ['of any type', '{"key":{"id":"k","of":["k"]}}', '{"key":"…"}', ['key']],
  ['written with escapes', '{"k\\u0065y":"k"}', '{"key":"…"}', ['key']],
  ['in JSON that is cut off', '{"a":1,"key":"k \\"quoted\\" k', '{"a":1,"key":"…"', ['key']],
  ['in JSON with a comma too many', '{"key": "k", "a": 1,}', '{"key": "…", "a": 1,}', ['key']],
  ['in what is no JSON, in snake case', 'plain_secret=abc', 'plain_secret="…"', ['plain_secret']],
  [
    'in data that is in base64, as CloudEvents has it',
    JSON.stringify({ data_base64: Buffer.from('{"key":"k"}').toString('base64') }),
    JSON.stringify({ data_base64: Buffer.from('{"key":"…"}').toString('base64') }),
    ['key'],
  ],
  [
    'in an event as Lambda receives it',
    JSON.stringify({ Records: [{ body: '{"data":{"key":"k"}}' }] }),
    JSON.stringify({ Records: [{ body: '{"data":{"key":"…"}}' }] }),
    ['key'],
  ],
  [
    'in wrapped JSON that is cut off',
    JSON.stringify({ data: '\uFEFF{"key":"k k, k' }),
    JSON.stringify({ data: '\uFEFF{"key":"…"' }),
    ['key'],
  ],
  ['in single quotes', "{'key': 'k, k k', 'a': 1}", `{'key': "…", 'a': 1}`, ['key']],
  [
    'in what is cut off, quoted with escapes',
    String.raw`{"data":"{\"key\":\"k, k\\k\",\"a\":1`,
    String.raw`{"data":"{\"key\":"…",\"a\":1`,
    ['key'],
  ],
  ['in what is no JSON', 'a: 1, key: abc, b: 2', 'a: 1, key: "…", b: 2', ['key']],
])('a forbidden field is without its value %s', (_, body, masked, fields) => {
  expect(withoutFields(body, names)).toEqual({ body: masked, fields });
});
