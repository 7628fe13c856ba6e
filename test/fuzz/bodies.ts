import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Integration } from '../../lib/delivery/handle/integration.ts';
import { loadIntegrations } from '../../lib/stage/integrations.ts';
import { type Random, randomFrom } from './random.ts';

/** A generated body of a message, and what was put into it. */
export type Body = {
  integration: Integration<unknown>;
  body: string;
  /** Values of forbidden fields: none of them may be left in a letter. */
  secrets: string[];
  /** Words that nobody may be told. */
  names: string[];
};

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Makes bodies out of valid ones by changing them; the same seed gives the same body. */
export const bodies = async (): Promise<(seed: number) => Body> => {
  const integrations = [...(await loadIntegrations()).values()];
  const examples = integrations.map((integration) => ({ integration, event: eventOf(integration.name) }));
  return (seed) => {
    const random = randomFrom(seed);
    const { integration, event } = random.one(examples);
    const grown = growing(random, integration);
    const json: { [name: string]: Json } = JSON.parse(event);
    json.id = `fuzz-${seed}`;
    for (let changes = Math.floor(random.next() ** 2 * 5); changes > 0; changes -= 1)
      random.one(mutations)(json, grown);
    const { secrets, names } = grown;
    return { integration, body: broken(random, grown.written(json), secrets), secrets, names };
  };
};

const eventOf = (name: string): string => {
  const file = resolve(import.meta.dirname, '../../events', `${name}.json`);
  return JSON.parse(readFileSync(file, 'utf8')).Records[0].body;
};

/** What is as large as SQS takes costs as much as a thousand others. */
const rarely = 0.0001;

type Growing = ReturnType<typeof growing>;

/** What mutations draw from; deep values are put in as text at the end, as nothing here may be recursive either. */
const growing = (random: Random, integration: Integration<unknown>) => {
  const secrets: string[] = [];
  const names: string[] = [];
  const deep: string[] = [];
  const token = (length: number): string =>
    Array.from({ length }, () => random.one([...'abcdefghijklmnopqrstuvwxyz'])).join('');
  const grown = {
    random,
    secrets,
    names,
    forbidden: integration.forbidden ?? [],
    /** Somebody's: long enough not to be a word of ours, or a piece of one, by chance. */
    name: (): string => {
      const name = `Q${token(9)}x`;
      names.push(name);
      return name;
    },
    secret: (): string => {
      const secret = `s3cr3t-${token(12)}`;
      secrets.push(secret);
      return secret;
    },
    value: (): Json => random.one(values)(grown),
    key: (): string => random.one(keys)(grown),
    deepValue: (): string => {
      const levels = Math.floor(10 ** (random.next() * (random.next() < rarely ? 5 : 3)));
      const [open, close] = random.one([
        ['[', ']'],
        ['{"a":', '}'],
        ['[{"data":', '}]'],
      ] as const);
      deep.push(`${open.repeat(levels)}${random.one(['1', '"x"', 'null'])}${close.repeat(levels)}`);
      return `@deep${deep.length - 1}@`;
    },
    written: (json: Json): string => {
      let text = JSON.stringify(json, null, random.next() < 0.1 ? 2 : 0);
      for (const [at, each] of deep.entries()) text = text.replace(`"@deep${at}@"`, () => each);
      return text;
    },
  };
  return grown;
};

const odd = [
  // What terminals obey, what nobody sees, half characters, letters of several forms, and escapes.
  ...'| |\u0000|\u001B[2J|\u007F|\u0085|\u009B31m|\u00AD|\u061C|\u200B|\u2028|\u202E|\u2066'.split('|'),
  ...'\uFEFF|\uFFFD|\uFFFE|\uFFFF|\uD800|\uDFFF|\u{1F393}|\u{E0041}|e\u0301|ﬁ|ﷺ|王小明|ǅ|İ|ß'.split('|'),
  ...'%|%25|%C3|\\|\\u0041|&amp;|&#0;|<b>|"|\''.split('|'),
];

const texts: ((grown: Growing) => string)[] = [
  ({ name }) => name(),
  ({ name }) => `Dear ${name()} ${name()},\nwell done!`,
  ({ random }) => Array.from({ length: random.below(12) }, () => random.one(odd)).join(''),
  ({ random, name }) => `${random.one(odd)}${name()}${random.one(odd)}`,
  ({ random }) =>
    random.one(['2026-01-31T09:30:00Z', '2999-01-01T00:00:00Z', 's3://b/k', 'https://x/', '1e999', 'null']),
  ({ random }) => 'x'.repeat(Math.floor(10 ** (random.next() * (random.next() < rarely ? 6 : 3)))),
  ({ random }) =>
    random.one(odd).repeat(Math.floor(10 ** (random.next() * (random.next() < rarely ? 5 : 3)))),
  ({ random, name }) => JSON.stringify({ [name()]: name(), data: { a: random.one(odd) } }),
];

const values: ((grown: Growing) => Json)[] = [
  () => null,
  ({ random }) => random.next() < 0.5,
  ({ random }) => random.one([0, -0, 1, -1, 0.1, 8.5, 1e21, 1e-7, Number.MAX_SAFE_INTEGER, 2 ** 64, 1e308]),
  ({ random }) => Math.round(random.next() * 1e6) / 100,
  (grown) => grown.random.one(texts)(grown),
  (grown) => grown.random.one(texts)(grown),
  ({ random, value }) => Array.from({ length: random.below(4) }, () => (random.next() < 0.7 ? value() : [])),
  ({ random, key, value }) =>
    Object.fromEntries(
      Array.from({ length: random.below(3) }, () => [key(), random.next() < 0.7 ? value() : {}]),
    ),
  ({ deepValue }) => deepValue(),
];

const keys: ((grown: Growing) => string)[] = [
  ({ random }) =>
    random.one('a data Message body time source toString __proto__ constructor grade 0'.split(' ')),
  ({ random }) => random.one(['userId', 'orgUnitId', 'type', 'contentType', 'comments', 'files']),
  ({ name }) => `${name()} ${name()}`,
  ({ random }) => `${random.one(odd)}k`,
  ({ random }) => 'key'.repeat(Math.floor(10 ** (random.next() * (random.next() < rarely ? 5 : 3)))),
];

type Mutation = (json: { [name: string]: Json }, grown: Growing) => void;

/** An object somewhere within. */
const within = (json: { [name: string]: Json }, random: Random): { [name: string]: Json } => {
  const inner = random.one([json, json.data, ...Object.values((json.data ?? {}) as object)]);
  const isObject = typeof inner === 'object' && inner !== null;
  return (isObject ? inner : json) as { [name: string]: Json };
};

const set = (object: { [name: string]: Json }, name: string, value: Json): void => {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
};

const mutations: Mutation[] = [
  (json, { random, value }) => {
    const object = within(json, random);
    set(object, random.one(Object.keys(object).concat('a')), value());
  },
  (json, { random }) => {
    const object = within(json, random);
    delete object[random.one(Object.keys(object).concat('a'))];
  },
  (json, { random, key, value }) => set(within(json, random), key(), value()),
  (json, { random, deepValue }) =>
    set(within(json, random), random.one(['extension', 'a', 'data']), deepValue()),
  (json, { random, forbidden, secret, value }) => {
    const [name] = forbidden.length === 0 ? [undefined] : [random.one(forbidden)];
    if (name === undefined) return;
    const spelled = random.one([name, name.toUpperCase(), name.replace(/[A-Z]/g, '_$&'), `${name} `]);
    const held: Json = random.one([() => secret(), () => [secret()], () => ({ a: secret(), b: value() })])();
    set(within(json, random), spelled, held);
  },
  (json, { random, forbidden, secret }) => {
    if (forbidden.length === 0) return;
    const inner = JSON.stringify({ a: random.one(odd), [random.one(forbidden)]: secret() });
    const wrapped = random.one([
      ['data', inner],
      ['Message', JSON.stringify(JSON.stringify({ data: inner }))],
      ['data_base64', Buffer.from(inner).toString('base64')],
      ['payload', Buffer.from(inner).toString('base64')],
      ['detail', JSON.stringify({ a: [inner] })],
    ] as const);
    set(json, wrapped[0], wrapped[1]);
  },
];

/** What is no JSON any more, or JSON of something else. */
const broken = (random: Random, text: string, secrets: string[]): string => {
  const choice = random.next();
  if (choice < 0.9) return text;
  if (choice < 0.92) return JSON.stringify(text);
  if (choice < 0.93) return JSON.stringify({ Records: [{ body: text }] });
  if (choice < 0.94) return `\uFEFF${text}`;
  if (choice < 0.95) return text.replace(/\}$/, ',}');
  if (choice < 0.97) return text.slice(0, Math.floor(random.next() * text.length));
  // What is changed at random may part a value from its name.
  secrets.length = 0;
  if (choice < 0.98) return text.replaceAll('"', "'");
  if (choice < 0.99) {
    const at = Math.floor(random.next() * text.length);
    return `${text.slice(0, at)}${random.one(odd)}${text.slice(at + 1)}`;
  }
  return random.one(['', 'null', '[]', '{}', '""', '0', ...odd, '{"data":{}}', '[[[[', '}{']);
};
