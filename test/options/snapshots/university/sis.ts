import type { Random } from '../../../fuzz/random.ts';

// What the university knows. Written from the words of OneRoster 1.2 alone, without the code that it is to judge.

export type Person = {
  id: string;
  userName: string;
  /** The number on the card: the platform's OrgDefinedId. */
  number: string;
  family: string;
  given: string;
  /** What the platform calls it, which no export says. */
  platformId: number;
  isTeacher: boolean;
};
export type SchoolClass = {
  id: string;
  code: string;
  title: string;
  platformId: number;
};
export type Role = 'student' | 'teacher' | 'aide';
export type Enrollment = {
  id: string;
  classId: string;
  userId: string;
  role: Role;
  /** Days, both included. */
  begin?: string;
  end?: string;
  /** Its row says so from then on. */
  isDeleted?: true;
};
export type LineItem = {
  id: string;
  classId: string;
  title: string;
  max: number;
};
export type Result = {
  id: string;
  lineItemId: string;
  userId: string;
  score: number;
  comment: string;
  /** Only a full grade is one for the platform. */
  status: 'fully graded' | 'partially graded';
  modified: string;
};

export type Sis = ReturnType<typeof newSis>;

export const roleIds: Readonly<Record<Role, number>> = { student: 110, teacher: 109, aide: 111 };

const families = ['Ångström', 'Núñez', "O'Brien", 'de la Cruz', 'Müller, jun.', 'Li', 'Çelik', 'Smith'];
const givens = ['Ada', 'Björn', 'Chloé', 'Dmitri', 'Eun-ji', 'Fatma', 'Grace "Amazing"', 'Hana'];
const subjects = ['BIO', 'HIS', 'MATH', 'PHY', 'LAW', 'ART', 'GEO', 'ECO'];

/** A university before the term; whatever comes is of the seed alone. */
export const newSis = (students: number, random: Random) => {
  const people = new Map<string, Person>();
  const classes = new Map<string, SchoolClass>();
  const enrollments = new Map<string, Enrollment>();
  const lineItems = new Map<string, LineItem>();
  const results = new Map<string, Result>();
  /** The row that holds, by class and user; and those of line item and user. */
  const current = new Map<string, Enrollment>();
  const resultOf = new Map<string, Result>();
  let rows = 0;
  const newId = (kind: string): string => {
    rows += 1;
    return `${kind}-${rows.toString(36).padStart(6, '0')}`;
  };

  const addPerson = (isTeacher: boolean): Person => {
    const at = people.size + 1;
    const [family, given] = [random.one(families), random.one(givens)];
    const person = {
      id: newId('user'),
      family,
      given,
      isTeacher,
      platformId: 100_000 + at,
      userName: `${isTeacher ? 't' : 's'}${at}.${subjects[at % 8]?.toLowerCase()}`,
      number: String(7_000_000 + at),
    };
    people.set(person.id, person);
    return person;
  };
  const addClass = (): void => {
    const at = classes.size + 1;
    const code = `${subjects[at % 8]}-${100 + at}.${random.one(['A', 'B', 'ä'])}`;
    const id = newId('class');
    classes.set(id, { id, code, title: `Course, no. ${at}`, platformId: 10_000 + at });
  };
  const key = (one: string, other: string): string => `${one} ${other}`;

  const enrol = (
    classId: string,
    userId: string,
    given: Partial<Enrollment> = {},
  ): Enrollment | undefined => {
    if (current.has(key(classId, userId))) return undefined;
    const enrollment: Enrollment = { id: newId('enr'), classId, userId, role: 'student', ...given };
    enrollments.set(enrollment.id, enrollment);
    current.set(key(classId, userId), enrollment);
    return enrollment;
  };
  const drop = (enrollment: Enrollment, how: 'missing' | 'told'): void => {
    current.delete(key(enrollment.classId, enrollment.userId));
    if (how === 'told') enrollment.isDeleted = true;
    else enrollments.delete(enrollment.id);
  };
  const addLineItem = (classId: string, title: string, max: number): LineItem => {
    const item: LineItem = { id: newId('item'), classId, title, max };
    lineItems.set(item.id, item);
    return item;
  };
  const grade = (item: LineItem, userId: string, given: Omit<Result, 'id' | 'lineItemId' | 'userId'>) => {
    const at = key(item.id, userId);
    const known = resultOf.get(at);
    const result = { ...known, ...given, id: known?.id ?? newId('res'), lineItemId: item.id, userId };
    resultOf.set(at, result);
    results.set(result.id, result);
    return result;
  };

  for (let at = 0; at < students; at += 1) addPerson(false);
  for (let at = 0; at < Math.ceil(students / 100); at += 1) addPerson(true);
  for (let at = 0; at < Math.max(8, Math.ceil(students / 50)); at += 1) addClass();

  const learners = [...people.values()].filter(({ isTeacher }) => !isTeacher);
  const teachers = [...people.values()].filter(({ isTeacher }) => isTeacher);

  return {
    people,
    classes,
    enrollments,
    lineItems,
    results,
    random,
    students: learners,
    teachers,
    enrol,
    drop,
    addLineItem,
    grade,
    /** What holds, whatever the day. */
    current: () => [...current.values()],
  };
};

/** So many of them, each at most once. */
export const some = <Item>(random: Random, items: readonly Item[], count: number): Item[] => {
  const left = [...items];
  const chosen: Item[] = [];
  while (chosen.length < count && left.length > 0) {
    const at = random.below(left.length);
    const [item] = left.slice(at, at + 1) as [Item];
    chosen.push(item);
    const last = left.pop() as Item;
    if (at < left.length) left[at] = last;
  }
  return chosen;
};
