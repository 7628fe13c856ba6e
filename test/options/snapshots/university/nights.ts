import { allBulk, type Modes, type Texts } from './export.ts';
import { type Enrollment, type LineItem, type Result, type Sis, some } from './sis.ts';

export type Night = {
  title: string;
  /** What has happened at the university since the night before. */
  life?(sis: Sis, day: string): void;
  /** Which files hold everything, and which the changes; default: all hold everything. */
  modes?: Modes;
  /** What becomes of the files on their way. */
  spoilt?(texts: Texts): Texts;
  /** How it ends: by itself, or as a person decides. */
  end: 'accepted' | 'approved' | 'rejected';
  /** What the record must say of the reason. */
  says?: RegExp;
  /** The import's process dies in these phases. */
  kills?: readonly ('compare' | 'send')[];
};

const titles = ['Essay – Grenzen & Räume', 'Quiz (cells)', "Newton's laws", 'Final exam', 'Übung №1'];
const comments = [
  'A clear argument.',
  'See me, please: "why?"',
  'Très bien, à bientôt',
  '',
  '=1+1',
  'One line\nand another',
];

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
  return [...sis.lineItems.values()].filter(({ id }) => !graded.has(id));
};

/** So many of those without results. */
const gradeSome = (sis: Sis, day: string, percent: number): void => {
  const items = openItems(sis);
  gradeAll(sis, some(sis.random, items, share(items.length, percent)), day);
};

const fullyGraded = (sis: Sis): Result[] =>
  [...sis.results.values()].filter(({ status }) => status === 'fully graded');

const correct = (sis: Sis, result: Result, given: Partial<Result>): void => {
  const item = sis.lineItems.get(result.lineItemId);
  const { score, comment, status, modified } = { ...result, ...given };
  if (item) sis.grade(item, result.userId, { score, comment, status, modified });
};

const addsAndDrops = (sis: Sis, percent = 1): void => {
  const { random, students: people } = sis;
  const count = share(sis.current().length, percent);
  for (const each of some(random, students(sis), count)) sis.drop(each, random.one(['missing', 'told']));
  const classes = [...sis.classes.values()];
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

const changeRoles = (sis: Sis): void => {
  const all = students(sis);
  for (const each of some(sis.random, all, share(all.length, 0.5))) each.role = 'aide';
};

const newLineItems = (sis: Sis): void => {
  for (const { id } of sis.classes.values()) sis.addLineItem(id, `Presentation ${sis.random.below(100)}`, 40);
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

const half = (text: string): string => {
  const lines = text.split('\r\n');
  return lines.slice(0, lines.length / 2).join('\r\n');
};

const night = (given: Night): Night => given;

/** What follows a broken export carries what that should have told. */
export const week: readonly Night[] = [
  night({ title: 'the term begins', life: termBegins, end: 'accepted' }),
  night({
    title: 'adds, drops, new roles',
    life: (sis) => {
      addsAndDrops(sis, 2);
      changeRoles(sis);
    },
    end: 'accepted',
    kills: ['compare'],
  }),
  night({
    title: 'new line items, first grades',
    life: (sis, day) => {
      newLineItems(sis);
      gradeSome(sis, day, 10);
    },
    end: 'accepted',
    kills: ['send'],
  }),
  night({
    title: 'half of the enrollments missing',
    life: (sis) => addsAndDrops(sis),
    spoilt: (texts) => ({ ...texts, 'enrollments.csv': half(texts['enrollments.csv'] ?? '') }),
    end: 'rejected',
    says: /\d+ of \d+ enrollments would be removed/,
  }),
  night({ title: 'corrected grades, comments', life: correctGrades, end: 'accepted' }),
  night({
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
  night({
    title: 'a mass drop that is real',
    life: closeClasses,
    end: 'approved',
    says: /\d+ of \d+ enrollments would be removed/,
    kills: ['compare', 'send'],
  }),
];
