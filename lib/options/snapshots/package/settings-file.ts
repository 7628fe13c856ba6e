import * as z from 'zod';
import { fileRules, valueRules } from '../../../delivery/mapping/cell-rules.ts';
import { templateParts } from '../../../delivery/mapping/template.ts';
import { platformId } from '../../../message/message.ts';

/** The settings of a university for its exports: `snapshot-settings.json` in the bucket. */
export const settingsKey = 'snapshot-settings.json';

/** How messages name users. */
export const userField = z.enum(['userName', 'orgDefinedId']);
export type UserField = z.output<typeof userField>;

/** A column, or a template over columns. */
const name = z
  .string()
  .min(1)
  .max(500)
  .refine((text) => namePartsIn(text) !== undefined, {
    error: 'must be a column, or a template such as {course.courseCode}-{term.title}',
  });

export const snapshotSettings = z
  .strictObject({
    /** The codes of the platform’s org units: a column of classes.csv, or a template over those of the class, its course, term and school. */
    orgUnitCode: z.union([name, z.strictObject({ from: name, ...valueRules })]).default('classCode'),
    user: z
      .strictObject({
        /** The platform's field that identifies users. */
        field: userField,
        /** The column of users.csv for it, or a template over those of the user and the user’s school. */
        column: name,
        ...valueRules,
      })
      .default({ field: 'userName', column: 'username' }),
    /** By the role words of enrollments.csv, the platform’s role ids. */
    roles: z.record(z.string(), platformId).default({}),
    /**
     * The roles, the first one before all others: if two rows or files give a user different ones in an org unit, as a student of the
     * lecture who assists in the lab, the first of these counts.
     */
    roleOrder: z.array(z.string()).default([]),
    /** How all cells are read. */
    cells: fileRules.default({}),
    /** As in `cells`, where 1.0.0 did not have it. */
    dateOrder: fileRules.shape.dateOrder,
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
    /** Names of files that come once, such as those of one day; `*` stands for any text. `status` names them as feeds to end. */
    ended: z.array(z.string().min(1).max(255)).default([]),
  })
  .refine(({ roles, roleOrder }) => roleOrder.every((role) => roles[role] !== undefined), {
    path: ['roleOrder'],
    error: 'must name only roles that "roles" has',
  })
  .transform(({ orgUnitCode, dateOrder, cells, ...others }) => {
    const { from, ...orgUnitRules } = typeof orgUnitCode === 'string' ? { from: orgUnitCode } : orgUnitCode;
    return {
      ...{ ...others, orgUnitCode: from, orgUnitRules },
      cells: { ...cells, dateOrder: cells.dateOrder ?? dateOrder },
    };
  });

export type SnapshotSettings = z.output<typeof snapshotSettings>;

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

/** A text, or a column of the row itself or of a row that it names. */
export type NamePart = { text: string } | { of: LinkedRow | 'itself'; column: string };

/** The parts of a name, as in `{course.courseCode}-{term.title}`. */
export const namePartsIn = (setting: string): NamePart[] | undefined =>
  templateParts(setting)?.map((part) => {
    if ('text' in part) return part;
    return /[{}]/.test(setting) ? columnIn(part.column) : { of: 'itself', column: part.column };
  });

/** A column's own name may have a dot, as those of `metadata.` do. */
const columnIn = (name: string): NamePart => {
  const dot = name.indexOf('.');
  const [row, column] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
  if (row === 'class' || row === 'user') return { of: 'itself', column };
  const of = linkedRows.find((each) => each === row);
  return of ? { of, column } : { of: 'itself', column: name };
};
