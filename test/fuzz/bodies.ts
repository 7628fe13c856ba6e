import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Integration } from '../../lib/delivery/handle/integration.ts';
import { loadIntegrations } from '../../lib/operate/stage/integrations.ts';
import { randomFrom } from '../local/chaos-messages.ts';

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
type Random = () => number;

/** Makes bodies out of valid ones by changing them; the same seed gives the same body. */
export const bodies = async (): Promise<(seed: number) => Body> => {
  const integrations = [...(await loadIntegrations()).values()];
  const examples = integrations.map((integration) => ({ integration, event: eventOf(integration.name) }));
  return (seed) => {
    const random = randomFrom(seed);
    const { integration, event } = pick(random, examples);
    const grown = growing(random, integration);
    const json: { [name: string]: Json } = JSON.parse(event);
    json.id = `fuzz-${seed}`;
    for (let changes = Math.floor(random() ** 2 * 5); changes > 0; changes -= 1)
      pick(random, mutations)(json, grown);
    const { secrets, names } = grown;
    return { integration, body: broken(random, grown.written(json), secrets), secrets, names };
  };
};

const eventOf = (name: string): string => {
  const file = resolve(import.meta.dirname, '../../events', `${name}.json`);
  return JSON.parse(readFileSync(file, 'utf8')).Records[0].body;
};

const pick = <Each>(random: Random, all: readonly Each[]): Each =>
  all[Math.floor(random() * all.length)] as Each;

/** What is as large as SQS takes costs as much as a thousand others. */
const rarely = 0.0001;

type Growing = ReturnType<typeof growing>;

/** What mutations draw from; deep values are put in as text at the end, as nothing here may be recursive either. */
const growing = (random: Random, integration: Integration<unknown>) => {
  const secrets: string[] = [];
  const names: string[] = [];
  const deep: string[] = [];
  const token = (length: number): string =>
    Array.from({ length }, () => pick(random, [...'abcdefghijklmnopqrstuvwxyz'])).join('');
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
    value: (): Json => pick(random, values)(grown),
    key: (): string => pick(random, keys)(grown),
    deepValue: (): string => {
      const levels = Math.floor(10 ** (random() * (random() < rarely ? 5 : 3)));
      const [open, close] = pick(random, [
        ['[', ']'],
        ['{"a":', '}'],
        ['[{"data":', '}]'],
      ] as const);
      deep.push(`${open.repeat(levels)}${pick(random, ['1', '"x"', 'null'])}${close.repeat(levels)}`);
      return `@deep${deep.length - 1}@`;
    },
    written: (json: Json): string => {
      let text = JSON.stringify(json, null, random() < 0.1 ? 2 : 0);
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
  ({ random }) => Array.from({ length: Math.floor(random() * 12) }, () => pick(random, odd)).join(''),
  ({ random, name }) => `${pick(random, odd)}${name()}${pick(random, odd)}`,
  ({ random }) =>
    pick(random, ['2026-01-31T09:30:00Z', '2999-01-01T00:00:00Z', 's3://b/k', 'https://x/', '1e999', 'null']),
  ({ random }) => 'x'.repeat(Math.floor(10 ** (random() * (random() < rarely ? 6 : 3)))),
  ({ random }) => pick(random, odd).repeat(Math.floor(10 ** (random() * (random() < rarely ? 5 : 3)))),
  ({ random, name }) => JSON.stringify({ [name()]: name(), data: { a: pick(random, odd) } }),
];

const values: ((grown: Growing) => Json)[] = [
  () => null,
  ({ random }) => random() < 0.5,
  ({ random }) => pick(random, [0, -0, 1, -1, 0.1, 8.5, 1e21, 1e-7, Number.MAX_SAFE_INTEGER, 2 ** 64, 1e308]),
  ({ random }) => Math.round(random() * 1e6) / 100,
  (grown) => pick(grown.random, texts)(grown),
  (grown) => pick(grown.random, texts)(grown),
  ({ random, value }) =>
    Array.from({ length: Math.floor(random() * 4) }, () => (random() < 0.7 ? value() : [])),
  ({ random, key, value }) =>
    Object.fromEntries(
      Array.from({ length: Math.floor(random() * 3) }, () => [key(), random() < 0.7 ? value() : {}]),
    ),
  ({ deepValue }) => deepValue(),
];

const keys: ((grown: Growing) => string)[] = [
  ({ random }) =>
    pick(random, 'a data Message body time source toString __proto__ constructor grade 0'.split(' ')),
  ({ random }) => pick(random, ['userId', 'orgUnitId', 'type', 'contentType', 'comments', 'files']),
  ({ name }) => `${name()} ${name()}`,
  ({ random }) => `${pick(random, odd)}k`,
  ({ random }) => 'key'.repeat(Math.floor(10 ** (random() * (random() < rarely ? 5 : 3)))),
];

type Mutation = (json: { [name: string]: Json }, grown: Growing) => void;

/** An object somewhere within. */
const within = (json: { [name: string]: Json }, random: Random): { [name: string]: Json } => {
  const inner = pick(random, [json, json.data, ...Object.values((json.data ?? {}) as object)]);
  const isObject = typeof inner === 'object' && inner !== null;
  return (isObject ? inner : json) as { [name: string]: Json };
};

const set = (object: { [name: string]: Json }, name: string, value: Json): void => {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
};

const mutations: Mutation[] = [
  (json, { random, value }) => {
    const object = within(json, random);
    set(object, pick(random, Object.keys(object).concat('a')), value());
  },
  (json, { random }) => {
    const object = within(json, random);
    delete object[pick(random, Object.keys(object).concat('a'))];
  },
  (json, { random, key, value }) => set(within(json, random), key(), value()),
  (json, { random, deepValue }) =>
    set(within(json, random), pick(random, ['extension', 'a', 'data']), deepValue()),
  (json, { random, forbidden, secret, value }) => {
    const [name] = forbidden.length === 0 ? [undefined] : [pick(random, forbidden)];
    if (name === undefined) return;
    const spelled = pick(random, [name, name.toUpperCase(), name.replace(/[A-Z]/g, '_$&'), `${name} `]);
    const held: Json = pick(random, [
      () => secret(),
      () => [secret()],
      () => ({ a: secret(), b: value() }),
    ])();
    set(within(json, random), spelled, held);
  },
  (json, { random, forbidden, secret }) => {
    if (forbidden.length === 0) return;
    const inner = JSON.stringify({ a: pick(random, odd), [pick(random, forbidden)]: secret() });
    const wrapped = pick(random, [
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
  const fate = random();
  if (fate < 0.9) return text;
  if (fate < 0.92) return JSON.stringify(text);
  if (fate < 0.93) return JSON.stringify({ Records: [{ body: text }] });
  if (fate < 0.94) return `\uFEFF${text}`;
  if (fate < 0.95) return text.replace(/\}$/, ',}');
  if (fate < 0.97) return text.slice(0, Math.floor(random() * text.length));
  // What is changed at random may part a value from its name.
  secrets.length = 0;
  if (fate < 0.98) return text.replaceAll('"', "'");
  if (fate < 0.99) {
    const at = Math.floor(random() * text.length);
    return `${text.slice(0, at)}${pick(random, odd)}${text.slice(at + 1)}`;
  }
  return pick(random, ['', 'null', '[]', '{}', '""', '0', ...odd, '{"data":{}}', '[[[[', '}{']);
};
