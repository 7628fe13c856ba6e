import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import type { Integration } from '../../../lib/delivery/handle/integration.ts';
import { messageSchema, messageType, priorityAttribute } from '../../../lib/message/message.ts';
import { withBothForms } from '../../../lib/message/sis-ids.ts';
import { functionModules } from '../../../lib/stage/function-modules.ts';

type Json = { [name: string]: unknown };

const root = resolve(import.meta.dirname, '../../..');
export const contractFolder = join(root, 'events/contract');

/** Every kind of message, with the schema of its data and an example. */
export async function contracts() {
  const modules = [...(await functionModules())];
  return modules.flatMap(([name, { integration }]) => {
    if (!integration) return [];
    const event = JSON.parse(readFileSync(join(root, 'events', `${name}.json`), 'utf8'));
    const example: Json = JSON.parse(event.Records[0].body);
    return [{ integration, type: messageType(name), schema: schemaOf(integration), example }];
  });
}

/** What producers go by, as files of JSON: a JSON Schema for each kind of message, and an AsyncAPI document of them all. */
export async function contractFiles(): Promise<Record<string, Json>> {
  const all = await contracts();
  return {
    'asyncapi.json': asyncApi(all),
    ...Object.fromEntries(all.map(({ type, schema }) => [schemaFile(type), schema])),
  };
}

const schemaFile = (type: string): string => `${type}.schema.json`;

/** Draft 7 is what AsyncAPI and most validators understand. */
function schemaOf(integration: Integration<unknown>): Json {
  // What zod checks by code has no place in a schema: the function still refuses it, and says so in the letter.
  const { $schema, ...schema } = z.toJSONSchema(messageSchema(integration), {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
  });
  const { properties } = schema as { properties: Record<string, Json> };
  return {
    $schema,
    title: messageType(integration.name),
    ...schema,
    properties: { ...properties, data: withBothForms(properties.data ?? {}) },
  };
}

/** What a message may carry beside its body. */
const attributes: Json = {
  type: 'object',
  description: 'Attributes of the SQS message. Others than these, and other values, have no effect.',
  properties: {
    [priorityAttribute]: {
      type: 'string',
      description:
        '`bulk`: part of a large load. Other messages go before it where the platform limits calls.',
      examples: ['bulk'],
    },
  },
};

function asyncApi(all: Awaited<ReturnType<typeof contracts>>): Json {
  const { version, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const byName = (partOf: (each: (typeof all)[number]) => Json): Json =>
    Object.fromEntries(all.map((each) => [each.integration.name, partOf(each)]));
  return {
    asyncapi: '3.0.0',
    info: { title: 'sis-relay', version, description, license: { name: 'MIT' } },
    defaultContentType: 'application/json',
    channels: byName(({ integration: { name } }) => ({
      address: `sis-relay-{stage}-${name}`,
      description: `The SQS queue of the function ${name}.`,
      parameters: { stage: { description: 'The stage that is deployed, such as prod.' } },
      messages: { [name]: { $ref: `#/components/messages/${name}` } },
    })),
    operations: byName(({ integration: { name } }) => ({
      action: 'receive',
      channel: { $ref: `#/channels/${name}` },
      messages: [{ $ref: `#/channels/${name}/messages/${name}` }],
    })),
    components: {
      messages: byName(({ type, example }) => ({
        name: type,
        description:
          'A CloudEvents event as the body of an SQS message, of at most 10,000 values that are nested at most 64 levels deep; or a notification of SNS or an event of EventBridge that holds it.',
        contentType: 'application/cloudevents+json',
        headers: { $ref: '#/components/schemas/attributes' },
        payload: { $ref: `./${schemaFile(type)}` },
        examples: [{ payload: example }],
      })),
      schemas: { attributes },
    },
  };
}

// `npm run generate` writes the files anew.
/** `npm run generate` */
export const command = async (): Promise<void> => {
  rmSync(contractFolder, { recursive: true, force: true });
  mkdirSync(contractFolder, { recursive: true });
  for (const [name, content] of Object.entries(await contractFiles()))
    writeFileSync(join(contractFolder, name), `${JSON.stringify(content, null, 2)}\n`);
};
