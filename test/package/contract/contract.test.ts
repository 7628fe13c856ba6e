import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { draftOf } from '../../../lib/message/message.ts';
import { sisFields } from '../../../lib/message/sis-ids.ts';
import { contractFiles, contractFolder, contracts } from './contract.ts';

const all = await contracts();

describe('the contract for producers', () => {
  test('is what the functions’ schemas say: else npm run generate', async () => {
    const files = await contractFiles();
    expect(readdirSync(contractFolder).sort()).toEqual(Object.keys(files).sort());
    for (const [name, content] of Object.entries(files))
      expect(JSON.parse(readFileSync(join(contractFolder, name), 'utf8')), name).toEqual(content);
  });

  test('of AsyncAPI refers to nothing that is not there', async () => {
    const files = await contractFiles();
    const text = JSON.stringify(files['asyncapi.json']);
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = '']) => reference);
    expect(references).not.toEqual([]);
    for (const reference of references) {
      const [file = '', path = ''] = reference.replace(/^\.\//, '').split('#');
      const steps = path.split('/').slice(1);
      const found = steps.reduce<unknown>(
        (at, step) => (at as Record<string, unknown> | undefined)?.[step],
        files[file || 'asyncapi.json'],
      );
      expect(found, reference).toBeDefined();
    }
  });
});

const changes: [what: string, change: (message: Record<string, unknown>) => Record<string, unknown>][] = [
  ['as it is', (message) => message],
  ...[
    'specversion',
    'id',
    'source',
    'type',
    'time',
    'data',
    'datacontenttype',
    'sequence',
    'subject',
  ].flatMap((name): typeof changes => [
    [`without ${name}`, ({ [name]: _, ...rest }) => rest],
    [`with a number for ${name}`, (message) => ({ ...message, [name]: 7 })],
    [`with null for ${name}`, (message) => ({ ...message, [name]: null })],
  ]),
  ['with an empty id', (message) => ({ ...message, id: '' })],
  ['with an id of 257 characters', (message) => ({ ...message, id: 'x'.repeat(257) })],
  ['with a source of 2,049 characters', (message) => ({ ...message, source: 'x'.repeat(2049) })],
  ['with a sequence of 257 characters', (message) => ({ ...message, sequence: '7'.repeat(257) })],
  ['with data of XML', (message) => ({ ...message, datacontenttype: 'application/xml' })],
  [
    'with data of some JSON',
    (message) => ({ ...message, datacontenttype: 'application/sis+JSON; charset=utf-8' }),
  ],
  ['of another type', (message) => ({ ...message, type: 'sis.something-else.v1' })],
  ['with a date for a time', (message) => ({ ...message, time: '2026-01-31' })],
  ['with a time without a zone', (message) => ({ ...message, time: '2026-01-31T09:30:00' })],
  ['with a time of another zone', (message) => ({ ...message, time: '2026-01-31T09:30:00-05:00' })],
  ['with a further attribute', (message) => ({ ...message, partitionkey: 'a' })],
  [
    'with an unknown field of data',
    ({ data, ...rest }) => ({ ...rest, data: { ...(data as object), more: 1 } }),
  ],
];

describe.each(all)('the schema of $type', ({ integration, schema, example }) => {
  // As a producer's validator would be: the formats are not known to it, the patterns beside them are.
  const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema);
  const accepts = (message: unknown): boolean => {
    try {
      draftOf(JSON.stringify(message), integration, Date.now());
      return true;
    } catch {
      return false;
    }
  };

  test('takes the example of events/', () => {
    expect(accepts(example)).toBe(true);
    expect(isValid(example)).toBe(true);
  });
  // What a function checks by code it may refuse all the same.
  test.each(Object.keys(example.data as object))(
    'takes no message without data.%s that the function refuses',
    (name) => {
      const { [name]: _, ...data } = example.data as Record<string, unknown>;
      const message = { ...example, data };
      expect(isValid(message) || !accepts(message)).toBe(true);
    },
  );
  test.each(changes)('says of a message %s what the function says', (_, change) => {
    const message = change(example);
    expect(isValid(message)).toBe(accepts(message));
  });

  const data = example.data as Record<string, unknown>;
  const named = sisFields.filter(([platformField]) => platformField in data);
  const given = (fields: Record<string, unknown>) => {
    const all = { ...data, ...fields };
    const declared = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return { ...example, data: declared };
  };
  const bothSay = (message: unknown, isTaken: boolean) => {
    expect(isValid(message)).toBe(isTaken);
    expect(accepts(message)).toBe(isTaken);
  };

  test.skipIf(named.length === 0)(
    'takes an id of the SIS in place of one of the platform, and no two',
    () => {
      for (const [platformField, field] of named) {
        bothSay(given({ [platformField]: undefined, [field]: 'MATH-101' }), true);
        bothSay(given({ [field]: 'MATH-101' }), false);
        for (const wrong of ['', 7, null, 'x'.repeat(257)])
          bothSay(given({ [platformField]: undefined, [field]: wrong }), false);
      }
      bothSay(given({ userId: undefined, userName: 'a', orgDefinedId: 'b' }), false);
    },
  );
  test('takes no id of the SIS for what it does not know', () => {
    for (const [platformField, field] of sisFields)
      if (!(platformField in data) && !JSON.stringify(schema).includes(`"${platformField}"`))
        bothSay(given({ [field]: 'MATH-101' }), false);
  });
});
