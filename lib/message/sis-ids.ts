import { type SafeText, safe } from './safe-text.ts';

/** By message field for an id of the platform: the fields for an id of the SIS that may replace it. */
const forms = {
  orgUnitId: ['orgUnitCode'],
  fromParentId: ['fromParentCode'],
  toParentId: ['toParentCode'],
  userId: ['userName', 'orgDefinedId'],
  // Within the org unit of the message.
  gradeObjectId: ['gradeObjectName'],
} as const satisfies Record<string, readonly string[]>;

type PlatformField = keyof typeof forms;
type IdField = PlatformField | (typeof forms)[PlatformField][number];

const platformFields = Object.keys(forms) as PlatformField[];

const formsOf = (field: string): readonly IdField[] =>
  Object.hasOwn(forms, field) ? forms[field as PlatformField] : [];

/**
 * Former names of a renamed grade object, given beside `gradeObjectName`. It is unknown whether the platform has renamed it, so
 * the object with any of these names is meant. If two have one, none is chosen.
 */
export const formerNamesField = 'gradeObjectFormerNames';
const maxFormerNames = 10;

/** Every field for an id of the SIS, after the platform's field that it replaces. */
export const sisFields: readonly (readonly [platformField: string, field: string])[] = platformFields.flatMap(
  (platformField) => formsOf(platformField).map((field) => [platformField, field] as const),
);

/** An id of the SIS in place of one of the platform, as in `orgUnitCode`, `orgUnitId`, `MATH-101`. */
export type SisId = {
  field: IdField;
  platformField: PlatformField;
  value: string;
  formerly?: readonly string[];
};

/** By message field. */
export type PlatformIds = Readonly<Record<string, number>>;

/** The ids of the SIS in a message's data, and the problems by field. */
export type SisIdsFound = {
  sisIds: readonly SisId[];
  problems: readonly (readonly [field: SafeText, problem: SafeText])[];
};

const none: SisIdsFound = { sisIds: [], problems: [] };

/** Most messages have none, and cost only one look. */
export const sisIdsIn = (data: unknown): SisIdsFound => {
  if (typeof data !== 'object' || data === null) return none;
  const fields = data as Record<string, unknown>;
  if (!sisFields.some(([, field]) => field in fields)) return none;
  const sisIds: SisId[] = [];
  const problems: [SafeText, SafeText][] = [];
  for (const platformField of platformFields) {
    const [first, second] = [platformField, ...formsOf(platformField)].filter((each) => each in fields);
    if (first === undefined || (first === platformField && second === undefined)) continue;
    const value = fields[first];
    const problem =
      second === undefined ? problemOf(value) : safe`is given together with ${second}. Give only one of them`;
    if (problem !== undefined) problems.push([safe`${first}`, problem]);
    else sisIds.push({ field: first, platformField, value: value as string });
  }
  if (formerNamesField in fields) {
    const named = sisIds.find(({ field }) => field === 'gradeObjectName');
    const formerly = fields[formerNamesField];
    const problem =
      named === undefined ? safe`is given without gradeObjectName. Leave it out` : formerProblemOf(formerly);
    if (problem !== undefined) problems.push([safe`${formerNamesField}`, problem]);
    else if (named) named.formerly = formerly as string[];
  }
  return { sisIds, problems };
};

const formerProblemOf = (names: unknown): SafeText | undefined => {
  if (!Array.isArray(names) || names.length > maxFormerNames)
    return safe`must be a list of at most ${maxFormerNames} names`;
  return names.map(problemOf).find((problem) => problem !== undefined);
};

/** In characters of JavaScript. */
export const maxSisIdLength = 256;

/** Matched exactly: a space, or half of a character, would make it another id. */
const problemOf = (value: unknown): SafeText | undefined => {
  if (typeof value !== 'string') return safe`must be text`;
  if (value.length > maxSisIdLength) return safe`must be at most ${maxSisIdLength} characters`;
  if (!/^\S(.*\S)?$/u.test(value)) return safe`must be one line, without a space at its beginning or end`;
  return value.isWellFormed() ? undefined : safe`must be well-formed Unicode`;
};

export const withPlatformIds = (
  data: object,
  sisIds: readonly SisId[],
  idOf: (sisId: SisId) => number,
): object => {
  const replaced: Record<string, unknown> = { ...data };
  for (const sisId of sisIds) {
    delete replaced[sisId.field];
    if (sisId.formerly) delete replaced[formerNamesField];
    replaced[sisId.platformField] = idOf(sisId);
  }
  return replaced;
};

const textFor = (platformField: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength: maxSisIdLength,
  description: `Instead of ${platformField}: the name that the SIS and the platform share.`,
});

const formerNames = {
  type: 'array',
  maxItems: maxFormerNames,
  items: { type: 'string', minLength: 1, maxLength: maxSisIdLength },
  description: 'With gradeObjectName: its former names, in case the platform still has one of them.',
};

type JsonSchema = { [name: string]: unknown };

/**
 * A JSON Schema of data with both forms of ids: if it requires an id of the platform, exactly one of that and those of the SIS is
 * required.
 */
export const withBothForms = (schema: JsonSchema): JsonSchema => {
  const cases = (['anyOf', 'oneOf'] as const).flatMap((name) =>
    Array.isArray(schema[name]) ? [[name, (schema[name] as JsonSchema[]).map(withBothForms)] as const] : [],
  );
  const { properties, required = [] } = schema as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  const given = platformFields.filter((field) => properties?.[field] !== undefined);
  if (properties === undefined || given.length === 0) return { ...schema, ...Object.fromEntries(cases) };
  const own = Object.entries(properties).flatMap(([name, each]) => [
    [name, each] as const,
    ...formsOf(name).map((field) => [field, textFor(name)] as const),
    ...(name === 'gradeObjectId' ? [[formerNamesField, formerNames] as const] : []),
  ]);
  return {
    ...schema,
    ...Object.fromEntries(cases),
    properties: Object.fromEntries(own),
    required: required.filter((name) => !given.some((field) => field === name)),
    allOf: given.map((field) => {
      const each = [field, ...formsOf(field)].map((name) => ({ required: [name] }));
      return { oneOf: required.includes(field) ? each : [...each, { not: { anyOf: each } }] };
    }),
  };
};
