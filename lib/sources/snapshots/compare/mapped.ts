import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Integration } from '../../../delivery/handle/integration.ts';
import { draftOf } from '../../../message/message.ts';
import { type PlatformIds, sisFields, sisIdsIn } from '../../../message/sis-ids.ts';
import { maxMessageBytes, sqsProblem } from '../../../message/sqs-limits.ts';
import { problemsIn } from '../../../platform/client/failure-of.ts';
import { delimiterIn } from '../../../runtime/files/tables/delimiter.ts';
import { readTable, rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import type { Cell } from '../../mapping/columns.ts';
import {
  eventsOf,
  type Made,
  type Problem,
  problemsByColumn,
  problemWithValue,
  removalsOf,
} from '../../mapping/events.ts';
import { columnsIn } from '../../mapping/mapping.ts';
import type { SnapshotMapping } from '../package/mapping-file.ts';
import { countTableRows } from '../package/rows.ts';
import { addDamaged, loadShared } from '../state/accepted.ts';
import { kindOf } from '../state/record.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { columnsOf, type LastAccepted, type Outcome, totals, withRemovals } from './compare.ts';
import { type Comparison, type NameMoves, separator } from './comparison.ts';
import { loadOtherGrades } from './grades.ts';
import { settleEnrollments } from './others.ts';
import {
  addKinds,
  compareWanted,
  countWanted,
  eventOf,
  type Forms,
  type Kind,
  writeChanges,
  writeState,
} from './wanted.ts';

type Message = SnapshotMapping['messages'][number];
type Integrations = ReadonlyMap<string, Integration<unknown>>;

type Given = {
  path: string;
  file: string;
  mapping: SnapshotMapping;
  integrations: Integrations;
};
type Context = Given & {
  comparison: Comparison;
  /** With only the fields that identify whom a row is about. */
  naming: SnapshotMapping;
};

/**
 * Compares a table with the last accepted one of the same name.
 * @throws UnusableSnapshot
 */
export const compareMapped = async (
  given: Given,
  comparison: Comparison,
  last: LastAccepted | undefined,
): Promise<Outcome> => {
  const { file, mapping } = given;
  const { sets } = comparison;
  const context: Context = { ...given, comparison, naming: namingIn(mapping) };
  const by = JSON.stringify(mapping.messages.map(({ function: name, key }) => [name, ...key]));
  if (last !== undefined) checkKeys(by, last.by, file);
  const table = await open(context);
  await addKinds(comparison, mapping.messages.map(kindIn(file)));
  await loadShared(comparison);
  await sets.run(`${tables} ${enrollmentMacros}`);
  const removing = mapping.messages.flatMap(({ removed }, at) => (removed ? [kindOf(at)] : []));
  await sets.run(`SET VARIABLE removing_kinds = string_split($1, ',')`, [removing.join(',')]);
  await loadWanted(context);
  const withoutMessage = await readRows(table, context);
  await sets.run(`${macros} ${name}`);
  if (comparison.isOf10) await sets.run('UPDATE accepted SET must_resend = false');
  comparison.nameMoves = await nameMovesIn(comparison);
  const [latest] = (await sets.row<[number | null]>('SELECT max(said_at_ms) FROM claims')) ?? [];
  comparison.saidMs = latest ?? undefined;
  if (mapping.messages.some((each) => each.function === 'grade-push')) await loadOtherGrades(comparison);
  await keepEmptied(context);
  await compareWanted(comparison);
  await leaveSame(comparison);
  comparison.effects = await settleEnrollments(comparison, {
    file,
    column: mapping.messages[0]?.key.join(', ') ?? '',
  });
  await checkRemovals(comparison);
  await countWanted(comparison);
  await countTableRows(comparison, { file, table, withoutMessage });
  await writeChanges(comparison, forms);
  await writeState(comparison, { forms, further: {} });
  const read = { columns: table.columns, rows: table.rows };
  const hadRows = Object.values(comparison.acceptedCounts).some((count) => count > 0);
  const { reasons, ...columns } = columnsOf([{ ...read, name: file, file, isWhole: true, hadRows }], last);
  return {
    ...{ ...totals(comparison), ...columns, by, unknownRoles: new Map(), isDelta: false },
    ...withRemovals(comparison, last === undefined, reasons),
  };
};

/** Accepted rows are identified by the index of their message and by its key: both must never change. */
const checkKeys = (by: string, before: string, file: string): void => {
  const [now, then] = [by, before].map((each) => JSON.parse(each) as string[][]);
  const other = then?.findIndex((each, at) => !isDeepStrictEqual(each, now?.[at])) ?? -1;
  if (other < 0) return;
  const [name, ...key] = then?.[other] ?? [];
  throw new UnusableSnapshot(
    `The mapping changed messages[${other}]. Rows of ${file} were accepted with ${name} and the key ${key.join(', ')} there. Put that back, and add new messages at the end. Or give the file another name: then everything is sent again, and nothing is removed`,
  );
};

const nameMovesIn = async ({ sets }: Comparison): Promise<NameMoves> => {
  const [names = 0, claims = 0, people = 0, orgUnits = 0] =
    (await sets.row<[number, number, number, number]>(`
      WITH moved AS (
        SELECT w.org_unit_or_object, w.user_name, o.id AS org_unit_id_now, u.id AS user_id_now, i.org_unit_id, i.user_id FROM accepted w JOIN key_ids_before i USING (key)
          LEFT JOIN stands_for o ON o.token = w.org_unit_or_object AND o.id <> i.org_unit_id LEFT JOIN stands_for u ON u.token = w.user_name AND u.id <> i.user_id
        WHERE o.id IS NOT NULL OR u.id IS NOT NULL)
      SELECT count(DISTINCT CASE WHEN org_unit_id_now IS NOT NULL THEN org_unit_or_object END) + count(DISTINCT CASE WHEN user_id_now IS NOT NULL THEN user_name END),
        count(*), count(DISTINCT user_name), count(DISTINCT org_unit_or_object) FROM moved`)) ?? [];
  return { names, claims, people, orgUnits };
};

/** Several messages of the mapping may state what one resource must be; they must agree. */
const kindIn =
  (file: string) =>
  ({ function: name, key, time }: Message, at: number): Kind => ({
    ...{
      stateKind: kindOf(at),
      name,
      function: name,
      file,
      column: key.join(', '),
      timeColumn: time,
      hasDays: false,
    },
    older:
      'is before the time of the accepted row, which stays. To send this one, export it with the time of its change',
    twice: 'another row has the same key, but differs',
    differs: 'another row is about the same thing on the platform, but differs',
  });

const forms: Forms = {
  // What the platform keeps is not sent again.
  joins: `LEFT JOIN kept_data t ON t.key = d.key LEFT JOIN key_ids i ON i.key = d.key`,
  sent: `with_ids(coalesce(t.data, d.data), d.org_unit_or_object, d.user_name, i.org_unit_id, i.user_id)`,
  removalData: `with_ids(CAST(CAST(d.removal AS JSON) -> 'data' AS VARCHAR), d.org_unit_or_object, d.user_name, i.org_unit_id, i.user_id)`,
  derived: 'NULL AS wanted_value',
  ids: `(SELECT any_value(i.org_unit_id) FROM key_ids i WHERE i.key = d.key) AS org_unit_id,
    (SELECT any_value(i.user_id) FROM key_ids i WHERE i.key = d.key) AS user_id`,
};

/** Which claims are about enrollments, for the statements over all files. */
const enrollmentMacros = `
  CREATE MACRO is_about_enrollment(kind_name) AS starts_with(kind_name, 'enrollment-');
  CREATE MACRO enrollment_in(kind_name, key) AS CASE WHEN starts_with(kind_name, 'enrollment-') THEN key END;
  CREATE MACRO org_unit_token(org_unit_or_object) AS org_unit_or_object;
  CREATE MACRO role_of(wanted_value) AS role_in(wanted_value);
  -- Without a message for a removal, the platform keeps what was sent.
  CREATE MACRO removal_function(state_kind, removal) AS
    CASE WHEN list_contains(getvariable('removing_kinds'), state_kind) THEN CAST(removal AS JSON) ->> 'function' END;
`;

const tables = `
  CREATE TABLE mapped_rows (state_kind VARCHAR, kind_name VARCHAR, template VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, data VARCHAR, removal VARCHAR,
    source_row VARCHAR, said_at_ms VARCHAR, line VARCHAR);
  CREATE TABLE accepted_rows AS SELECT *, NULL::VARCHAR AS row_standing, NULL::VARCHAR AS last_snapshot_number, NULL::VARCHAR AS org_unit_id, NULL::VARCHAR AS user_id FROM mapped_rows;
  CREATE TABLE key_ids (key VARCHAR, org_unit_id VARCHAR, user_id VARCHAR);
  CREATE TABLE key_ids_before (key VARCHAR, org_unit_id VARCHAR, user_id VARCHAR);
  CREATE TABLE unmapped_rows (kind_name VARCHAR, source_row VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR);
  CREATE TABLE optional (state_kind VARCHAR, field VARCHAR, column_name VARCHAR);
  CREATE TABLE kept_data (key VARCHAR, data VARCHAR);
`;

const open = async ({ path, file, mapping, comparison }: Context): Promise<Table> => {
  const table = await readTable(createReadStream(path), join(comparison.folder, 'rows'), {
    file,
    delimiterIn,
  });
  const missing = [...columnsIn(mapping)].filter(([column]) => !table.columns.includes(column));
  if (missing.length > 0)
    throw new UnusableSnapshot(
      `${file} has no column ${missing.map(([column, reader]) => `${column} (which ${reader} reads)`).join(', ')}. The first row must name the columns`,
    );
  await addDamaged(comparison, { file, kindName: file, table });
  for (const name of new Set(mapping.messages.map((each) => each.function)))
    if (name !== file)
      await comparison.sets.run(
        `INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name, counts) SELECT '${name}', source_row, NULL, NULL, false FROM refused_rows WHERE kind_name = $1`,
        [file],
      );
  return table;
};

/** The parts of the resource's key. */
type Thing = { template: string; orgUnit: string | null; user: string | null };

const inOneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no key of a state has them.
  text.replace(/[\u0000-\u001f\u007f]/g, (sign) => encodeURIComponent(sign));

/** Far from the platform's ids, so that the place of each can be found in the resource's key. */
const standIns: ReadonlyMap<string, number> = new Map(
  [...new Set(sisFields.map(([field]) => field))].map((field, at) => [
    field,
    Number.MAX_SAFE_INTEGER - 500 - at,
  ]),
);
const standInIds: PlatformIds = Object.fromEntries(standIns);
const places: Readonly<Record<string, string>> = { orgUnitId: '\u0001o', userId: '\u0001u' };

/** The name by which the data identify an org unit or a user; null: there is none, or it cannot be read. */
const tokenOf = (data: object, platformField: 'orgUnitId' | 'userId'): string | null => {
  const { sisIds, problems } = sisIdsIn(data);
  const named = sisIds.find((each) => each.platformField === platformField);
  if (named) return inOneLine(`${named.field}=${named.value}`);
  const value = (data as Record<string, unknown>)[platformField];
  const isWrong = problems.some(([field]) => field === platformField);
  return typeof value === 'number' && !isWrong ? `${platformField}=${value}` : null;
};

/** A creation is identified by its message: here by its row, in any snapshot. */
const ofAnyNight = (comparison: Comparison): Comparison => ({ ...comparison, snapshotId: 'rows' });

/** The one thing on the platform that an event changes. @throws MessageFailure if its function would refuse the event. */
const thingOf = (
  body: string,
  { integration, nowMs }: { integration: Integration<unknown>; nowMs: number },
): Thing => {
  const draft = draftOf(body, integration, nowMs);
  const message = draft.message(standInIds);
  const [field] = integration.fields?.(message.data, message) ?? [];
  let template = `${integration.resource(message.data, message)}${field === undefined ? '' : `#${field}`}`;
  for (const { platformField, value } of draft.sisIds)
    template = template.replaceAll(
      String(standIns.get(platformField)),
      () => places[platformField] ?? inOneLine(`${platformField}=${value}`),
    );
  const { data } = JSON.parse(body) as { data: object };
  return { template, orgUnit: tokenOf(data, 'orgUnitId'), user: tokenOf(data, 'userId') };
};

/** Loads what was accepted. */
const loadWanted = ({ comparison }: Context): Promise<void> => {
  const { sets, number } = comparison;
  return sets.run(`INSERT INTO accepted_rows BY NAME
    SELECT s.* EXCLUDE (key, wanted_value, org_unit_ref, source_id_hash) REPLACE (CAST(said_at_ms AS VARCHAR) AS said_at_ms, CAST(last_snapshot_number AS VARCHAR) AS last_snapshot_number), k.kind_name
      FROM state_wanted s JOIN kinds k USING (state_kind);
    UPDATE accepted_rows SET last_snapshot_number = '${number}' WHERE last_snapshot_number IS NULL`);
};

type Sent = { function: string; data: object };

const numberText = (value: number | undefined): string | null => (value === undefined ? null : String(value));

/** Undefined: the function would refuse it, or there is none. */
const unlessRefused = <Result>(
  integration: Integration<unknown> | undefined,
  read: (integration: Integration<unknown>) => Result,
): Result | undefined => {
  try {
    return integration && read(integration);
  } catch {
    return undefined;
  }
};

/**
 * Names become what they stand for: what was accepted, what it stood for then; a row, what its name stands for now, or if that is
 * unknown, stood for. Of two accepted rows about one thing that differ, it is unknown which one the platform has. Then there is no data,
 * from which every intended value differs. A removal yields to a row that is present.
 */
const name = `
  CREATE MACRO key_of(template, org_unit_or_object, user_name) AS
    replace(replace(template, chr(1) || 'o', coalesce(org_unit_or_object, '')), chr(1) || 'u', coalesce(user_name, ''));
  CREATE TABLE stands_for AS SELECT field || '=' || name AS token, id FROM known_names;
  INSERT INTO problems
    SELECT k.file, CAST(m.line AS BIGINT), k.column_name, 'names a user whose name was another person''s, and the crosswalk still gives that one''s account. The row is used when it gives another'
    FROM mapped_rows m JOIN kinds k USING (state_kind) WHERE m.user_name IN (FROM passed_names);
  INSERT INTO unmapped_rows SELECT kind_name, source_row, org_unit_or_object, user_name FROM mapped_rows WHERE user_name IN (FROM passed_names);
  DELETE FROM mapped_rows WHERE user_name IN (FROM passed_names);
  CREATE TABLE accepted_claims AS
    SELECT m.*, coalesce(value_of(kind_name, template, org_unit_or_object, user_name, data), kind_name || ' null') AS wanted_value,
      coalesce(m.org_unit_id, id_in_token(org_unit_or_object), o.id) AS org_unit_id_now, coalesce(m.user_id, id_in_token(user_name), u.id) AS user_id_now,
      (m.org_unit_id IS NULL AND o.id IS NOT NULL) OR (m.user_id IS NULL AND u.id IS NOT NULL) AS is_learnt
    FROM accepted_rows m LEFT JOIN stands_for o ON o.token = m.org_unit_or_object LEFT JOIN stands_for u ON u.token = m.user_name;
  ALTER TABLE accepted_claims ADD COLUMN key VARCHAR;
  UPDATE accepted_claims SET key = key_of(template, coalesce(org_unit_id_now, org_unit_or_object), coalesce(user_id_now, user_name));
  -- A name that the crosswalk no longer knows stands for what it stood for.
  INSERT INTO stands_for
    SELECT token, any_value(id) FROM (SELECT org_unit_or_object AS token, org_unit_id_now AS id FROM accepted_claims UNION SELECT user_name, user_id_now FROM accepted_claims)
    WHERE id IS NOT NULL AND token NOT IN (SELECT token FROM stands_for) AND id_in_token(token) IS NULL
    GROUP BY token HAVING count(*) = 1;
  CREATE TABLE mapped_claims AS
    SELECT m.*, coalesce(id_in_token(org_unit_or_object), o.id) AS org_unit_id_now, coalesce(id_in_token(user_name), u.id) AS user_id_now
    FROM mapped_rows m LEFT JOIN stands_for o ON o.token = m.org_unit_or_object LEFT JOIN stands_for u ON u.token = m.user_name;
  ALTER TABLE mapped_claims ADD COLUMN key VARCHAR;
  UPDATE mapped_claims SET key = key_of(template, coalesce(org_unit_id_now, org_unit_or_object), coalesce(user_id_now, user_name));
  INSERT INTO key_ids SELECT key, any_value(org_unit_id_now), any_value(user_id_now) FROM mapped_claims GROUP BY key;
  INSERT INTO key_ids_before SELECT key, any_value(org_unit_id_now), any_value(user_id_now) FROM accepted_claims GROUP BY key;
  INSERT INTO key_ids FROM key_ids_before ANTI JOIN key_ids USING (key);
  CREATE OR REPLACE VIEW accepted_keys AS
    SELECT w.kind_name, w.key, coalesce(id_in_token(w.org_unit_or_object), o.id, w.org_unit_or_object) AS org_unit_or_object, coalesce(id_in_token(w.user_name), u.id, w.user_name) AS user_name, w.last_snapshot_number
    FROM accepted w LEFT JOIN stands_for o ON o.token = w.org_unit_or_object LEFT JOIN stands_for u ON u.token = w.user_name;
  INSERT INTO accepted BY NAME
    SELECT unnest(w) FROM (
      SELECT any_value({'kind_name': kind_name, 'state_kind': state_kind, 'key': key, 'org_unit_or_object': org_unit_or_object, 'user_name': user_name, 'wanted_value': wanted_value, 'data': data, 'removal': removal,
          'template': template, 'source_row': source_row, 'said_at_ms': CAST(said_at_ms AS BIGINT), 'last_snapshot_number': CAST(last_snapshot_number AS BIGINT),
          -- A message that waited until its name was known may have overruled another file.
          'must_resend': is_learnt AND key IN (SELECT enrollment FROM other_claims), 'was_disputed': row_standing IS NOT DISTINCT FROM 'disputed'}) AS w
      FROM accepted_claims GROUP BY key);
  UPDATE accepted SET wanted_value = kind_name || ' null', data = NULL WHERE key IN (SELECT key FROM accepted_claims GROUP BY key HAVING min(wanted_value) <> max(wanted_value));
  INSERT INTO row_claims BY NAME SELECT kind_name, source_row, key FROM accepted_claims UNION SELECT s.kind_name, s.source_row, s.key FROM shared_row_claims s;
  INSERT INTO claims BY NAME
    SELECT kind_name, state_kind, key, org_unit_or_object, user_name, value_of(kind_name, template, org_unit_or_object, user_name, data) AS wanted_value, data, removal, template, source_row, CAST(said_at_ms AS BIGINT) AS said_at_ms,
      CAST(line AS BIGINT) AS line
    FROM mapped_claims;
  DELETE FROM claims WHERE kind_name LIKE '%-remove' AND key IN (SELECT key FROM claims WHERE kind_name NOT LIKE '%-remove');
  INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name)
    SELECT m.kind_name, m.source_row, coalesce(id_in_token(m.org_unit_or_object), o.id, m.org_unit_or_object), coalesce(id_in_token(m.user_name), u.id, m.user_name)
    FROM unmapped_rows m LEFT JOIN stands_for o ON o.token = m.org_unit_or_object LEFT JOIN stands_for u ON u.token = m.user_name;
  CREATE TABLE doubtful_rows AS
    SELECT c.key, c.source_row, CASE WHEN x.name IS NULL THEN k.org_unit_id END AS undoubted_org_unit_id, CASE WHEN y.name IS NULL THEN k.user_id END AS undoubted_user_id,
      key_of(c.template, coalesce(undoubted_org_unit_id, c.org_unit_or_object), coalesce(undoubted_user_id, c.user_name)) AS key_by_name
    FROM claims c LEFT JOIN key_ids k USING (key)
      LEFT JOIN doubtful_names x ON x.field || '=' || x.name = c.org_unit_or_object LEFT JOIN doubtful_names y ON y.field || '=' || y.name = c.user_name
    WHERE (x.name IS NOT NULL OR y.name IS NOT NULL) AND key_by_name <> c.key;
  INSERT INTO doubtful_claims SELECT key, source_row, key_by_name FROM doubtful_rows;
  INSERT INTO key_ids SELECT DISTINCT key_by_name, undoubted_org_unit_id, undoubted_user_id FROM doubtful_rows;
  CREATE VIEW file_grades AS
    SELECT c.key, c.state_kind, grade_named(coalesce(k.org_unit_id, c.org_unit_or_object), object_in(CAST(c.data AS JSON)), coalesce(k.user_id, c.user_name)) AS grade,
      bare_grade_in(CAST(c.data AS JSON) -> 'grade') AS bare_grade, c.said_at_ms, c.line
    FROM claims c LEFT JOIN key_ids k USING (key) WHERE c.kind_name = 'grade-push';
  DROP TABLE unmapped_rows;
  DROP TABLE mapped_rows; DROP TABLE mapped_claims; DROP TABLE accepted_rows; DROP TABLE accepted_claims;
`;

/** \`value_of\`: what a row wants, without whom it is about. \`with_ids\`: data with the platform's ids in place of the names of the SIS. */
const macros = `
  CREATE MACRO named_by(token, place, template) AS
    CASE WHEN contains(template, place) OR contains(template, '/' || split_part(token, '=', 2))
      THEN '{"' || split_part(token, '=', 1) || '":null}' ELSE '{}' END;
  CREATE MACRO value_of(kind_name, template, org_unit_or_object, user_name, data) AS kind_name || ' ' || CAST(json_merge_patch(CAST(data AS JSON),
    CAST(named_by(coalesce(org_unit_or_object, ''), chr(1) || 'o', template) AS JSON), CAST(named_by(coalesce(user_name, ''), chr(1) || 'u', template) AS JSON)) AS VARCHAR);
  CREATE MACRO id_for(token, field, id) AS
    CASE WHEN id IS NULL OR token IS NULL OR starts_with(token, field || '=') THEN '{}'
      ELSE '{"' || split_part(token, '=', 1) || '":null,"' || field || '":' || id || '}' END;
  CREATE MACRO with_ids(data, org_unit_or_object, user_name, org_unit_id, user_id) AS
    CASE WHEN org_unit_id IS NULL AND user_id IS NULL THEN data
      ELSE CAST(json_merge_patch(CAST(data AS JSON), CAST(id_for(org_unit_or_object, 'orgUnitId', org_unit_id) AS JSON), CAST(id_for(user_name, 'userId', user_id) AS JSON)) AS VARCHAR) END;
`;

/** Returns the number of rows that no message applies to. */
const readRows = async (table: Table, context: Context): Promise<number> => {
  const { mapping, comparison } = context;
  const { sets } = comparison;
  const wanted = [...columnsIn(mapping).keys()];
  const names = Object.fromEntries(wanted.map((column, at) => [`w${at}`, column]));
  let withoutMessage = 0;
  for await (const batch of sets.rows<[number, ...(string | null)[]]>(rowsOf(table, names), [table.path])) {
    const taken: Taken = { mapped_rows: [], unmapped_rows: [], problems: [] };
    for (const [line, ...cells] of batch) {
      const row = new Map(wanted.map((column, at): [string, Cell] => [column, cellOf(cells[at] ?? null)]));
      const before = taken.mapped_rows.length + taken.unmapped_rows.length;
      const problems: Problem[] = [];
      for (const [at, message] of mapping.messages.entries())
        problems.push(...take({ row, line, at, message }, context, taken));
      // Several messages may read the same column.
      const told = new Map(problems.map((each) => [`${each.column}${separator}${each.problem}`, each]));
      for (const each of told.values())
        taken.problems.push([context.file, String(line), each.column, problemWithValue(each)]);
      if (taken.mapped_rows.length + taken.unmapped_rows.length === before) withoutMessage += 1;
    }
    for (const [table, rows] of Object.entries(taken)) if (rows.length > 0) await sets.add(table, rows);
  }
  return withoutMessage;
};

type Taken = Record<'mapped_rows' | 'unmapped_rows' | 'problems', (string | null)[][]>;

const cellOf = (text: string | null): Cell => ({ text: text ?? '', quoted: text !== null });

type OneRow = { row: ReadonlyMap<string, Cell>; line: number; at: number; message: Message };

// biome-ignore lint/suspicious/noControlCharactersInRegex: what is to be found.
const control = /[\u0000-\u001f\u007f]/;

/** An id of the SIS may be any single line that is not too long. */
const isId = (text: string): boolean => text !== '' && text.length <= 255 && !control.test(text);

const instant = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

const instantMsIn = (text: string): number | undefined => {
  const ms = instant.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
};

/** Adds what a message makes of a row, and returns why it makes nothing. */
const take = (one: OneRow, context: Context, taken: Taken): Problem[] => {
  const { row, line, at, message } = one;
  const { mapping, naming } = context;
  const { events, problems = [] } = eventsOf(row, mapping, at);
  const [made] = events ?? [];
  if (made === undefined && problems.length === 0) return [];
  const cells = message.key.map((column) => row.get(column)?.text ?? '');
  const wrong = message.key.filter((_, place) => !isId(cells[place] ?? ''));
  const key = cells.join(separator);
  const id = `${kindOf(at)}${wrong.length === 0 ? `${separator}${key}` : `#${hash('sha256', key).slice(0, 20)}`}`;
  const removal = message.removed && removalsOf(row, mapping, at);
  const time = made && timeIn(made, message);
  const all: Problem[] = [
    ...wrong.map((column) => ({ column, problem: 'must be one line, and not empty' })),
    ...problems,
    ...(removal?.problems ?? []),
    ...(time?.problem ?? []),
  ];
  const thing = made && all.length === 0 ? thingIn({ ...one, made, id }, context) : { problems: all };
  if (made === undefined || 'problems' in thing) {
    // The part of an unusable row that identifies whom it is about.
    const named = eventsOf(row, naming, at).events?.[0]?.data;
    const whom = (field: 'orgUnitId' | 'userId') => (named ? tokenOf(named, field) : null);
    taken.unmapped_rows.push([message.function, id, whom('orgUnitId'), whom('userId')]);
    return 'problems' in thing ? thing.problems : [];
  }
  const [gone] = removal?.events ?? [];
  taken.mapped_rows.push([
    ...[kindOf(at), message.function, thing.template, thing.orgUnit, thing.user, JSON.stringify(made.data)],
    gone ? JSON.stringify({ function: gone.function, data: gone.data } satisfies Sent) : null,
    ...[id, numberText(time?.atMs), String(line)],
  ]);
  return [];
};

/** What the event is about, or why its function would refuse it. */
const thingIn = (
  { made, id, at, message }: OneRow & { made: Made; id: string },
  { comparison, integrations }: Context,
): Thing | { problems: Problem[] } => {
  const column = message.key.join(', ');
  const body = eventOf(ofAnyNight(comparison), {
    kind: kindOf(at),
    key: id,
    function: made.function,
    data: made.data,
  });
  const size = sqsProblem({ body, attributes: {} }, maxMessageBytes - 1_024);
  if (size !== undefined) return { problems: [{ column, problem: size }] };
  const integration = integrations.get(made.function);
  if (integration === undefined)
    return { problems: [{ column, problem: `there is no function ${made.function}` }] };
  try {
    return thingOf(body, { integration, nowMs: comparison.droppedMs });
  } catch (error) {
    return { problems: problemsByColumn(problemsIn(error), made, column) };
  }
};

const nameFields = new Set(sisFields.flat());

const namingIn = (mapping: SnapshotMapping): SnapshotMapping => ({
  ...mapping,
  messages: mapping.messages.map((message) => ({
    ...message,
    fields: message.fields.filter(({ path }) => nameFields.has(path)),
  })),
});

const timeIn = ({ time }: Made, message: Message): { atMs?: number | undefined; problem?: Problem[] } => {
  const text = time?.trim() ?? '';
  if (message.time === undefined || text === '') return {};
  const atMs = instantMsIn(text);
  if (atMs !== undefined) return { atMs };
  return { problem: [{ column: message.time, problem: 'must be a time such as 2026-01-31T09:30:00Z' }] };
};

/**
 * An empty cell without quotation marks gives no value. If a message orders its fields separately, the platform then keeps what was
 * sent: that stays accepted, and the row is reported, as it would otherwise go unnoticed.
 */
const keepEmptied = async ({ mapping, integrations, comparison }: Context): Promise<void> => {
  const { sets, droppedMs } = comparison;
  const optional = mapping.messages.flatMap(({ fields }, at) =>
    fields.flatMap(({ path, from, otherwise }) =>
      from === undefined || otherwise !== undefined || path.includes('.') ? [] : [[kindOf(at), path, from]],
    ),
  );
  await sets.add('optional', optional);
  await sets.run(lastValues);
  const examples = await sets.all<[string, string, string, string]>(
    'SELECT state_kind, field, any_value(data), any_value(accepted_data) FROM last_values GROUP BY state_kind, field',
  );
  for (const [kind, field, ...data] of examples) {
    const name = mapping.messages[Number.parseInt(kind, 36)]?.function ?? '';
    const [now, before] = data.map((text) => {
      const body = eventOf(ofAnyNight(comparison), { kind, key: '', function: name, data: JSON.parse(text) });
      // The names by which its message is ordered; none for a field that is ordered with the whole.
      return unlessRefused(integrations.get(name), (integration) => {
        const message = draftOf(body, integration, droppedMs).message(standInIds);
        return integration.fields?.(message.data, message);
      });
    });
    if (now === undefined || before === undefined || isDeepStrictEqual(now, before))
      await sets.run('DELETE FROM last_values WHERE state_kind = $1 AND field = $2', [kind, field]);
  }
  await sets.run(keepLastValues);
};

/** An update is identified by the first setting that it changes: without that setting, its row is about the same. */
const lastValues = `
  CREATE TABLE last_values AS
    SELECT l.*, o.column_name, CAST(accepted_data AS JSON) -> ('$."' || field || '"') AS field_value FROM (
      SELECT c.key, c.state_kind, c.line, c.data, w.key AS accepted_key, w.template AS accepted_template, w.data AS accepted_data, unnest(json_keys(w.data)) AS field
      FROM claims c JOIN accepted w USING (kind_name, state_kind, key) WHERE c.wanted_value <> w.wanted_value AND w.data IS NOT NULL
      UNION ALL
      SELECT c.key, c.state_kind, c.line, c.data, w.key, w.template, w.data, unnest(json_keys(w.data)) AS field
      FROM (FROM claims ANTI JOIN accepted USING (key)) c JOIN accepted w USING (kind_name, state_kind, source_row)
      WHERE w.data IS NOT NULL AND c.org_unit_or_object IS NOT DISTINCT FROM w.org_unit_or_object AND c.user_name IS NOT DISTINCT FROM w.user_name
        AND split_part(c.template, '#', 1) = split_part(w.template, '#', 1)) l
      JOIN optional o USING (state_kind, field)
    WHERE NOT list_contains(json_keys(l.data), field)`;

const keepLastValues = `
  INSERT INTO kept_data SELECT accepted_key, any_value(data) FROM last_values GROUP BY accepted_key;
  UPDATE claims SET key = accepted_key, template = accepted_template, data = left(data, -1) || more || '}',
      wanted_value = value_of(kind_name, template, org_unit_or_object, user_name, left(data, -1) || more || '}')
    FROM (SELECT key, line, any_value(accepted_key) AS accepted_key, any_value(accepted_template) AS accepted_template,
        string_agg(',' || to_json(field) || ':' || field_value, '' ORDER BY field) AS more FROM last_values GROUP BY key, line) l
    WHERE claims.key = l.key AND claims.line = l.line`;

/** A mapping may list its fields in another order than before. */
const leaveSame = async ({ sets }: Comparison): Promise<void> => {
  await sets.run('CREATE TABLE same (key VARCHAR)');
  const statement = `SELECT key, coalesce(withheld_value, wanted_value), accepted_value FROM difference
    WHERE change IN ('updated', 'held') AND coalesce(withheld_value, wanted_value) <> accepted_value`;
  for await (const batch of sets.rows<[string, string, string]>(statement)) {
    const same = batch.flatMap(([key, ...values]) => {
      const [now, before] = values.map((value) => {
        const at = value.indexOf(' ');
        return [value.slice(0, at), JSON.parse(value.slice(at + 1))];
      });
      return isDeepStrictEqual(now, before) ? [[key]] : [];
    });
    if (same.length > 0) await sets.add('same', same);
  }
  await sets.run(
    `UPDATE difference SET change = CASE WHEN change = 'held' THEN 'kept' ELSE 'unchanged' END, withheld_value = NULL WHERE key IN (FROM same)`,
  );
};

const checkRemovals = async (comparison: Comparison): Promise<void> => {
  const { sets, check } = comparison;
  const statement = `SELECT key, removal FROM difference WHERE change = 'removed' AND removal IS NOT NULL`;
  for await (const batch of sets.rows<[string, string]>(statement)) {
    const unfit = batch.flatMap(([key, text]) => {
      const removed = JSON.parse(text) as Sent;
      const problem = check(removed.function, eventOf(comparison, { kind: '', key, ...removed }));
      return problem === undefined ? [] : [[key, null, problem]];
    });
    if (unfit.length > 0) await sets.add('unfit_keys', unfit);
  }
};
