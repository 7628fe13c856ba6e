import { templateParts } from '../../../delivery/mapping/template.ts';

/** A column whose values say what became of an enrollment. */
export type Changes = { column: string; adds: readonly string[]; drops: readonly string[] };

/** How a format writes enrollments, to begin a mapping with. Of several columns, the first that the table has counts. */
type Enrollments = {
  course: readonly string[];
  user: readonly string[];
  field: 'userName' | 'orgDefinedId';
  role?: string;
  /** Within which the course's number is unique. */
  term?: string;
  /** The values of a column for enrollments, and for what is no longer one. */
  status?: { column: string; is: readonly string[]; not: readonly string[] };
  /** Whether the table has only what changed. */
  changes?: Changes;
};

type KnownTable = {
  format: string;
  /** Columns that only this format has together, in lower case. */
  columns: readonly string[];
  enrollments?: Enrollments;
};

/** What its columns are if a table has no header. */
export const moodleColumns = ['operation', 'role', 'user', 'course'] as const;

/** Tables of other formats than OneRoster. The first that fits counts. */
const knownTables: readonly KnownTable[] = [
  {
    format: 'Canvas',
    columns: ['user_id', 'role', 'status'],
    enrollments: {
      course: ['course_id', 'section_id'],
      user: ['user_id'],
      field: 'orgDefinedId',
      role: 'role',
      status: {
        column: 'status',
        is: ['active'],
        not: ['completed', 'inactive', 'deleted', 'deleted_last_completed'],
      },
    },
  },
  { format: 'Canvas', columns: ['user_id', 'login_id'] },
  { format: 'Canvas', columns: ['course_id', 'short_name', 'long_name'] },
  { format: 'Canvas', columns: ['section_id', 'course_id', 'name', 'status'] },
  {
    format: 'Clever',
    columns: ['school_id', 'section_id', 'student_id'],
    enrollments: { course: ['section_id'], user: ['student_id'], field: 'orgDefinedId' },
  },
  { format: 'Clever', columns: ['school_id', 'section_id', 'teacher_id'] },
  { format: 'Clever', columns: ['school_id', 'student_id', 'last_name'] },
  { format: 'Clever', columns: ['school_id', 'teacher_id', 'last_name'] },
  { format: 'Clever', columns: ['school_id', 'school_name'] },
  { format: 'School Data Sync v1', columns: ['sis id', 'school sis id'] },
  {
    format: 'School Data Sync v1',
    columns: ['section sis id', 'sis id'],
    enrollments: { course: ['section sis id'], user: ['sis id'], field: 'orgDefinedId' },
  },
  {
    format: 'Blackboard',
    columns: ['external_course_key', 'external_person_key'],
    enrollments: {
      course: ['external_course_key'],
      user: ['external_person_key'],
      field: 'orgDefinedId',
      role: 'role',
      status: { column: 'row_status', is: ['enabled'], not: ['disabled', 'deleted'] },
    },
  },
  { format: 'Blackboard', columns: ['external_course_key', 'course_id'] },
  { format: 'Blackboard', columns: ['external_person_key', 'user_id'] },
  {
    format: 'Moodle',
    columns: moodleColumns,
    enrollments: {
      course: ['course'],
      user: ['user'],
      field: 'orgDefinedId',
      role: 'role',
      changes: { column: 'operation', adds: ['add'], drops: ['del'] },
    },
  },
  {
    format: 'Moodle',
    columns: ['username', 'course1'],
    enrollments: { course: ['course1'], user: ['username'], field: 'userName', role: 'role1' },
  },
];

/** A flat file of Moodle has no header: its first row is an enrollment already. */
const isMoodleRow = ([operation = '', , ...others]: readonly string[]): boolean =>
  /^(add|del)$/i.test(operation.trim()) && others.length >= 2;

const knownOf = (columns: readonly string[]): KnownTable | undefined => {
  const names = new Set(columns.map((column) => column.trim().toLowerCase()));
  return knownTables.find((each) => each.columns.every((column) => names.has(column)));
};

/** The format of a table by its first row; undefined: it is none of the known ones. */
export const formatOf = (firstRow: readonly string[]): string | undefined =>
  isMoodleRow(firstRow) ? 'Moodle, without a header' : knownOf(firstRow)?.format;

/** OneRoster's ids have this name in every version, and in School Data Sync v2. */
export const isOfOneRoster = (columns: readonly string[]): boolean =>
  columns.some((column) => /sourcedid/i.test(column));

/** Words in the names of columns of formats that nobody knows. A status is that of the enrollment, if several columns have one. */
const guesses = {
  role: [/role/i],
  status: [
    /enr.{0,20}stat|regist.{0,20}(stat|code)|reg_?(stat|code)|rsts/i,
    /^((row|record)[ _]?)?status([ _]?code)?$/i,
  ],
  course: [/course|class|section|crn|group|offering|module/i],
  user: [
    /login|user|e-?mail|person|student|pupil|learner|member|net_?id|instructor|teacher/i,
    /emplid|pidm|spriden|banner/i,
  ],
  term: [/term|strm|semester/i],
};

const actionColumn =
  /action|operation|transaction|change|activity|add.?drop|^(op|trans|crud|event)([ _]?(code|type))?$/i;
const added =
  /^(a|i|u|add|added|insert|inserted|update|updated|upsert|create|created|new|enrol+|enrol+ed|register|registered|replace)$/i;
const dropped =
  /^(d|r|x|del|delete|deleted|drop|dropped|rem|remove|removed|withdraw|withdrawn|un-?enrol+|un-?enrol+ed|cancel|cancel+ed)$/i;
const isOrder = (words: readonly string[], pattern: RegExp): boolean =>
  words.some((word) => pattern.test(word));

/**
 * What the values of a column say if they are orders, as in add and drop. A status says nearly the same of each row, in other words, and in
 * another column: `dropped` beside `registered` is one.
 */
export const changesIn = (column: string, values: readonly string[]): Changes | undefined => {
  const words = values.map((value) => value.trim());
  if (words.length === 0 || !words.every((word) => added.test(word) || dropped.test(word))) return undefined;
  const isPlain =
    isOrder(words, /^(add|insert|enrol+)$/i) &&
    isOrder(words, /^(drop|del|delete|remove|withdraw|un-?enrol+)$/i);
  if (!isPlain && !actionColumn.test(column)) return undefined;
  const drops = values.filter((value) => dropped.test(value.trim()));
  const adds = values.filter((value) => !drops.includes(value));
  return { column, adds, drops };
};

/** Values of a status by which somebody is enrolled, in the words and codes of many systems. */
const registered =
  /^(a|e|r|re|rw|y|1|true|yes|en|act|cur|enr|reg)$|\b(active|enrolled|registered|enabled|current)\b/i;
const isRegistered = (value: string): boolean =>
  registered.test(value.trim()) && !/\b(not|no|non|never|un|de|in|pre)\b/i.test(value);

const enrollmentsOf = (columns: readonly string[]): Enrollments | undefined => {
  const known = knownOf(columns);
  if (known) return known.enrollments;
  const rest = new Set(columns);
  const take = (what: keyof typeof guesses): string[] => {
    const isNamed = (column: string): boolean => !/name/i.test(column.replace(/user.?name/i, ''));
    const found = guesses[what].flatMap((words) =>
      [...rest].filter((column) => words.test(column) && isNamed(column)),
    );
    for (const column of found.slice(0, 1)) rest.delete(column);
    return found.slice(0, 1);
  };
  const [[role], [status], course, user] = [take('role'), take('status'), take('course'), take('user')];
  if (course[0] === undefined || user[0] === undefined) return undefined;
  // The number of a section is that of another one in the next term.
  const [term] = /crn|class_?n(br|o|um)/i.test(course[0]) ? take('term') : [];
  const isLogin = /login|user.?name|e-?mail|net_?id/i.test(user[0]);
  return {
    course,
    user,
    field: isLogin ? 'userName' : 'orgDefinedId',
    ...(role !== undefined && { role }),
    ...(status !== undefined && { status: { column: status, is: [], not: [] } }),
    ...(term !== undefined && { term }),
  };
};

/** The columns of the roles and of the status in a table about enrollments, as the table writes them. */
export const codeColumnsOf = (
  columns: readonly string[],
): Partial<Record<'role' | 'status', string | undefined>> => {
  const { role, status } = enrollmentsOf(columns) ?? {};
  const own = (name: string | undefined) =>
    columns.find((column) => column.toLowerCase() === name?.toLowerCase());
  return { role: own(role), status: own(status?.column) };
};

/** What a table has: the values of its columns, how they are to be read, and the names that the platform knows. */
type MappingValues = {
  roles: readonly string[];
  statuses?: readonly string[];
  changes?: Changes | undefined;
  cells?: object | undefined;
  names?: KnownNames | undefined;
};

export type KnownNames = {
  orgUnitCode?: string | undefined;
  user?: string | undefined;
  field?: Enrollments['field'] | undefined;
};

/** Columns that may name course and user, for which the crosswalk can be asked. */
export const nameColumnsOf = (columns: readonly string[]): Record<'codes' | 'users', string[]> => {
  const matching = (patterns: readonly RegExp[]): string[] =>
    columns.filter((column) => patterns.some((pattern) => pattern.test(column)));
  const { course = [], user = [] } = enrollmentsOf(columns) ?? {};
  const own = (names: readonly string[]): string[] =>
    names.flatMap((name) => columns.filter((column) => column.toLowerCase() === name.toLowerCase()));
  return {
    codes: [...new Set([...own(course), ...matching([...guesses.course, ...guesses.term])])],
    users: [...new Set([...own(user), ...matching(guesses.user)])],
  };
};

/** A mapping to fill in, for a table of which nobody knows what it is about: a person replaces each null by a column or an id. */
export const mappingToFillIn = {
  messages: [
    {
      function: 'enrollment-create',
      data: { orgUnitCode: null, userName: null, roleId: { from: null, values: {} } },
      key: [null, null],
      removed: { function: 'enrollment-remove', data: { orgUnitCode: null, userName: null } },
    },
  ],
};

/**
 * A mapping to start from, for a table about enrollments; undefined: it is about something else. A person replaces each null by the
 * platform's id of a role, and the one of a status by the values of those who are enrolled.
 */
export const mappingToStartFrom = (
  columns: readonly string[],
  { roles, statuses = [], changes: seen, cells, names }: MappingValues,
): object | undefined => {
  const found = enrollmentsOf(columns);
  if (found === undefined) return undefined;
  const changes = seen ?? found.changes;
  const own = (names: readonly string[]): string | undefined =>
    names.flatMap((name) => columns.filter((column) => column.toLowerCase() === name.toLowerCase()))[0];
  const [course, user, role] = [own(found.course), own(found.user), found.role && own([found.role])];
  if (course === undefined || user === undefined) return undefined;
  const { term } = found;
  const orgUnitCode = names?.orgUnitCode ?? (term === undefined ? course : `{${term}}.{${course}}`);
  const whom = { orgUnitCode, [names?.field ?? found.field]: names?.user ?? user };
  const state = (changes ?? found.status)?.column;
  const when = state === undefined ? undefined : own([state]);
  // Nobody knows yet the word of what the table does not have.
  const [adds, drops] = [changes?.adds, changes?.drops].map((words) => (words?.length ? words : null));
  const condition = changes ? adds : found.status && conditionOf(found.status, statuses);
  const codes = (templateParts(orgUnitCode) ?? []).flatMap((part) => ('column' in part ? part.column : []));
  return {
    ...(changes && { mode: 'delta' }),
    ...(cells && { cells }),
    messages: [
      {
        function: 'enrollment-create',
        ...(when !== undefined && condition !== undefined && { when: { [when]: condition } }),
        data: {
          ...whom,
          roleId:
            role === undefined
              ? { value: null }
              : { from: role, values: Object.fromEntries(roles.map((each) => [each, null])) },
        },
        key: [...new Set([...codes, own(['section_id']), names?.user ?? user])].filter(
          (column) => column !== undefined,
        ),
        removed: {
          function: 'enrollment-remove',
          ...(changes && when !== undefined && { when: { [when]: drops } }),
          data: whom,
        },
      },
    ],
  };
};

/** Null: no value looks like that of somebody who is enrolled. Undefined: there are no values. */
const conditionOf = (
  { is, not }: Pick<NonNullable<Enrollments['status']>, 'is' | 'not'>,
  values: readonly string[],
): object | undefined => {
  if (is.length === 0 && values.length === 0) return undefined;
  const [found, others] = [values.filter(isRegistered), values.filter((value) => !isRegistered(value))];
  const [wanted, left] = [found.length > 0 ? found : is, [...new Set([...others, ...not])]];
  return { is: wanted.length > 0 ? wanted : null, ...(left.length > 0 && { not: left }) };
};
