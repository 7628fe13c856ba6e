import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { messageSchema } from '../../../../../lib/message/message.ts';
import { loadIntegrations } from '../../../../../lib/stage/integrations.ts';

type Schema = {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  format?: string;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
};

/** The texts, lists and records of a schema that may be of any size. */
const unboundedIn = (schema: Schema, path: string): string[] => {
  const { items, properties = {}, additionalProperties: others, anyOf = [], oneOf = [] } = schema;
  const is = (type: string): boolean => [schema.type].flat().includes(type);
  const isListed = schema.const !== undefined || schema.enum !== undefined || schema.format === 'uuid';
  const isRecord = typeof others === 'object' && Object.keys(others).length > 0;
  const own =
    (is('string') && !isListed && schema.maxLength === undefined) ||
    (is('array') && schema.maxItems === undefined) ||
    (isRecord && schema.maxProperties === undefined);
  return [
    ...(own ? [path] : []),
    ...Object.entries(properties).flatMap(([name, each]) => unboundedIn(each, `${path}.${name}`)),
    ...(items ? unboundedIn(items, `${path}[]`) : []),
    ...(isRecord ? unboundedIn(others, `${path}.*`) : []),
    ...[...anyOf, ...oneOf].flatMap((each) => unboundedIn(each, path)),
  ];
};

const integrations = [...(await loadIntegrations()).values()];

describe('every text, list and record of a message has a bound', () => {
  test.each(integrations.map((each) => [each.name, each] as const))('%s', (_, integration) => {
    const schema = z.toJSONSchema(messageSchema(integration), { io: 'input', unrepresentable: 'any' });
    expect(unboundedIn(schema as Schema, 'message')).toEqual([]);
  });

  test('and what has none is found', () => {
    const schema = z.object({
      text: z.string(),
      list: z.array(z.string().max(1)),
      record: z.record(z.string(), z.number()),
      either: z.union([z.strictObject({ deep: z.array(z.iso.date()).max(1) }), z.null()]),
    });
    expect(unboundedIn(z.toJSONSchema(schema) as Schema, 'it')).toEqual([
      'it.text',
      'it.list',
      'it.record',
      'it.either.deep[]',
    ]);
  });
});
