import * as z from 'zod';
import { fileRules, valueRules } from '../../../delivery/mapping/cell-rules.ts';
import { templateParts } from '../../../delivery/mapping/template.ts';
import { escapedNameIn, jsonIn, readJsonWithPlace } from '../../../message/json.ts';
import { platformId } from '../../../message/message.ts';
import type { FeedPatterns } from '../feed.ts';

/** The settings of a university for its exports: `snapshot-settings.json` in the bucket. */
export const settingsKey = 'snapshot-settings.json';

const pattern = z.string().min(1).max(255);
const partsOf = (text: string): number => text.split('{}').length - 1;

/** How messages name users. */
export const userField = z.enum(['userName', 'orgDefinedId']);
export type UserField = z.output<typeof userField>;

/** A column, or a template over columns. */
const name = (of: NamedRow = 'record') =>
  z
    .string()
    .min(1)
    .max(500)
    .refine((text) => namePartsIn(text, of) !== undefined, {
      error: `must be a column, or a template such as ${of === 'record' ? '{course.courseCode}-{term.title}' : '{title} ({class.classCode})'}`,
    });

export const snapshotSettings = z
  .strictObject({
    /** The codes of the platform’s org units: a column of classes.csv, or a template over those of the class, its course, term and school. */
    orgUnitCode: z.union([name(), z.strictObject({ from: name(), ...valueRules })]).default('classCode'),
    user: z
      .strictObject({
        /** The platform's field that identifies users. */
        field: userField,
        /** The column of users.csv for it, or a template over those of the user and the user’s school. */
        column: name(),
        ...valueRules,
      })
      .default({ field: 'userName', column: 'username' }),
    /** By the role words of enrollments.csv, the platform’s role ids. */
    roles: z.record(z.string(), platformId).default({}),
    /** Roles whose rows are meant to be left out, such as guardians: no row of them is sent, and none is refused. */
    rolesNotSent: z.array(z.string()).default([]),
    /**
     * The roles, the first one before all others: if two rows or files give a user different ones in an org unit, as a student of the
     * lecture who assists in the lab, the first of these counts.
     */
    roleOrder: z.array(z.string()).default([]),
    /** How all cells are read. */
    cells: fileRules.omit({ language: true }).default({}),
    /** As in `cells`, where 1.0.0 did not have it. */
    dateOrder: fileRules.shape.dateOrder,
    /**
     * What line items are called on the platform, such as `{title} ({class.classCode})`: a template over columns of lineItems.csv and of
     * the class. A sign that the platform refuses in names becomes `-`. Without it, the title as it is.
     */
    lineItemName: name('lineItem').optional(),
    /** The maximum for line items without one. Without this setting, they are not sent. */
    resultValueMax: z.number().positive().optional(),
    /**
     * The functions that an import may send to: a mapping may name no other. A person who puts a file into the bucket uses these
     * functions' rights without approval, so those that sign as a learner or change secrets are not among the defaults.
     */
    functions: z
      .array(z.string())
      .default([
        'enrollment-create',
        'enrollment-remove',
        'grade-object-create',
        'grade-object-update',
        'grade-push',
      ]),
    /** If more of any kind is removed, the snapshot waits for a person. */
    maxRemovalsPercent: z.number().min(0).max(100).default(5),
    /** The same for changes of role, grade, title or maximum of existing things. */
    maxChangesPercent: z.number().min(0).max(100).default(20),
    /**
     * The names of feeds, and what their files are called under `snapshots/`: `*` stands for text that varies, such as a date, and `{}`
     * for text that stays in the name of the feed. With a `/` it is about the folder, too.
     */
    feeds: z
      .record(
        z.string().regex(/^(oneroster|[^/].*\.(csv|zip))$/i, 'must end in .csv or .zip'),
        z.union([pattern, z.array(pattern).min(1)]).transform((given) => [given].flat()),
      )
      .default({})
      .refine(
        (feeds) =>
          Object.entries(feeds).every(([feed, patterns]) =>
            patterns.every((each) => partsOf(each) === partsOf(feed) && partsOf(feed) <= 1),
          ),
        { error: 'must have {} once in a name and in each of its patterns, or not at all' },
      ),
    /** Names of files that come once, such as those of one day; `*` stands for any text. `status` names them as feeds to end. */
    ended: z.array(z.string().min(1).max(255)).default([]),
  })
  .refine(({ roles, rolesNotSent }) => rolesNotSent.every((role) => roles[role] === undefined), {
    path: ['rolesNotSent'],
    error: 'must name no role that "roles" has',
  })
  .refine(({ roles, roleOrder }) => roleOrder.every((role) => roles[role] !== undefined), {
    path: ['roleOrder'],
    error: 'must name only roles that "roles" has',
  })
  .transform(({ orgUnitCode, dateOrder, cells, ...others }) => {
    const { from, ...orgUnitRules } = typeof orgUnitCode === 'string' ? { from: orgUnitCode } : orgUnitCode;
    return {
      ...others,
      orgUnitCode: from,
      orgUnitRules,
      cells: { ...cells, dateOrder: cells.dateOrder ?? dateOrder },
    };
  });

export type SnapshotSettings = z.output<typeof snapshotSettings>;

/** The settings of a text, or what is wrong with it. */
export const settingsIn = (text: string): { settings: SnapshotSettings } | { problem: string } => {
  const read = readJsonWithPlace(text);
  if ('problem' in read) return read;
  const escaped = escapedNameIn(text);
  if (escaped !== undefined)
    return { problem: `is not valid. Write the name ${escaped} without a backslash` };
  const parsed = snapshotSettings.safeParse(read.json);
  if (parsed.success) return { settings: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`);
  return { problem: `is not valid: ${problems.join('; ')}` };
};

/** The feeds that a text of settings declares. None if it cannot be read: imports report that. */
export const feedPatternsIn = (text: string | undefined): FeedPatterns =>
  snapshotSettings.safeParse(jsonIn(text ?? '') ?? {}).data?.feeds ?? {};

/** Whether a name is of a pattern, in which `*` stands for any text. */
export const isOfPattern = (name: string, pattern: string): boolean => {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + last.length <= name.length;
};

/** The other rows whose columns a name may use. */
export const linkedRows = ['course', 'term', 'school'] as const;
export type LinkedRow = (typeof linkedRows)[number];

/** What has the name: a class or user, or a line item. */
type NamedRow = 'record' | 'lineItem';

/** A text, or a column of the row itself or of a row that it names. */
export type NamePart = { text: string } | { of: LinkedRow | 'class' | 'itself'; column: string };

/** The parts of a name, as in `{course.courseCode}-{term.title}`. */
export const namePartsIn = (setting: string, of: NamedRow = 'record'): NamePart[] | undefined =>
  templateParts(setting)?.map((part) => {
    if ('text' in part) return part;
    return /[{}]/.test(setting) ? columnIn(part.column, of) : { of: 'itself', column: part.column };
  });

/** A column's own name may have a dot, as those of `metadata.` do. */
const columnIn = (name: string, of: NamedRow): NamePart => {
  const dot = name.indexOf('.');
  const [row, column] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
  if (of === 'lineItem')
    return row === 'class' ? { of: row, column } : { of: 'itself', column: row === of ? column : name };
  if (row === 'class' || row === 'user') return { of: 'itself', column };
  const linked = linkedRows.find((each) => each === row);
  return linked ? { of: linked, column } : { of: 'itself', column: name };
};
