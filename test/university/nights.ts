import { allBulk, csvOf, type Modes, type Rows, type Tables, type Texts } from './export.ts';
import { type Enrollment, type LineItem, type Result, type Sis, some } from './sis.ts';

export type Night = {
  title: string;
  /** What has happened at the university since the night before. */
  life?(sis: Sis, day: string): void;
  /** Which files hold everything, and which the changes; default: all hold everything. */
  modes?: Modes;
  /** Rows that nobody can use, put among the others; by kind, how many. */
  unusable?: (tables: Tables, sis: Sis, accepted: Tables) => Record<string, number>;
  /** What becomes of the files on their way. */
  spoilt?(texts: Texts, tables: Tables): Texts;
  /** What becomes of the zip. */
  cut?(zip: Uint8Array): Uint8Array;
  /** How it ends: by itself, or as a person decides. */
  end: 'accepted' | 'approved' | 'rejected' | 'failed';
  /** What the record must say of the reason. */
  says?: RegExp;
  /** The import's process dies in these phases. */
  kills?: readonly ('compare' | 'send')[];
  /** Messages by function that become letters of this kind. */
  letters?: { kind: string; messages: Record<string, number> };
  /** The queue of this function is handed out late, so that other messages of the night are before its own. */
  late?: string;
  /** A row is not legible, so that who is missing stays. */
  keepsMissing?: true;
};

const titles = ['Essay – Grenzen & Räume', 'Quiz (cells)', "Newton's laws", 'Final exam', 'Übung №1'];
const comments = [
  ...[
    'A clear argument.',
    'See me, please: "why?"',
    'Très bien, à bientôt',
    '',
    '=1+1',
    'One line\nand another',
  ],
];

/** The end of a new title. */
const renamed = ' (new)';

const share = (count: number, percent: number): number => Math.max(1, Math.round((count * percent) / 100));

/** Some minute of the day before. */
const modifiedOn = ({ random }: Sis, day: string): string =>
  new Date(Date.parse(day) - 24 * 3_600_000 + (8 * 60 + random.below(12 * 60)) * 60_000).toISOString();

/** The day so many days later. */
const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * 24 * 3_600_000).toISOString().slice(0, 10);

const students = (sis: Sis): Enrollment[] => sis.current().filter(({ role }) => role === 'student');

const gradeAll = (sis: Sis, items: readonly LineItem[], day: string): void => {
  const { random } = sis;
  const byClass = Map.groupBy(students(sis), ({ classId }) => classId);
  for (const item of items)
    for (const { userId } of byClass.get(item.classId) ?? [])
      sis.grade(item, userId, {
        score: random.below(item.max * 4 + 1) / 4,
        comment: random.happens(0.3) ? random.one(comments) : '',
        status: random.happens(0.03) ? 'partially graded' : 'fully graded',
        modified: modifiedOn(sis, day),
      });
};

/** Those without results. */
const openItems = (sis: Sis): LineItem[] => {
  const graded = new Set([...sis.results.values()].map(({ lineItemId }) => lineItemId));
  return [...sis.lineItems.values()].filter(({ id, isGone }) => !isGone && !graded.has(id));
};

/** So many of those without results, and these. */
const gradeSome = (sis: Sis, day: string, percent: number, others: readonly LineItem[] = []): void => {
  const items = openItems(sis);
  const held = items.filter(({ isHeld }) => isHeld).slice(0, 1);
  const open = others.filter((item) => items.includes(item)).slice(0, 3);
  gradeAll(
    sis,
    [...new Set([...open, ...held, ...some(sis.random, items, share(items.length, percent))])],
    day,
  );
};

const fullyGraded = (sis: Sis): Result[] =>
  [...sis.results.values()].filter(
    ({ status, lineItemId }) => status === 'fully graded' && !sis.lineItems.get(lineItemId)?.isGone,
  );

const correct = (sis: Sis, result: Result, given: Partial<Result>): void => {
  const item = sis.lineItems.get(result.lineItemId);
  const { score, comment, status, modified } = { ...result, ...given };
  if (item) sis.grade(item, result.userId, { score, comment, status, modified });
};

const addsAndDrops = (sis: Sis, percent = 1): void => {
  const { random, students: people } = sis;
  const count = share(sis.current().length, percent);
  for (const each of some(random, students(sis), count)) sis.drop(each, random.one(['missing', 'told']));
  const classes = [...sis.classes.values()].filter(({ isAmbiguous }) => !isAmbiguous);
  for (let at = 0; at < count; at += 1) sis.enrol(random.one(classes).id, random.one(people).id);
};

const termBegins = (sis: Sis, day: string): void => {
  const { random } = sis;
  const classes = [...sis.classes.values()];
  for (const { id } of sis.students)
    for (const one of some(random, classes, 2))
      sis.enrol(one.id, id, random.happens(0.02) ? { role: 'aide' } : {});
  for (const [at, { id }] of classes.entries()) {
    const teacher = sis.teachers[at % sis.teachers.length];
    if (teacher) sis.enrol(id, teacher.id, { role: 'teacher' });
    for (const title of some(random, titles, 2)) sis.addLineItem(id, title, random.one([10, 20, 100]));
  }
  // Some are for a part of the term only.
  const parts = some(random, students(sis), share(sis.students.length, 3));
  for (const [at, each] of parts.entries())
    if (at % 3 === 0) each.begin = dayAfter(day, 8);
    else each.end = dayAfter(day, 7);
};

const correctGrades = (sis: Sis, day: string): void => {
  const { random } = sis;
  const all = fullyGraded(sis);
  const modified = modifiedOn(sis, day);
  const changes: ((result: Result) => Partial<Result>)[] = [
    ({ score }) => ({ score: score / 2, modified }),
    () => ({ score: 0, modified }),
    ({ score }) => ({ score: score + 0.5, modified }),
    // The SIS forgets to say when.
    ({ score }) => ({ score: score + 0.25 }),
    () => ({ score: 0 }),
    ({ comment }) => ({ comment: comment === '' ? 'Added later' : '', modified }),
    () => ({ comment: '', score: 1.5 }),
    () => ({ status: 'partially graded', score: 0, modified }),
  ];
  for (const [at, each] of some(random, all, share(all.length, 4)).entries())
    correct(sis, each, changes[at % changes.length]?.(each) ?? {});
  for (const each of [...sis.results.values()])
    if (each.status === 'partially graded' && random.happens(0.3))
      correct(sis, each, { status: 'fully graded', modified });
};

/** Corrections of which the SIS says that they were made before those that are told already. */
const correctLate = (sis: Sis): void => {
  const all = fullyGraded(sis);
  for (const each of some(sis.random, all, share(all.length, 3))) {
    const modified = new Date(Date.parse(each.modified) + 60_000).toISOString();
    correct(sis, each, { score: each.score === 0 ? 1 : 0, comment: 'Corrected late', modified });
  }
};

const newNames = (sis: Sis): void => {
  for (const person of some(sis.random, sis.students, share(sis.students.length, 0.5)))
    person.userName = `${person.userName}.new`;
};

const reenrol = (sis: Sis): void => {
  for (const { classId, userId } of sis.dropped.splice(0, share(sis.dropped.length, 50)))
    sis.enrol(classId, userId);
};

/** From all of one's classes to as many others. */
const transfer = (sis: Sis): void => {
  const { random } = sis;
  for (const { id } of some(random, sis.students, share(sis.students.length, 0.5))) {
    const own = sis.current().filter(({ userId }) => userId === id);
    const others = [...sis.classes.values()].filter(
      (each) => !sis.isEnrolled(each.id, id) && !each.isAmbiguous,
    );
    for (const each of own) sis.drop(each, 'told');
    for (const each of some(random, others, own.length)) sis.enrol(each.id, id);
  }
};

const changeRoles = (sis: Sis): void => {
  const all = students(sis);
  for (const each of some(sis.random, all, share(all.length, 0.5))) each.role = 'aide';
};

const newLineItems = (sis: Sis): void => {
  for (const { id, isAmbiguous } of sis.classes.values())
    if (!isAmbiguous) sis.addLineItem(id, `Presentation ${sis.random.below(100)}`, 40);
};

const changeLineItems = (sis: Sis): LineItem[] => {
  const items = [...sis.lineItems.values()].filter(({ isGone }) => !isGone);
  const changed = some(sis.random, items, Math.max(3, share(items.length, 15)));
  for (const [at, item] of changed.entries()) {
    const { classId, title, max } = item;
    if (at % 6 === 0) sis.addLineItem(classId, title, max).isHeld = true;
    if (at % 3 !== 1) item.title += renamed;
    if (at % 3 !== 0) item.max *= 2;
  }
  return changed;
};

/** Less than the threshold. */
const loseLineItems = (sis: Sis): void => {
  const items = [...sis.lineItems.values()].filter(({ isGone }) => !isGone);
  for (const item of some(sis.random, openItems(sis), share(items.length, 2))) item.isGone = true;
};

/** More than the threshold. */
const closeClasses = (sis: Sis): void => {
  const all = sis.current();
  let left = share(all.length, 6);
  for (const [, enrollments] of Map.groupBy(all, ({ classId }) => classId)) {
    if (left <= 0) break;
    for (const each of enrollments) sis.drop(each, 'missing');
    left -= enrollments.length;
  }
};

/**
 * An enrollment whose class and user lose none tonight: a row without a class that is known may mean any enrollment of its user, one
 * without a user any of its class, so that they stay.
 */
const undisturbed = (now: Rows, accepted: Rows): Record<string, string> => {
  const lost = [...accepted].flatMap(([id, row]) =>
    row.status === 'active' && now.get(id)?.status !== 'active' ? [row] : [],
  );
  const [classes, users] = [
    new Set(lost.map(({ classSourcedId }) => classSourcedId)),
    new Set(lost.map(({ userSourcedId }) => userSourcedId)),
  ];
  const found = [...now.values()].find(
    ({ status, classSourcedId, userSourcedId }) =>
      status === 'active' && !classes.has(classSourcedId) && !users.has(userSourcedId),
  );
  if (found === undefined) throw new Error('Each class or user loses an enrollment tonight.');
  return found;
};

const unusableRows = (tables: Tables, sis: Sis, accepted: Tables): Record<string, number> => {
  const { enrollments, lineItems, results } = tables;
  const enrollment = undisturbed(enrollments, accepted.enrollments);
  const [result] = results.values();
  const [item] = lineItems.values();
  const learner = sis.students.at(-1);
  const good = { status: 'active', schoolSourcedId: 'org-1', role: 'student', ...enrollment };
  // Rows of their own, none of which can be read.
  const [free] = [...sis.classes.values()].filter(({ id }) => learner && !sis.isEnrolled(id, learner.id));
  const own = { ...good, classSourcedId: free?.id ?? '', userSourcedId: learner?.id ?? '' };
  enrollments.set('bad-1', { ...good, classSourcedId: 'class-nowhere' });
  enrollments.set('bad-2', { ...good, userSourcedId: 'user-nowhere' });
  enrollments.set('bad-3', { ...own, role: 'alumnus' });
  lineItems.set('bad-4', { ...item, title: 'Out of ten', resultValueMax: 'ten' });
  lineItems.set('bad-5', { ...item, title: '50 % of it' });
  lineItems.set('bad-6', { ...item, classSourcedId: 'class-nowhere' });
  results.set('bad-7', { ...result, studentSourcedId: 'user-nowhere' });
  results.set('bad-8', { ...result, lineItemSourcedId: 'item-nowhere' });
  // What was accepted of these stays as it was.
  const spoil = (name: 'enrollments' | 'lineItems' | 'results', column: string, texts: readonly string[]) => {
    const rows = tables[name];
    const used = [...rows].filter(([id, row]) => {
      const { status, scoreStatus = 'fully graded', beginDate = '', endDate = '' } = row;
      const isPlain =
        status !== 'tobedeleted' && scoreStatus === 'fully graded' && beginDate + endDate === '';
      return isPlain && JSON.stringify(accepted[name].get(id)) === JSON.stringify(row);
    });
    const chosen = some(sis.random, used, texts.length);
    for (const [at, [id, row]] of chosen.entries()) rows.set(id, { ...row, [column]: texts[at] ?? '' });
    return chosen.length;
  };
  return {
    enrollments:
      3 + spoil('enrollments', 'role', ['alumnus', '']) + spoil('enrollments', 'endDate', ['31.12.2026']),
    lineItems: 3 + spoil('lineItems', 'resultValueMax', ['1e2']),
    results:
      2 + spoil('results', 'score', ['n/a', '1.2E+01', '']) + spoil('results', 'scoreStatus', ['done']),
  };
};

/** What the report of a refused title asks for: they are used the next night. */
export const giveHeldTitles = (sis: Sis): void => {
  for (const item of sis.lineItems.values()) {
    if (item.isHeld) item.title += ' (2)';
    delete item.isHeld;
  }
};

const heldRows = (_: Tables, sis: Sis): Record<string, number> => {
  const held = [...sis.lineItems.values()].filter(({ isHeld }) => isHeld);
  const graded = held
    .flatMap((item) => sis.resultsOf(item))
    .filter(({ status }) => status === 'fully graded');
  return { lineItems: held.length, results: graded.length };
};

const ambiguousCode = 'AMB-1';
export const ambiguousOrgUnits = [9_001, 9_002].map((orgUnitId) => ({ orgUnitId, code: ambiguousCode }));

const half = (text: string): string => {
  const lines = text.split('\r\n');
  return lines.slice(0, lines.length / 2).join('\r\n');
};

const night = (given: Night): Night => given;

const all = {
  term: night({ title: 'the term begins', life: termBegins, end: 'accepted' }),
  adds: night({
    title: 'adds, drops, new roles',
    life: (sis) => {
      addsAndDrops(sis, 2);
      changeRoles(sis);
    },
    end: 'accepted',
    kills: ['compare'],
  }),
  grades: night({
    title: 'new line items, first grades',
    life: (sis, day) => {
      newLineItems(sis);
      gradeSome(sis, day, 10);
    },
    end: 'accepted',
    kills: ['send'],
  }),
  half: night({
    title: 'half of the enrollments missing',
    life: (sis) => addsAndDrops(sis),
    spoilt: (texts) => ({ ...texts, 'enrollments.csv': half(texts['enrollments.csv'] ?? '') }),
    end: 'rejected',
    says: /\d+ of \d+ enrollments would be removed/,
  }),
  corrections: night({ title: 'corrected grades, comments', life: correctGrades, end: 'accepted' }),
  names: night({
    title: 'new user names, re-enrolled, transferred',
    life: (sis) => {
      newNames(sis);
      reenrol(sis);
      transfer(sis);
    },
    end: 'accepted',
  }),
  column: night({
    title: 'a column missing',
    life: (sis, day) => correctGrades(sis, day),
    spoilt: (texts, { results }) => ({ ...texts, 'results.csv': csvOf('results', results, ['comment']) }),
    end: 'rejected',
    says: /results\.csv has lost 1 of its columns/,
  }),
  calendar: night({ title: 'nothing but the calendar', end: 'accepted' }),
  cut: night({
    title: 'a truncated zip',
    life: (sis) => addsAndDrops(sis),
    cut: (zip) => zip.subarray(0, zip.length * 0.6),
    end: 'failed',
    says: /zip/,
  }),
  late: night({ title: 'corrections dated back', life: correctLate, end: 'accepted' }),
  items: night({
    title: 'line items renamed, other maxima, grades',
    life: (sis, day) => {
      gradeSome(sis, day, 8, changeLineItems(sis));
    },
    unusable: heldRows,
    late: 'grade-object-update',
    end: 'accepted',
    kills: ['compare', 'send'],
  }),
  empty: night({ title: 'an empty file', cut: (zip) => zip.subarray(0, 0), end: 'failed', says: /./ }),
  header: night({
    title: 'a header without rows',
    spoilt: (texts) => ({ ...texts, 'enrollments.csv': csvOf('enrollments', new Map()) }),
    end: 'rejected',
    says: /enrollments/,
  }),
  required: night({
    title: 'the role’s column missing',
    spoilt: (texts, { enrollments }) => ({
      ...texts,
      'enrollments.csv': csvOf('enrollments', enrollments, ['role']),
    }),
    end: 'rejected',
    says: /enrollments\.csv has lost 1 of its columns/,
  }),
  delta: night({
    title: 'an export of changes alone',
    life: (sis, day) => {
      addsAndDrops(sis);
      correctGrades(sis, day);
    },
    modes: {
      ...allBulk,
      orgs: 'absent',
      classes: 'absent',
      users: 'absent',
      lineItems: 'absent',
      enrollments: 'delta',
      results: 'delta',
    },
    end: 'accepted',
  }),
  unusable: night({
    title: 'unusable rows among others',
    life: (sis, day) => {
      addsAndDrops(sis);
      correctGrades(sis, day);
    },
    unusable: unusableRows,
    end: 'accepted',
  }),
  illegible: night({
    title: 'a row that is not legible',
    life: (sis) => addsAndDrops(sis),
    spoilt: (texts) => ({ ...texts, 'enrollments.csv': `${texts['enrollments.csv']}enr-cut,active\r\n` }),
    unusable: () => ({ enrollments: 1 }),
    keepsMissing: true,
    end: 'accepted',
  }),
  legible: night({ title: 'the row is legible again', end: 'accepted' }),
  nothing: night({ title: 'nothing has changed', end: 'accepted' }),
  ambiguous: night({
    title: 'a code of two org units: a letter',
    life: (sis) => {
      const { id } = sis.addClass({ code: ambiguousCode, platformId: 0, isAmbiguous: true });
      const [learner] = sis.students;
      if (learner) sis.enrol(id, learner.id);
      loseLineItems(sis);
    },
    end: 'accepted',
    letters: { kind: 'ambiguous-id', messages: { 'enrollment-create': 1 } },
  }),
  closing: night({
    title: 'a mass drop that is real',
    life: closeClasses,
    end: 'approved',
    says: /\d+ of \d+ enrollments would be removed/,
    kills: ['compare', 'send'],
  }),
  last: night({
    title: 'the term ends: all the rest is graded',
    life: (sis, day) => {
      gradeSome(sis, day, 10);
      correctGrades(sis, day);
    },
    end: 'accepted',
    kills: ['send'],
  }),
};

/** A whole term. What follows a broken export carries what it should have told, and all that was held. */
export const term: readonly Night[] = [
  ...[all.term, all.adds, all.grades, all.half, all.corrections, all.items, all.late, all.names],
  ...[all.calendar, all.column, all.cut, all.empty, all.header, all.required, all.delta, all.unusable],
  ...[all.illegible, all.legible, all.nothing, all.ambiguous, all.closing, all.last],
];

/** As much of it as a test has time for. */
export const shortTerm: readonly Night[] = [
  ...[all.term, all.adds, all.grades, all.half, all.corrections, all.cut, all.delta],
];
