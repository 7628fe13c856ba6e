import type { Comparison, Mode } from '../compare/comparison.ts';
import { hasRows, statementsIn } from '../compare/statements.ts';
import {
  acceptedNamesPrefix,
  type ReassignedNameList,
  readAcceptedNames,
  reassignedIn,
  reassignedKeyOf,
} from '../state/reassigned-names.ts';

const sql = statementsIn('names');

/** What operators have accepted of names by this field: name, account and record. */
export const acceptedNamesBy = async (
  field: string,
  { store }: Pick<Comparison, 'store'>,
): Promise<[name: string, userId: string, record: string][]> => {
  const all = await readAcceptedNames(await store.keysUnder(acceptedNamesPrefix), store.readJsonIfAny);
  return all
    .filter((each) => each.field === field)
    .flatMap(({ names }) =>
      names.map(({ name, userId, record }): [string, string, string] => [name, String(userId), record]),
    );
};

/** Fills `accepted_names`. */
export const loadAcceptedNames = async (comparison: Comparison): Promise<void> => {
  const accepted = await acceptedNamesBy(comparison.settings.user.field, comparison);
  if (accepted.length > 0) await comparison.db.add('accepted_names', accepted);
};

/** Counts rows of enrollments or results that are not used because the name of their user passed. */
export const countReassignedRows = async (
  { db }: Comparison,
  kindName: 'enrollments' | 'results',
): Promise<void> => {
  if (await hasRows(db, 'passed')) await db.run(sql('count_passed'), [kindName]);
};

type ReassignedRow = [
  name: string,
  userId: string,
  record: string,
  former: string | null,
  enrollments: number,
  results: number,
  courses: string | null,
];

/** The names of `passed`, with what the last export said of them: since when, and what a delta leaves out. */
export const reassignedNamesOf = async (
  { db, store, settings, droppedMs, feed }: Comparison,
  modes: Record<'enrollments' | 'results', Mode>,
): Promise<ReassignedNameList> => {
  const { field } = settings.user;
  if (!(await hasRows(db, 'passed'))) return { field, names: [] };
  const before = reassignedIn(await store.readJsonIfAny(reassignedKeyOf(feed)));
  const known = new Map(
    before?.field === field
      ? before.names.map((each) => [JSON.stringify([each.name, each.userId, each.record]), each])
      : [],
  );
  const found = await db.all<ReassignedRow>(sql('list_passed'));
  const names = found.map(([name, id, record, formerNow, enrollments, results, json]) => {
    const userId = Number(id);
    const then = known.get(JSON.stringify([name, userId, record]));
    const former = formerNow ?? then?.former;
    const stillOf = (file: 'enrollments' | 'results') => (modes[file] === 'bulk' ? 0 : (then?.[file] ?? 0));
    const courses: string[] = JSON.parse(json ?? '[]');
    const isWhole = modes.enrollments === 'bulk' && modes.results === 'bulk';
    return {
      name,
      userId,
      record,
      ...(former !== undefined && { former }),
      sinceMs: then?.sinceMs ?? droppedMs,
      enrollments: Math.max(enrollments, stillOf('enrollments')),
      results: Math.max(results, stillOf('results')),
      courses: isWhole ? courses : [...new Set([...courses, ...(then?.courses ?? [])])].sort(),
    };
  });
  return { field, names };
};
