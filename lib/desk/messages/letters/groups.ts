import { createHash } from 'node:crypto';
import { withoutIds } from '../../../delivery/letters/letter-words.ts';
import type { IndexRecord } from '../../../delivery/letters/record.ts';
import { grantsOf, replayedOften } from '../../../message/failure-kinds.ts';
import { causesIn, withoutVariables } from './causes.ts';
import { newSubjectTally, type SubjectTally, sharedSubject, tallySubject } from './shared-subject.ts';

/** Letters of one function that failed for the same cause. */
export type Group = {
  /** Identifies the cause in a filter. It is the same as long as the same letters are compared. */
  cause: string;
  function: string;
  kind: string;
  error: string;
  /** The platform's words, masked: the first of each different text, at most `maxWords`. */
  words: string[];
  /** What to do about each of them; differing ids are shown as `<id>`. */
  remedy: string;
  letters: number;
  oldestMs: number;
  newestMs: number;
  /** Scopes to request, or secrets to create or to change, sorted. */
  grants: string[];
  /** The thing that all its letters are about; empty if there is none. */
  about: string;
  /** Letters that were replayed five times or more. */
  replayedOften: number;
  /** If an object is missing: what must be set in it, as `data.grade.type=numeric`. */
  parts?: string[];
};

export type GroupCause = ReturnType<typeof causeIn>;

export const causeIn = ({ cause, function: name, kind, error, words }: Group) => ({
  cause,
  function: name,
  kind,
  error,
  words,
});

/** Further causes are counted as `other errors`, so that the groups fit the screen. */
const maxGroups = 200;

/** Bounds memory. */
const maxKnown = 10_000;

export const maxWords = 3;

type Cause = { id: string; isOther: boolean };
export type CauseOf = (record: IndexRecord) => Cause;

/** Distinguishes causes by function, kind, and the platform's words without what varies among all these records. */
export const causesAmong = (records: readonly IndexRecord[]): CauseOf => {
  const known = new Map<string, string>();
  const plainOf = (text: string): string => {
    const plain = known.get(text) ?? withoutVariables(text);
    if (known.size < maxKnown) known.set(text, plain);
    return plain;
  };
  const found = new Map<IndexRecord, Cause>();
  const named = new Map<string, Cause>();
  const alike = [...Map.groupBy(records, causeKeyOf).values()].flatMap((each) => {
    const [record] = each;
    return record === undefined ? [] : { scope: scopeOf(record), plain: plainOf(textOf(record)), each };
  });
  for (const [scope, some] of Map.groupBy(alike, (each) => each.scope)) {
    const other = { id: idOf(scope), isOther: true };
    const causes = causesIn(new Set(some.map(({ plain }) => plain)));
    for (const { plain, each } of some) {
      const key = `${scope}\n${causes.get(plain)}`;
      const cause = named.get(key) ?? (named.size < maxGroups ? { id: idOf(key), isOther: false } : other);
      if (!cause.isOther) named.set(key, cause);
      for (const record of each) found.set(record, cause);
    }
  }
  return (record) => found.get(record) ?? { id: idOf(scopeOf(record)), isOther: true };
};

/** Equal for records that have the same cause whatever the others say: of very many, few differ. */
const causeKeyOf = ({ function: name, kind, status, remedy, error, words }: IndexRecord): string =>
  [name, kind, status, isOfSecret({ kind }) ? remedy : '', error, words].join('\n');

/** Groups records by cause; the largest group comes first. */
export const groupsOf = <Of extends IndexRecord>(
  records: readonly Of[],
  causeOf: CauseOf = causesAmong(records),
): { groups: Group[]; groupOf(record: Of): Group } => {
  const groups = new Map<string, Group>();
  const groupOf = (record: Of): Group => {
    const cause = causeOf(record);
    const group = groups.get(cause.id) ?? newGroup(record, cause);
    groups.set(cause.id, group);
    return group;
  };
  const calls = new Map<Group, string>();
  const subjects = new Map<Group, SubjectTally>();
  const grants = new Map<Group, Set<string>>();
  for (const record of records) {
    const [group, { operation = '' }] = [groupOf(record), record];
    count(group, record);
    const subject = subjects.get(group) ?? newSubjectTally(record);
    subjects.set(group, subject);
    tallySubject(subject, record);
    const grant = grantIn(record);
    if (grant !== undefined) grants.set(group, (grants.get(group) ?? new Set()).add(grant));
    if (group.error.includes('<id>')) calls.set(group, shared(calls.get(group) ?? operation, operation));
  }
  for (const group of groups.values()) {
    group.error = withSharedIds(group, calls.get(group) ?? '');
    group.about = sharedSubject(subjects.get(group) ?? newSubjectTally({ named: undefined }));
    group.grants = sortedGrants(grants.get(group) ?? []);
  }
  return { groups: [...groups.values()].sort((one, other) => other.letters - one.letters), groupOf };
};

/** The scopes or secrets that these letters lack, sorted. */
export const grantsIn = (records: readonly IndexRecord[]): string[] =>
  sortedGrants(new Set(records.flatMap((record) => grantIn(record) ?? [])));

const grantIn = (record: IndexRecord): string | undefined =>
  grantsOf(record.kind)?.of === 'scope' ? record.required : secretIn(record);

const sortedGrants = (grants: Iterable<string>): string[] => [...grants].sort(byNumber);

const { compare: byNumber } = new Intl.Collator('en', { numeric: true });

/** A call, with `<id>` where two calls differ. */
const shared = (one: string, other: string): string => {
  if (one === other) return one;
  const [ours, theirs] = [one.split('/'), other.split('/')];
  return ours.length === theirs.length
    ? ours.map((part, at) => (part === theirs[at] ? part : '<id>')).join('/')
    : '';
};

/** The error with the ids that are the same in all its letters: those of their call, and of their secret. */
const withSharedIds = ({ error, remedy }: Group, call: string): string => {
  const shownError = call === '' ? error : error.replace(withoutIds(call), () => call);
  const secret = secretIn({ remedy });
  const user = /\/(\d+)$/.exec(secret ?? '')?.[1];
  if (secret === undefined || user === undefined) return shownError;
  return shownError
    .replace(withoutIds(secret), () => secret)
    .replace('nothing can be sent as user <id>', `nothing can be sent as user ${user}`);
};

const idOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 8);

/** A refused credential: its remedy names the secret. Most messages that need it are not sent, and so have no answer. */
const isOfSecret = ({ kind }: Pick<IndexRecord, 'kind'>): boolean => kind === 'credentials';

const scopeOf = (record: IndexRecord): string => {
  const { function: name, kind, status = null, remedy = '' } = record;
  return JSON.stringify([name, kind, isOfSecret(record) ? numberless(withoutIds(remedy)) : status]);
};

/** Separate, so that the beginning of the platform's words is known. */
const textOf = (record: IndexRecord): string => {
  const { error, words } = record;
  if (isOfSecret(record)) return '';
  return words === undefined ? error : `${error} | ${words}`;
};

const newGroup = (record: IndexRecord, { id: cause, isOther }: Cause): Group => {
  const { function: name, kind, remedy = '', atMs } = record;
  return {
    cause,
    function: name,
    kind,
    remedy,
    error: isOther ? 'other errors' : record.error,
    words: [],
    letters: 0,
    oldestMs: atMs,
    newestMs: atMs,
    grants: [],
    about: '',
    replayedOften: 0,
  };
};

const count = (group: Group, record: IndexRecord): void => {
  const { atMs, error, remedy = '', words, replays } = record;
  group.letters += 1;
  group.oldestMs = Math.min(group.oldestMs, atMs);
  group.newestMs = Math.max(group.newestMs, atMs);
  if (replays >= replayedOften) group.replayedOften += 1;
  if (group.error !== error) group.error = withoutIds(group.error);
  const secret = secretIn(record);
  if (group.remedy !== remedy)
    group.remedy =
      secret === undefined ? withoutIds(remedy) : remedy.replace(secret, () => withoutIds(secret));
  const isNew =
    words !== undefined &&
    !isOfSecret(record) &&
    group.words.length < maxWords &&
    !group.words.includes(words) &&
    group.words.every((each) => numberless(each) !== numberless(words));
  if (isNew) group.words.push(words);
};

/** The secret that a person must create or change. */
export const secretIn = ({ remedy = '' }: Pick<IndexRecord, 'remedy'>): string | undefined =>
  /^(?:Create|Put a valid credential into) the secret ([\w/.@+=-]*[\w/@+=-])/.exec(remedy)?.[1];

const numberless = (text: string): string => text.replace(/\d+/g, '');
