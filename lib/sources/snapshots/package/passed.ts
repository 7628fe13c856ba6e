import type { Comparison, Mode } from '../compare/comparison.ts';
import {
  acceptedNamesPrefix,
  type PassedNames,
  passedIn,
  passedKey,
  readAcceptedNames,
} from '../state/passed-names.ts';

/** Fills `same_people` with what operators have accepted of the records that have these names now. */
export const loadSamePeople = async ({ sets, store, settings }: Comparison): Promise<void> => {
  const all = await readAcceptedNames(await store.keysUnder(acceptedNamesPrefix), store.readJsonIfAny);
  const accepted = all
    .filter(({ field }) => field === settings.user.field)
    .flatMap(({ names }) => names.map(({ name, userId, record }) => [name, String(userId), record]));
  if (accepted.length === 0) return;
  await sets.run('CREATE TABLE accepted_names (name VARCHAR, id VARCHAR, record VARCHAR)');
  await sets.add('accepted_names', accepted);
  await sets.run(`
    INSERT INTO same_people
      SELECT DISTINCT a.name, a.id FROM accepted_names a JOIN names_now n ON n.record_type = 'user' AND n.id = a.record AND n.name = a.name`);
};

/** Counts rows of enrollments or results that are not used because the name of their user passed, in `passed_rows`. */
export const countPassedRows = async (
  { sets }: Comparison,
  kindName: 'enrollments' | 'results',
): Promise<void> => {
  const [isAny] = (await sets.row<[number]>('SELECT EXISTS (FROM passed)')) ?? [];
  if (!isAny) return;
  const { table, course, joins } = {
    enrollments: {
      table: 'enrollment_rows',
      course: 'coalesce(r.org_unit_or_object, r.class_source_id)',
      joins: '',
    },
    results: {
      table: 'result_rows',
      course: 'i.org_unit_code',
      joins:
        'LEFT JOIN (SELECT object, any_value(org_unit_code) AS org_unit_code FROM items GROUP BY object) i ON i.object = r.org_unit_or_object',
    },
  }[kindName];
  await sets.run(`
    CREATE TABLE IF NOT EXISTS passed_rows (record VARCHAR, source VARCHAR, course VARCHAR, rows BIGINT);
    INSERT INTO passed_rows
      SELECT r.user_source_id, '${kindName}', ${course}, count(*) FROM ${table} r ${joins} WHERE r.problem[3] = 'namePassed' GROUP BY ALL`);
};

type Found = [
  ...[name: string, userId: string, record: string, former: string | null],
  ...[enrollments: number, results: number, courses: string | null],
];

/** The names of `passed`, with what the last export told of them: since when, and what a delta leaves out. */
export const passedNamesOf = async (
  { sets, store, settings, droppedMs }: Comparison,
  modes: Record<'enrollments' | 'results', Mode>,
): Promise<PassedNames> => {
  const { field } = settings.user;
  const [isAny] = (await sets.row<[number]>('SELECT EXISTS (FROM passed)')) ?? [];
  if (!isAny) return { field, names: [] };
  const before = passedIn(await store.readJsonIfAny(passedKey));
  const known = new Map(
    before?.field === field
      ? before.names.map((each) => [JSON.stringify([each.name, each.userId, each.record]), each])
      : [],
  );
  const found = await sets.all<Found>(`
    SELECT p.name, p.platform_id, p.id,
      (SELECT min(w.id) FROM names_before w WHERE w.record_type = 'user' AND w.name = p.name AND w.id <> p.id AND w.active = 1),
      CAST(coalesce(any_value(r.enrollments), 0) AS INTEGER), CAST(coalesce(any_value(r.results), 0) AS INTEGER), any_value(r.courses)
    FROM passed p LEFT JOIN (
      SELECT record, sum(rows) FILTER (source = 'enrollments') AS enrollments, sum(rows) FILTER (source = 'results') AS results,
        to_json(list_sort(list(DISTINCT course) FILTER (course IS NOT NULL))) AS courses
      FROM passed_rows GROUP BY record) r ON r.record = p.id
    GROUP BY p.name, p.platform_id, p.id ORDER BY p.name, p.id`);
  const names = found.map(([name, id, record, formerNow, enrollments, results, json]) => {
    const userId = Number(id);
    const then = known.get(JSON.stringify([name, userId, record]));
    const former = formerNow ?? then?.former;
    const stillOf = (file: 'enrollments' | 'results') => (modes[file] === 'bulk' ? 0 : (then?.[file] ?? 0));
    const courses: string[] = JSON.parse(json ?? '[]');
    const isWhole = modes.enrollments === 'bulk' && modes.results === 'bulk';
    return {
      ...{
        name,
        userId,
        record,
        ...(former !== undefined && { former }),
        sinceMs: then?.sinceMs ?? droppedMs,
      },
      enrollments: Math.max(enrollments, stillOf('enrollments')),
      results: Math.max(results, stillOf('results')),
      courses: isWhole ? courses : [...new Set([...courses, ...(then?.courses ?? [])])].sort(),
    };
  });
  return { field, names };
};
