import * as z from 'zod';
import type { Integration } from '../../../delivery/handle/integration.ts';
import { isCorrectedFirst } from '../../../message/failure-kinds.ts';
import { integrationNamed } from '../../../stage/integrations.ts';
import type { Group } from '../letters/groups.ts';
import { firstFieldIn } from './problems.ts';

type JsonSchema = {
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
};

/** Adds to causes whose messages lack an object what a person must set in it. */
export const withRequiredParts = (groups: readonly Group[]): Promise<Group[]> =>
  Promise.all(
    groups.map(async (group) => {
      const field = isCorrectedFirst(group.kind) ? firstFieldIn(group.error) : undefined;
      const integration = field === undefined ? undefined : await integrationNamed(group.function);
      const parts = field && integration ? requiredParts(integration, field) : [];
      return parts.length === 0 ? group : { ...group, parts };
    }),
  );

/** As `data.grade.type=numeric` and `data.grade.points=<value>` of `data.grade`; none if the field is no object. */
export const requiredParts = ({ data }: Pick<Integration<unknown>, 'data'>, field: string): string[] => {
  const schema = z.toJSONSchema(data, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const [, ...path] = field.split('.');
  const at = path.reduce<JsonSchema | undefined>(
    (inside, name) => objectIn(inside)?.properties?.[name],
    schema,
  );
  return partsOf(at, field);
};

const partsOf = (schema: JsonSchema | undefined, path: string): string[] => {
  const { properties = {}, required = [] } = objectIn(schema) ?? {};
  return required.flatMap((name) => {
    const part = `${path}.${name}`;
    const inside = properties[name];
    if (objectIn(inside) !== undefined) return partsOf(inside, part);
    return `${part}=${inside?.const === undefined ? '<value>' : String(inside.const)}`;
  });
};

/** Of several forms, the first. */
const objectIn = (schema: JsonSchema = {}): JsonSchema | undefined =>
  [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].find(
    ({ properties }) => properties !== undefined,
  );
