import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';
import { privacy } from '../../lib/message/privacy.ts';
import { loadIntegrations } from '../../lib/stage/integrations.ts';

type JsonSchema = { privacy?: string; properties?: Record<string, JsonSchema> };

/** The names of the fields that a schema tags so, at any depth. */
export function fieldsTagged(schema: z.ZodType, tag: 'id' | 'secret'): string[] {
  const names = new Set<string>();
  const collect = (part: unknown, name: string): void => {
    if (typeof part !== 'object' || part === null) return;
    const { properties = {}, ...rest } = part as JsonSchema;
    if (rest.privacy === tag) names.add(name);
    for (const [field, each] of Object.entries(properties)) collect(each, field);
    for (const each of Object.values(rest)) collect(each, name);
  };
  collect(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', metadata: privacy }), '');
  return [...names].sort();
}

/** The file that lists the ids that may be shown of any message. */
export async function shownIdsFile(): Promise<string> {
  const integrations = [...(await loadIntegrations()).values()];
  const names = new Set(integrations.flatMap(({ data }) => fieldsTagged(data, 'id')));
  return [
    '// Written by `npm run generate` from the fields that the schemas of messages tag as ids. Do not edit.',
    'export const shownIds: ReadonlySet<string> = new Set([',
    ...[...names].sort().map((name) => `  '${name}',`),
    ']);\n',
  ].join('\n');
}

export const shownIdsPath = resolve(import.meta.dirname, '../../lib/runtime/privacy/shown-ids.ts');

/** `npm run generate` writes the file anew. */
export const command = async (): Promise<void> => writeFileSync(shownIdsPath, await shownIdsFile());
