import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxMessageBytes, sqsProblem } from '../../../../lib/message/sqs-limits.ts';
import { unread, withoutFields } from '../../../../lib/runtime/privacy/letter-body.ts';
import { anyCharacter } from '../../../any-character.ts';
import { inTopic, onBus } from '../../../envelopes.ts';
import { runs } from '../../../seed.ts';

const names = ['key', 'plainSecret'];
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a body without forbidden fields stays as it is, to the byte', () => {
  test.each([
    ['{ "data" : {"keys":1, "monkey":"key"},  "é":"\\u00e9" }'],
    ['{"data":'],
    ['the monkey is under the mat, and the keys are, too'],
    [''],
    ['"key"'],
    [JSON.stringify({ data: { customParameters: [{ name: 'options', value: '{"key":1}' }] } })],
    ['{"title":"{ key: k","a":"key: k","b":"[1]"}'],
    ['null'],
    ['{"title":"key","value":"v","a":{"name":5,"value":1}}'],
    ['{"{\\"key\\":1}":1}'],
    [JSON.stringify({ data_base64: 'eyJhIjoxfQ', data: '{"a":', body: '["key"]' })],
    ['"value":[1],"value":"v"]}'],
    [JSON.stringify({ message: 'no "key" <key>', a: '{the key, that is}' })],
    [`{"data_base64":"eyJh\\nIjoxfQ==","Xdata_base64":"${base64('key=k, k')}"}`],
    [`{"data_base64s":"${base64('key=k, k')}","name":["key"],"value":"v"}`],
    ['the donkey_1, mon-key, key_s and keyé: k'],
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
  ['written with escapes', '{"k\\u0065y":"k"}', '{"k\\u0065y":"…"}', ['key']],
  ['each time that it is given', '{"key":"k","key":["k"],"a":1}', '{"key":"…","key":"…","a":1}', ['key']],
  [
    'in other signs',
    '{"Plain Secret":"s","key.":"k"}',
    '{"Plain Secret":"…","key.":"…"}',
    ['Plain Secret', 'key.'],
  ],
  [
    'beside what is not changed, to the byte',
    '{ "a" : "\\uffff\\/\\u00e9" ,\t"key" : {"b":[1]} , "n":1.0e1, "n":2 }',
    '{ "a" : "\\uffff\\/\\u00e9" ,\t"key" : "…" , "n":1.0e1, "n":2 }',
    ['key'],
  ],
  [
    'beside what is not changed, in JSON within JSON',
    '{"data":"{\\u0022key\\u0022 :\\"\\u006b\\",\\"a\\":\\"\\\\uffff\\/\\"}"}',
    '{"data":"{\\u0022key\\u0022 :\\"…\\",\\"a\\":\\"\\\\uffff\\/\\"}"}',
    ['key'],
  ],
  [
    'a number, in JSON within JSON',
    JSON.stringify({ data: '{"key":12345,"a":1}' }),
    JSON.stringify({ data: '{"key":"…","a":1}' }),
    ['key'],
  ],
  [
    'in data in base64 that is no UTF-8',
    `{"data_base64":"${Buffer.concat([Buffer.from('{"key":"k","a":"'), Buffer.from([0xfc]), Buffer.from('"}')]).toString('base64')}"}`,
    `{"data_base64":"${Buffer.concat([Buffer.from('{"key":"…","a":"'), Buffer.from([0xfc]), Buffer.from('"}')]).toString('base64')}"}`,
    ['key'],
  ],
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
    'in any text that is JSON',
    JSON.stringify({ payload: '{"key":"k"}', detail: '{"a":[{"key":"k"}]}', list: ['{"key":"k"}'] }),
    JSON.stringify({ payload: '{"key":"…"}', detail: '{"a":[{"key":"…"}]}', list: ['{"key":"…"}'] }),
    ['key'],
  ],
  [
    'in JSON within JSON within JSON',
    JSON.stringify({ a: JSON.stringify({ b: JSON.stringify({ key: 'k' }) }) }),
    JSON.stringify({ a: JSON.stringify({ b: JSON.stringify({ key: '…' }) }) }),
    ['key'],
  ],
  [
    'in any text that is JSON in base64',
    JSON.stringify({ data: base64('{"key":"k"}'), a: base64('{"é":[{"key":"k"}]}') }),
    JSON.stringify({ data: base64('{"key":"…"}'), a: base64('{"é":[{"key":"…"}]}') }),
    ['key'],
  ],
  [
    'beside its name',
    '{"a":[{"name":"key","value":"k"},{"Value":{"b":[1]},"Name":"plain_secret"},{"key":"key","value":1}]}',
    '{"a":[{"name":"key","value":"…"},{"Value":"…","Name":"plain_secret"},{"key":"…","value":"…"}]}',
    ['key', 'plain_secret'],
  ],
  [
    'in wrapped JSON that is cut off',
    JSON.stringify({ data: '{"key":"k k, k' }),
    '{"data":"…"}',
    ['key', 'data'],
  ],
  ['in almost JSON within JSON', JSON.stringify('{"key":1,}'), '"…"', ['key', 'text']],
  [
    'in base64 for addresses',
    JSON.stringify({ a: Buffer.from('{"key":"k","a":">>>???"}').toString('base64url') }),
    JSON.stringify({ a: Buffer.from('{"key":"…","a":">>>???"}').toString('base64url') }),
    ['key'],
  ],
  [
    'beside its name, and nothing else that is there',
    '{"value":{"b":{"key":"k"}},"other":{"b":1},"name":"key","id":7}',
    '{"value":"…","other":{"b":1},"name":"key","id":7}',
    ['key'],
  ],
  [
    'beside its name, and before that',
    '{"value":"v","b":{"key":"k"},"parameter":"plain-secret"}',
    '{"value":"…","b":{"key":"…"},"parameter":"plain-secret"}',
    ['key', 'plain-secret'],
  ],
  [
    'in an object or a list that is a value',
    '{"value":{"key":"k"},"b":{"value":[{"key":"k"}]}}',
    '{"value":{"key":"…"},"b":{"value":[{"key":"…"}]}}',
    ['key'],
  ],
  [
    'up to its end',
    '{"key":{"a":"}","b":["]\\""]},"KEY":12 ,"c":{"key":true},"d":{"key":null\n}}',
    '{"key":"…","KEY":"…" ,"c":{"key":"…"},"d":{"key":"…"\n}}',
    ['key', 'KEY'],
  ],
  ['in a body that was written twice, between spaces', ' \n"{\\"key\\":1,}"\n', ' \n"…"\n', ['key', 'text']],
  [
    'in JSON between spaces',
    JSON.stringify({ a: ' \n[{"key":"k"}] \n', data: '         {"key":"k"} ', body: ' \n<key>k</key>' }),
    JSON.stringify({ a: ' \n[{"key":"…"}] \n', data: '         {"key":"…"} ', body: '…' }),
    ['key', 'body'],
  ],
  [
    'in wrapped JSON that is cut off within a word',
    JSON.stringify({ data: '{"key":"k k, abcdefgh' }),
    '{"data":"…"}',
    ['key', 'data'],
  ],
  [
    'in base64 with padding or without, and in lines',
    '{"a":"eyJrZXkiOiJrIn0=","b":"eyJrZXkiOiJrIn0","c":"eyJrZXkiOiJr\\nayJ9\\n","d":"eyJrZXkiOjF9IA==\\n"}',
    '{"a":"eyJrZXkiOiLigKYifQ==","b":"eyJrZXkiOiLigKYifQ","c":"eyJrZXkiOiLigKYifQ","d":"eyJrZXkiOiLigKYifSA="}',
    ['key'],
  ],
  [
    'in data in base64 under another name of it',
    `{"DataBase64":"${base64('key=k, k')}","a":"${base64('key=k, k')}"}`,
    `{"DataBase64":"…","a":"${base64('key=k, k')}"}`,
    ['DataBase64'],
  ],
  ['in wrapped XML', JSON.stringify({ data: '<key>k</key>', a: 1 }), '{"data":"…","a":1}', ['data']],
  [
    'in bytes in base64 that are no JSON',
    JSON.stringify({ data_base64: base64('key=k') }),
    '{"data_base64":"…"}',
    ['data_base64'],
  ],
])('a forbidden field is without its value %s', (_, body, masked, fields) => {
  expect(withoutFields(body, names)).toEqual({ body: masked, fields });
});

test.each([
  '{"key":{"b":"k, k"},"a":1,}',
  '{"a":1,"key":"k \\"quoted\\" k',
  'plain_secret=k',
  "{'key': 'k, k k', 'a': 1}",
  String.raw`{"data":"{\"key\":\"k, k\\k\",\"a\":1`,
  '{"data":{"a":"{\\"key\\":1}",}}',
  'a: 1, key: k, b: 2',
  'the key is under the mat',
  '<link><KEY>k</KEY></link>',
  '{"key" => "k"}',
  'key\tk',
  'payload=%7B%22key%22%3A%22k%22%7D',
  '{&quot;key&quot;:&quot;k&quot;}',
  String.raw`{\u0022key\u0022:1}`,
  String.raw`{"k\u0065y":"k",}`,
  String.raw`"k\u0065y":"k"`,
  '{"ke\t\ty":"k"}',
  `{"a":"${base64('{"key":"k"}')}",}`,
  '"name":"key","value":"k"',
  'é: plain secret',
  'PLAIN.SECRET=k',
  '-key-x',
  'a%20key_=k',
  '{"key":12',
  String.raw`{"a":x{"k\u0065y":"k"}}`,
])('what is no JSON and has a forbidden name is left out whole: %s', (body) => {
  const masked = withoutFields(body, names);
  expect(masked).toMatchObject({ fields: [], isWithheld: true });
  expect(JSON.parse(masked.body)).toEqual({
    withheld: 'The message may hold a secret, and is not JSON',
    bytes: Buffer.byteLength(body),
  });
});

test('names of fields may be of any letters and digits', () => {
  expect(withoutFields('{"CL-É_2":1,"clé":2,"cl2":3,"l2":4}', ['a', 'clé 2'])).toEqual({
    body: '{"CL-É_2":"…","clé":2,"cl2":3,"l2":4}',
    fields: ['CL-É_2'],
  });
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

test('a message that was taken has secrets in what wraps it, too', () => {
  const body = JSON.stringify({ data: '{"key":1}', data_base64: base64('{"key":"k"}') });
  const masked = JSON.stringify({ data: '{"key":"…"}', data_base64: base64('{"key":"…"}') });
  expect(withoutFields(body, names, true)).toEqual({ body: masked, fields: ['key'] });
});

test.each([
  { description: '{"key":1}', customParameters: [{ name: 'key', value: 'k' }] },
  { title: base64('{"key":"k"}'), a: ['{"key":1}'] },
])('a message that was taken goes back with what its fields may hold: %j', (data) => {
  const body = JSON.stringify({ data });
  expect(withoutFields(body, names, true)).toEqual({ body, fields: [] });
  expect(withoutFields(body, names).fields).toEqual(['key']);
  expect(withoutFields(JSON.stringify({ key: 'k', data }), names, true).body).toBe(
    JSON.stringify({ key: '…', data }),
  );
});

describe('what is left of a body', () => {
  const problemOf = (body: string) => sqsProblem({ body, attributes: {} });

  test('is taken by SQS where it was taken before, however many values are gone', () => {
    const pairs = (count: number, pair: string) => `[${Array.from({ length: count }, () => pair).join(',')}]`;
    const filler = (bytes: number) => `"${'x'.repeat(bytes)}"`;
    for (const pair of ['{"key":1}', '{"key":"k"}', '{"key":[]}']) {
      const keys = pairs(pair === '{"key":[]}' ? 3_200 : 4_800, pair);
      const body = `[${keys},${filler(maxMessageBytes - 10 - keys.length)}]`;
      const quoted = JSON.stringify({ data: keys });
      const wrapped = `${quoted.slice(0, -1)},"b":${filler(maxMessageBytes - 20 - quoted.length)}}`;
      for (const each of [body, wrapped]) {
        expect(problemOf(each)).toBeUndefined();
        const masked = withoutFields(each, names);
        expect(masked.fields).toEqual(['key']);
        expect(problemOf(masked.body)).toBeUndefined();
        expect(Buffer.byteLength(masked.body)).toBeLessThanOrEqual(maxMessageBytes);
        expect(masked.body).not.toMatch(/:\\?"k/);
      }
    }
  });

  test('has a sign for each value where there is room for it in the letter', () => {
    const none = base64('{"key":0}');
    const filled = (bytes: number, begin: string) => `${begin}"b":"${'.'.repeat(bytes - begin.length - 7)}"}`;
    // These many bytes are left beside the failure. (The sign has three.)
    for (const [bytes, begin, masked] of [
      [1_032_192 - 4, '{"key":1,', '{"key":"…",'],
      [1_032_192 - 3, '{"key":1,', '{"key":0,'],
      [1_032_192 - 1, '{"key":"k",', '{"key":"",'],
      [1_032_192 + 9, '{"key":"kkk",', '{"key":"…",'],
      [1_032_192 + 9, '{"key":"kk",', '{"key":"",'],
      [1_032_192 - 1, `{"data":"${base64('{"key":1}')}",`, `{"data":"${none}",`],
    ] as const) {
      const body = filled(bytes, begin);
      expect(body.length).toBe(bytes);
      // Not compared as a whole: a difference would be printed for long.
      expect(withoutFields(body, names).body.replace(/"b":"\.+"\}$/, '')).toBe(masked);
    }
  });

  test('holds no character that it did not hold', () => {
    const body = String.raw`{"description":"\uFFFF\u0000\uD800","key":"k"}`;
    expect(withoutFields(body, names).body).toBe(body.replace('"k"', '"…"'));
  });

  test.each([20, 2_000])('is found %i levels deep', (levels) => {
    const within = 1_000;
    const body = `${'{"a":['.repeat(levels)}{"key":${'['.repeat(within)}"k"${']'.repeat(within)}}${']}'.repeat(levels)}`;
    expect(withoutFields(body, names).body).toBe(
      `${'{"a":['.repeat(levels)}{"key":"…"}${']}'.repeat(levels)}`,
    );
  });

  test.each([
    ['is nested as often', '['.repeat(11_000)],
    ['has too many values', `[${'{"key":"k"},'.repeat(6_000)}1]`],
    ['has too many, and is cut off', `[${'{"key":"k"},'.repeat(6_000)}`],
  ])('is its size and its id, where it %s', (_, inner) => {
    const body = `{"id":"event-1","a":${inner}}`;
    const masked = withoutFields(body, names);
    expect(masked).toMatchObject({ fields: [], isWithheld: true });
    expect(JSON.parse(masked.body)).toEqual({
      withheld: 'The message may hold a secret, and is too large to look for it',
      ...{ bytes: body.length, id: 'event-1' },
    });
    expect(withoutFields(body)).toEqual({ body, fields: [] });
  });

  test('is without a text that is too large to look into', () => {
    const inner = `[${'{"key":"k"},'.repeat(6_000)}1]`;
    for (const field of ['data', 'a'])
      expect(withoutFields(JSON.stringify({ [field]: inner, b: 1 }), names)).toEqual({
        body: JSON.stringify({ [field]: '…', b: 1 }),
        fields: [field],
      });
    expect(withoutFields(JSON.stringify({ a: base64(inner) }), names).body).toBe('{"a":"…"}');
  });

  test('tells of some of the names that it was spelled by, in short', () => {
    const spellings = Array.from({ length: 1_000 }, (_, at) => `k${'_'.repeat(at)}ey`);
    const { fields } = withoutFields(
      JSON.stringify(Object.fromEntries(spellings.map((name) => [name, 1]))),
      names,
    );
    expect(fields).toEqual(spellings.slice(0, 10));
    expect(withoutFields(`{"k${'_'.repeat(100_000)}ey":1}`, names).fields).toEqual([`k${'_'.repeat(39)}`]);
    const inner = '['.repeat(10_001);
    expect(
      withoutFields(JSON.stringify({ ['a'.repeat(41)]: `${inner}"key"${']'.repeat(10_001)}` }), names),
    ).toEqual({
      body: `{"${'a'.repeat(41)}":"…"}`,
      fields: ['a'.repeat(40)],
    });
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
        fc.pre(typeof json === 'object' && json !== null);
        const body = JSON.stringify(json, null, indent);
        expect(JSON.parse(withoutFields(body, names).body)).toEqual(
          JSON.parse(body, (each, value) => (isForbidden(each) ? '…' : value)),
        );
      }),
      { numRuns: runs(500) },
    );
  });
});

describe('text within text', () => {
  const wrappedInBase64 = (inner: string, levels: number): string =>
    Array.from({ length: levels }).reduce<string>(
      (text) => JSON.stringify({ data_base64: base64(text) }),
      inner,
    );
  const unwrappedFrom = (body: string, levels: number): string =>
    Array.from({ length: levels }).reduce<string>(
      (text) => Buffer.from(JSON.parse(text).data_base64, 'base64').toString(),
      body,
    );

  test.each([2, 5, 12])('in base64 is replaced by the same sign %i levels deep', (levels) => {
    const body = wrappedInBase64('{"key":"k","a":1}', levels);
    const masked = withoutFields(body, names);
    expect(masked.fields).toEqual(['key']);
    expect(unwrappedFrom(masked.body, levels)).toBe('{"key":"…","a":1}');
  });

  test('that nobody nests so deep is removed whole, however often it is repeated', () => {
    for (const levels of [17, 30]) {
      const masked = withoutFields(wrappedInBase64('{"key":"k"}', levels), names);
      expect(masked.fields).toEqual(['data_base64']);
      expect(masked.body.length).toBeLessThan(10_000);
      expect(unwrappedFrom(masked.body, 16)).toBe('{"data_base64":"…"}');
    }
    const json = Array.from({ length: 17 }).reduce<string>(
      (text) => JSON.stringify({ a: text }),
      '{"key":"k"}',
    );
    expect(withoutFields(json, names).fields).toEqual(['a']);
  });
});

describe('a secret is removed from an envelope, and all else stays to the byte', () => {
  const event = { specversion: '1.0', data: { linkId: 7, plainSecret: 'a "secret"' } };
  const text = JSON.stringify(event, null, 1);
  const masked = { ...event, data: { ...event.data, plainSecret: '…' } };
  test.each([
    ['of SNS', inTopic(text), inTopic(JSON.stringify(masked, null, 1))],
    ['of EventBridge', onBus(event), onBus(masked)],
    ['of both', inTopic(onBus(event)), inTopic(onBus(masked))],
    ['of SNS twice', inTopic(inTopic(text)), inTopic(inTopic(JSON.stringify(masked, null, 1)))],
  ])('%s', (_, body, expected) => {
    for (const isTaken of [true, false])
      expect(withoutFields(body, names, isTaken)).toEqual({ body: expected, fields: ['plainSecret'] });
  });
});
