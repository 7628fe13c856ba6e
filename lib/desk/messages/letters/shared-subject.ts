import type { IndexRecord } from '../../../delivery/letters/record.ts';

/** What letters of one cause are about, as they are counted. */
export type SubjectTally = {
  letters: number;
  users: Set<string | undefined>;
  orgUnits: Set<string | undefined>;
  things: Set<string | undefined>;
  /** The SIS' names that all of them have. */
  names: Set<string>;
};

export const newSubjectTally = ({ named }: Pick<IndexRecord, 'named'>): SubjectTally => ({
  letters: 0,
  users: new Set(),
  orgUnits: new Set(),
  things: new Set(),
  names: new Set(namesIn(named)),
});

export const tallySubject = (
  tally: SubjectTally,
  { user, orgUnit, thing, named }: Pick<IndexRecord, 'user' | 'orgUnit' | 'thing' | 'named'>,
): void => {
  tally.letters += 1;
  tally.users.add(user);
  tally.orgUnits.add(orgUnit);
  tally.things.add(thing);
  if (tally.names.size === 0) return;
  const names = namesIn(named);
  for (const name of tally.names) if (!names.includes(name)) tally.names.delete(name);
};

const namesIn = (named: string | undefined): string[] => named?.split(' · ') ?? [];

/** `All in org unit 2001, grade object 5999; 600 users`. Empty if they share nothing, or if there is one letter. */
export const sharedSubject = ({ letters, users, orgUnits, things, names }: SubjectTally): string => {
  if (letters < 2) return '';
  const [orgUnit, thing, user] = [orgUnits, things, users].map(onlyOne);
  const shared = [
    ...(orgUnit === undefined ? [] : [`org unit ${orgUnit}`]),
    ...(thing === undefined ? [] : [thing]),
    ...(user === undefined ? [] : [`user ${user}`]),
    ...names,
  ];
  if (shared.length === 0) return '';
  const different = [
    ...countOf(orgUnits, 'org units'),
    ...countOf(things, 'things'),
    ...countOf(users, 'users'),
  ];
  return `All ${orgUnit === undefined ? 'about' : 'in'} ${[shared.join(', '), different.join(', ')].filter(Boolean).join('; ')}`;
};

const onlyOne = (values: ReadonlySet<string | undefined>): string | undefined =>
  values.size === 1 ? [...values][0] : undefined;

/** Not of those that some letters do not name. */
const countOf = (values: ReadonlySet<string | undefined>, what: string): string[] =>
  values.size > 1 && !values.has(undefined) ? [`${values.size.toLocaleString('en-US')} ${what}`] : [];
