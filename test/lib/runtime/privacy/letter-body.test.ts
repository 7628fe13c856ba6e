import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxMessageBytes, sqsProblem } from '../../../../lib/message/sqs-limits.ts';
import { unread, withoutFields } from '../../../../lib/runtime/privacy/letter-body.ts';
import { anyCharacter } from '../../../any-character.ts';
import { inTopic, onBus } from '../../../envelopes.ts';
import { runs } from '../../../seed.ts';

const names = ['key', 'plainSecret'];
const noEvent = 'is no event in which it can be found';
const withheldFrom = (body: string, why = noEvent) => ({
  body: JSON.stringify({
    withheld: `The message may hold a secret, and ${why}`,
    bytes: Buffer.byteLength(body),
  }),
  fields: [],
  isWithheld: true,
});

describe('an event without forbidden fields stays as it is, to the byte', () => {
  test.each([
    ['{ "data" : {"keys":1, "monkey":"k", "n":1.0e1, "n":2},  "é":"\\u00e9" }'],
    [JSON.stringify({ data: { customParameters: [{ name: 'options', value: '{"a":1}' }] } })],
  ])('%s', (body) => {
    for (const isTaken of [true, false])
      expect(withoutFields(body, names, isTaken)).toEqual({ body, fields: [] });
  });

  test('and any body where nothing is forbidden', () => {
    for (const body of ['{"key":"k"}', '{"data":', ''])
      expect(withoutFields(body)).toEqual({ body, fields: [] });
  });

  test('and one that was taken, in an envelope or with such a word in its texts', () => {
    const event = { data: { title: 'the key', customParameters: [{ name: 'key', value: 'k' }] } };
    const body = JSON.stringify(event);
    expect(withoutFields(body, names, true)).toEqual({ body, fields: [] });
    const wrapped = inTopic(JSON.stringify({ data: { title: 'a title' } }));
    expect(withoutFields(wrapped, names, true)).toEqual({ body: wrapped, fields: [] });
  });
});

test.each<[string, string, string, string[]]>([
  ['of its data', '{"data":{"key":"k","a":1}}', '{"data":{"key":"…","a":1}}', ['key']],
  ['beside its data', '{"key":"k","data":{}}', '{"key":"…","data":{}}', ['key']],
  [
    'deep inside, and in lists',
    '{"data":{"a":[{"b":{"plainSecret":"s"}}]}}',
    '{"data":{"a":[{"b":{"plainSecret":"…"}}]}}',
    ['plainSecret'],
  ],
  [
    'in another case',
    '{"data":{"KEY":"k","PlainSecret":"s","plain_secret":1}}',
    '{"data":{"KEY":"…","PlainSecret":"…","plain_secret":"…"}}',
    ['KEY', 'PlainSecret', 'plain_secret'],
  ],
  ['of any type', '{"data":{"key":{"id":"k","of":["k"]}}}', '{"data":{"key":"…"}}', ['key']],
  ['written with escapes', '{"data":{"k\\u0065y":"k"}}', '{"data":{"key":"…"}}', ['key']],
  ['twice', '{"data":{"key":"k","key":["k"],"a":1}}', '{"data":{"key":"…","a":1}}', ['key']],
])('a forbidden field is without its value %s', (_, body, masked, fields) => {
  for (const isTaken of [true, false])
    expect(withoutFields(body, names, isTaken)).toEqual({ body: masked, fields });
});

test.each(['ltiKey', 'oauth_consumer_key', 'Access-Key', 'key2', 'myPlainSecret', 'ＫＥＹ', 'kéy', 'APIKey'])(
  'a field %s, with such a word in its name, is without its value, unless its message was taken',
  (field) => {
    const body = (value: string) => JSON.stringify({ data: { [field]: value, keys: 'a', monkey: 'b' } });
    expect(withoutFields(body('k'), names)).toEqual({ body: body('…'), fields: [field] });
    expect(withoutFields(body('k'), names, true).body).toBe(body('k'));
  },
);

test('of an id that may hold a secret a text in its place has nothing', () => {
  for (const id of ['key=k', 'the plain secret: s', 'a b'])
    expect(withoutFields(JSON.stringify({ id, key: 'k' }), names).body).not.toContain('"id"');
});

const event = { data: { linkId: 7, plainSecret: 's' } };
test.each([
  ['no JSON', '{"data":{"key":"k"},}'],
  ['JSON that is cut off', '{"data":{"key":"k'],
  ['XML', '<link><key>k</key></link>'],
  ['JSON in a text', JSON.stringify({ data: '{"a":1}' })],
  ['JSON in base64', JSON.stringify({ data_base64: 'eyJrZXkiOiJrIn0=' })],
  ['JSON written twice', JSON.stringify(JSON.stringify(event))],
  ['a list', JSON.stringify([event])],
  ['an event without data', '{"a":1}'],
  ['an event with a name in a text', JSON.stringify({ data: { a: 'plain-secret: s' } })],
  ['an event with a text that is JSON', JSON.stringify({ data: { a: '{"key":"k"}', key: 'k' } })],
  ['a pair of name and value', JSON.stringify({ data: { name: 'key', value: 'k' } })],
  ['an empty text', ''],
])('%s is withheld whole', (_, body) => {
  expect(withoutFields(body, names)).toEqual(withheldFrom(body));
});

test.each([
  ['SNS', inTopic(JSON.stringify(event))],
  ['EventBridge', onBus({ specversion: '1.0', ...event })],
])('an envelope of %s that holds a secret is withheld whole, though its message was taken', (_, body) => {
  for (const isTaken of [true, false])
    expect(withoutFields(body, names, isTaken)).toMatchObject({ fields: [], isWithheld: true });
});

test('of a message that must not be read is kept nothing, unless nothing is forbidden', () => {
  const body = '{"id":"event-1","key":"é"}';
  expect(unread(body)).toEqual({ body, fields: [] });
  expect(unread(body, names)).toEqual({
    body: '{"withheld":"The message may hold a secret, and cannot be searched for it","bytes":27,"id":"event-1"}',
    fields: [],
    isWithheld: true,
  });
});

test.each([
  [`"${'i'.repeat(256)}"`, `,"id":"${'i'.repeat(256)}"`],
  [`"${'i'.repeat(257)}"`, ''],
  [String.raw`"a\uD800"`, ',"id":"a\u{FFFD}"'],
  ['7', ''],
])('of the id %s a text in place of the message has %j', (id, kept) => {
  const { body } = unread(`{"id":${id}}`, names);
  expect(body.replace(/^.*"bytes":\d+|\}$/g, '')).toBe(kept);
});

describe('what is left of a body', () => {
  test('is taken by SQS where it was taken before', () => {
    const body = String.raw`{"data":{"description":"\uFFFF\uFFFE\u0000\uD800","key":"k"}}`;
    const masked = withoutFields(body, names);
    expect(sqsProblem({ body: masked.body, attributes: {} })).toBeUndefined();
    expect(JSON.parse(masked.body)).toEqual({ data: { ...JSON.parse(body).data, key: '…' } });
  });

  test('is no larger than a letter can be', () => {
    const filled = (bytes: number) => {
      const begin = '{"data":{"key":1,"b":"';
      return `${begin}${'.'.repeat(bytes - begin.length - 3)}"}}`;
    };
    expect(withoutFields(filled(maxMessageBytes - 4), names).fields).toEqual(['key']);
    expect(withoutFields(filled(maxMessageBytes - 3), names)).toEqual(
      withheldFrom(filled(maxMessageBytes - 3), 'is too large to mask it'),
    );
  });

  test.each([
    ['is nested too often', '['.repeat(11_000), noEvent],
    ['has too many values', `[${'{"key":"k"},'.repeat(6_000)}1]`, 'is too large to look for it'],
  ])('is its size, where it %s', (_, inner, why) => {
    const body = `{"data":{"a":${inner}}}`;
    expect(withoutFields(body, names).isWithheld).toBe(true);
    if (why !== noEvent) expect(withoutFields(body, names)).toEqual(withheldFrom(body, why));
  });

  test('tells of some of the names that it was spelled by, in short', () => {
    const spellings = Array.from({ length: 1_000 }, (_, at) => `k${'_'.repeat(at)}ey`);
    const data = Object.fromEntries(spellings.map((name) => [name, 1]));
    expect(withoutFields(JSON.stringify({ data }), names, true).fields).toEqual(
      spellings.slice(0, 10).map((name) => name.slice(0, 40)),
    );
  });

  test('is the same document, but for these values', () => {
    const name = fc.constantFrom(
      'key',
      'KEY',
      'plain_secret',
      'PlainSecret',
      'a',
      'monkey',
      'data',
      '__proto_',
    );
    const { document } = fc.letrec((tie) => ({
      document: fc.oneof(
        { maxDepth: 6 },
        fc.oneof(
          fc.string({ unit: anyCharacter }),
          fc.constant('s3cr3t-value'),
          fc.integer(),
          fc.constant(null),
        ),
        fc.array(tie('document'), { maxLength: 4 }),
        fc.dictionary(name, tie('document'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    const isForbidden = (each: string) => /^(key|plain_?secret)$/i.test(each);
    fc.assert(
      fc.property(document, fc.constantFrom(0, 1, 2, 3), (json, indent) => {
        const body = JSON.stringify({ data: { json } }, null, indent);
        expect(JSON.parse(withoutFields(body, names, true).body)).toEqual(
          JSON.parse(body, (each, value) => (isForbidden(each) ? '…' : value)),
        );
      }),
      { numRuns: runs(500) },
    );
  });
});
