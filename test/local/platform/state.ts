import * as z from 'zod';
import { bind, id, record } from './http/bind.ts';
import { type StoredFile, seededFile } from './http/upload.ts';

/** The root of the org structure: a role held there is held in every org unit without one of its own. */
export const organizationId = 6606;
const longAgo = '2026-01-01T00:00:00.000Z';
const text = z.string();

export type Comment = z.output<typeof comment>;
export const comment = z.strictObject({ content: text, type: z.enum(['Text', 'Html']) });
export const emptyComment: Comment = { content: '', type: 'Text' };
const seededComment = comment.default(emptyComment);
const gradeObjectType = z.literal([1, 2, 3, 4]).default(1);

const fileFields = {
  name: text.default('image.png'),
  contentType: text.default('image/png'),
  base64: text,
};
const storedFile = z.custom<StoredFile>();
const unwritten = <Row extends object>(row: Row) => ({ ...row, writes: 0 });

/** What can be changed of a grade value, as by a person. */
export const gradeValueFields = {
  pointsNumerator: z.number().optional(),
  pass: z.boolean().optional(),
  value: text.optional(),
  text: text.optional(),
};

type Definition<Row> = { shape: z.ZodType<Row>; key: (keyof Row)[]; index: (keyof Row)[] };

function table<Row extends object>(
  shape: z.ZodType<Row>,
  key: (keyof Row)[],
  index: (keyof Row)[] = [],
): Definition<Row> {
  return { shape, key, index };
}

/** Of each table: a row as a seed gives it, the fields of its key, and those by which rows are found. */
const definitions = {
  roles: table(
    z
      .strictObject({ roleId: id, name: text.optional(), permissions: z.array(text).default([]) })
      .transform(({ name, ...row }) => ({ ...row, name: name ?? `Role ${row.roleId}` })),
    ['roleId'],
  ),
  orgUnits: table(
    z
      .strictObject({
        orgUnitId: id,
        name: text.optional(),
        code: text.optional(),
        typeId: id.default(3),
        parents: z.array(id).default(() => [organizationId]),
      })
      .transform(({ name, code, ...row }) => ({
        ...row,
        name: name ?? `Course ${row.orgUnitId}`,
        code: code ?? `C-${row.orgUnitId}`,
      })),
    ['orgUnitId'],
    ['typeId'],
  ),
  users: table(
    z
      .strictObject({
        userId: id,
        userName: text.optional(),
        firstName: text.default('Local'),
        lastName: text.default('User'),
        email: text.optional(),
        orgDefinedId: text.nullable().default(null),
        hidesUserName: z.boolean().default(false),
        hidesEmail: z.boolean().default(false),
        userKey: text.optional(),
      })
      .transform(({ email, userKey, ...row }) => {
        const { userId, userName = `user.${userId}` } = row;
        const defaults = { email: `${userName}@example.edu`, userKey: `local-key-${userId}` };
        return { ...row, userName, email: email ?? defaults.email, userKey: userKey ?? defaults.userKey };
      }),
    ['userId'],
  ),
  enrollments: table(
    z.strictObject({ orgUnitId: id, userId: id, roleId: id }).transform(unwritten),
    ['orgUnitId', 'userId'],
    ['orgUnitId', 'userId'],
  ),
  gradeObjects: table(
    z
      .strictObject({
        gradeObjectId: id,
        orgUnitId: id,
        name: text.optional(),
        shortName: text.default(''),
        gradeObjectType,
        maxPoints: z.number().nullable().default(null),
        description: seededComment,
        settings: record.default({}),
      })
      .transform(({ name, ...row }) => ({
        ...row,
        name: name ?? `Item ${row.gradeObjectId}`,
        maxPoints: row.maxPoints ?? (row.gradeObjectType === 1 ? 100 : null),
      })),
    ['gradeObjectId'],
    ['orgUnitId'],
  ),
  gradeValues: table(
    z
      .strictObject({
        orgUnitId: id,
        gradeObjectId: id,
        userId: id,
        gradeObjectType,
        ...gradeValueFields,
        comments: seededComment,
        privateComments: seededComment,
        lastModified: text.default(longAgo),
      })
      .transform(unwritten),
    ['gradeObjectId', 'userId'],
  ),
  folders: table(
    z
      .strictObject({
        folderId: id,
        orgUnitId: id,
        name: text.optional(),
        gradeItemId: id.nullable().default(null),
        customInstructions: seededComment,
      })
      .transform(({ name, ...row }) => ({ ...row, name: name ?? `Folder ${row.folderId}` })),
    ['folderId'],
    ['orgUnitId'],
  ),
  submissions: table(
    z.strictObject({
      submissionId: id,
      orgUnitId: id,
      folderId: id,
      userId: id,
      comment: text,
      submittedAt: text,
      files: z.array(storedFile),
    }),
    ['submissionId'],
    ['folderId'],
  ),
  profileImages: table(
    z
      .strictObject({ userId: id, ...fileFields })
      .transform(({ userId, ...file }) => ({ userId, ...seededFile(file), writes: 0 })),
    ['userId'],
  ),
  courseImages: table(
    z
      .strictObject({ orgUnitId: id, ...fileFields })
      .transform(({ orgUnitId, ...file }) => ({ orgUnitId, ...seededFile(file) })),
    ['orgUnitId'],
  ),
  modules: table(z.strictObject({ moduleId: id, orgUnitId: id, title: text.default('Module') }), [
    'moduleId',
  ]),
  topics: table(
    z
      .strictObject({
        topicId: id,
        orgUnitId: id,
        moduleId: id,
        title: text.default('Topic'),
        url: text.nullable().default(null),
        file: z.strictObject(fileFields).transform(seededFile).nullable().default(null),
      })
      .transform((row) => ({
        ...row,
        shortTitle: '',
        topicType: row.file === null ? 3 : 1,
        isHidden: false,
        isLocked: false,
        startDate: null as string | null,
        endDate: null as string | null,
        dueDate: null as string | null,
        writes: 0,
      })),
    ['topicId'],
  ),
  /** `fields` are those of the last update, under the names that it used. */
  ltiLinks: table(
    z.strictObject({ linkId: id, orgUnitId: id, fields: record.default({}) }).transform(unwritten),
    ['linkId'],
  ),
  newsItems: table(
    z.strictObject({ newsItemId: id, orgUnitId: id, fields: record, attachments: z.array(storedFile) }),
    ['newsItemId'],
  ),
  assessments: table(
    z.strictObject({
      orgUnitId: id,
      assessmentType: text,
      objectType: text,
      objectId: id,
      rubricId: id,
      userId: id,
      assessment: record,
    }),
    ['orgUnitId', 'assessmentType', 'objectType', 'objectId', 'rubricId', 'userId'],
  ),
  groupCategories: table(
    z.strictObject({ groupCategoryId: id, orgUnitId: id, name: text.default('Groups') }),
    ['groupCategoryId'],
  ),
  groups: table(
    z
      .strictObject({
        groupId: id,
        groupCategoryId: id,
        name: text.optional(),
        userIds: z.array(id).default([]),
      })
      .transform(({ name, ...row }) => ({ ...row, name: name ?? `Group ${row.groupId}` })),
    ['groupId'],
    ['groupCategoryId'],
  ),
  quizzes: table(z.strictObject({ quizId: id, orgUnitId: id, name: text.default('Quiz') }), ['quizId']),
  quizAttempts: table(
    z.strictObject({
      attemptId: id,
      quizId: id,
      userId: id,
      attemptNumber: id.default(1),
      score: z.number().nullable().default(null),
      started: text.default(longAgo),
      completed: text.nullable().default(null),
    }),
    ['attemptId'],
    ['quizId'],
  ),
  demographicsDataTypes: table(z.strictObject({ dataTypeId: text.toLowerCase(), name: text }), [
    'dataTypeId',
  ]),
  demographicsFields: table(
    z.strictObject({ fieldId: id, name: text, description: text, dataTypeId: text }),
    ['fieldId'],
  ),
  userAttributes: table(
    z
      .strictObject({
        userId: id,
        attributes: z.array(z.strictObject({ attributeId: text, value: z.array(text) })),
      })
      .transform(unwritten),
    ['userId'],
  ),
  configurationVariables: table(
    z
      .strictObject({
        configId: text,
        name: text.default('Variable'),
        scope: text.default('Org'),
        description: text.default(''),
        dataType: text.default('String'),
        defaultValue: text.default(''),
        canEditSystemValue: z.boolean().default(false),
        orgValue: z.unknown().default(null),
      })
      .transform(unwritten),
    ['configId'],
  ),
  ePortfolioObjects: table(
    z.strictObject({ objectId: id, userId: id, object: record }).transform(unwritten),
    ['objectId'],
  ),
};

type Definitions = typeof definitions;
export type Row<Name extends keyof Definitions> = z.output<Definitions[Name]['shape']>;

export type State = ReturnType<typeof emptyState>;

/** All that the platform holds. */
export function emptyState() {
  let lastId = 1_000_000;
  return {
    nextId: () => ++lastId,
    /** By the id under which they sign, where that is another than the user's own. */
    keyIds: new Map<string, number>(),
    tables: mapped(definitions, (definition) => rowsOf(definition as Definition<object>)) as {
      [Name in keyof Definitions]: Rows<Row<Name>>;
    },
  };
}

const seedShape = z.strictObject(mapped(definitions, ({ shape }) => z.array(shape).optional()));

/** Rows by table: ids are required, the rest has defaults, and a row with a known id replaces the old one. */
export function sow({ tables }: State, seed: unknown) {
  for (const [name, rows = []] of Object.entries(bind(seedShape, seed)))
    for (const row of rows) (tables[name as keyof Definitions] as Rows<object>).put(row);
}

type Id = number | string;
type Rows<Row> = {
  get(...key: Id[]): Row | undefined;
  put(row: Row): Row;
  delete(row: Row): void;
  where(field: keyof Row, value: Id): Row[];
  all(): Row[];
};

/** Rows under a key made of one or more of their fields, found again by the key or by one indexed field. */
function rowsOf<Row extends object>({ key: keyFields, index }: Definition<Row>): Rows<Row> {
  const rows = new Map<string, Row>();
  const indexes = new Map(index.map((field) => [field, new Map<unknown, Map<string, Row>>()]));
  const keyOf = (row: Row) => keyFields.map((field) => row[field]).join('/');
  return {
    get: (...key) => rows.get(key.join('/')),
    all: () => [...rows.values()],
    put(row) {
      const key = keyOf(row);
      rows.set(key, row);
      for (const [field, groups] of indexes) {
        const group = groups.get(row[field]) ?? new Map<string, Row>();
        groups.set(row[field], group.set(key, row));
      }
      return row;
    },
    delete(row) {
      rows.delete(keyOf(row));
      for (const [field, groups] of indexes) groups.get(row[field])?.delete(keyOf(row));
    },
    where(field, value) {
      const groups = indexes.get(field);
      if (groups === undefined) throw new Error(`no index on ${String(field)}`);
      return [...(groups.get(value)?.values() ?? [])];
    },
  };
}

function mapped<Values extends object, Made>(
  given: Values,
  make: (one: Values[keyof Values]) => Made,
): { [Name in keyof Values]: Made } {
  const made = Object.entries(given).map(([name, one]) => [name, make(one)]);
  return Object.fromEntries(made);
}
