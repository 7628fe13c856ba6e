import { hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { outdatedAfterDays } from '../../../message/retention.ts';
import { quotedText, type SetEngine } from '../../../runtime/files/tables/engine.ts';
import { inFormOfState, type StateRows, stateColumns } from '../state/state-rows.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { type Comparison, countsOf } from './comparison.ts';
import { agreeOnRoles, type EnrollmentForms } from './others.ts';

/**
 * How all readers of a package read a cell: its text without surrounding white space, with NULL as an empty text; its word; and
 * whether that is the status of a removed row. Most cells have no such space, and testing for it is faster than trimming.
 */
export const cellMacros = `
  CREATE MACRO trimmed(x) AS
    CASE WHEN ascii(x) BETWEEN 33 AND 126 AND ascii(x[-1]) BETWEEN 33 AND 126 THEN x
    ELSE trim(coalesce(x, ''), ' \t\n\v\f\r\u00a0\ufeff') END;
  CREATE MACRO word_in(x) AS lower(trimmed(x));
  CREATE MACRO is_gone(status) AS status IN ('tobedeleted', 'inactive');`;

/**
 * What is compared is what is wanted of each resource on the platform: who has which role in which org unit, or which grade. Each row
 * that can be used is a claim about one resource (`key`). Claims about one resource must agree; then they are joined with what was wanted
 * when the last snapshot was accepted (`accepted`), which gives the `difference`. So a row that goes takes nothing away that another row
 * claims.
 *
 * - `kind_name`: by which it is counted. `state_kind`: the sign of its rows in the state. `wanted_value`: what is wanted, in a form that can
 *   be compared.
 * - `source_row`: by what a row is known again. `source_id_hash`: of a result, the `sourcedId` as a number, as a delta may delete it by that
 *   alone.
 * - `org_unit_or_object` and `user_name`: by what a row is likely to mean a resource: an org unit or a grade object, and a user.
 * - `accepted_keys`: what was accepted, with these two in the form that those of `refused_rows` have.
 * - `row_claims`: which row claimed which resource when it was accepted.
 * - `refused_rows`: rows that cannot be used. Such a row may be meant for a resource that no other claims, which then stays as it was:
 *   that which the row claimed before; that of its org unit or grade object and its user; and where one of them is not legible, whatever
 *   is missing since the row is refused (`refused_since`, the number of the snapshot). One that an earlier snapshot refused, and a delta
 *   does not name, is not in this one (`is_in_file`): it holds only what no row claims.
 * - `unusable_rows`: the same, once each, with what is known of them. `outdated_row_claims`: what such a row claimed, but cannot mean any more.
 * - `held_keys`: what stays as it was. `missing_but_kept`: those of them that no row claims. `kept_row_claims`: those of `row_claims` whose
 *   resource stays as it was.
 */
const schema = `
  ${stateColumns};
  CREATE TABLE accepted (kind_name VARCHAR, state_kind VARCHAR, key VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, org_unit_ref VARCHAR, wanted_value VARCHAR, data VARCHAR,
    removal VARCHAR, template VARCHAR, source_row VARCHAR, said_at_ms BIGINT, source_id_hash UBIGINT, last_snapshot_number BIGINT, must_resend BOOLEAN);
  CREATE VIEW accepted_keys AS SELECT kind_name, key, org_unit_or_object, user_name, last_snapshot_number FROM accepted;
  CREATE TABLE claims (kind_name VARCHAR, state_kind VARCHAR, key VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, org_unit_ref VARCHAR, wanted_value VARCHAR, data VARCHAR,
    removal VARCHAR, template VARCHAR, source_row VARCHAR, said_at_ms BIGINT, source_id_hash UBIGINT, line BIGINT);
  CREATE TABLE row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR, source_id_hash UBIGINT);
  CREATE TABLE refused_rows (kind_name VARCHAR, source_row VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, counts BOOLEAN DEFAULT true, is_in_file BOOLEAN DEFAULT true);
  CREATE TABLE refused_before (kind_name VARCHAR, source_row VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, refused_since BIGINT);
  CREATE TABLE held_keys (key VARCHAR);
  CREATE TABLE kept_row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR, source_id_hash UBIGINT);
  CREATE TABLE outdated_row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR);
  CREATE TABLE pending_results (key VARCHAR, source_row VARCHAR);
  CREATE TABLE shared_row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR, source_id_hash UBIGINT);
  CREATE TABLE problems (file VARCHAR, line BIGINT, column_name VARCHAR, problem VARCHAR);
  CREATE TABLE kinds (state_kind VARCHAR, kind_name VARCHAR, function_name VARCHAR, file VARCHAR, column_name VARCHAR, time_column VARCHAR, twice VARCHAR, differs VARCHAR, older_problem VARCHAR, has_days VARCHAR);
  CREATE TABLE unfit_keys (key VARCHAR, column_name VARCHAR, problem VARCHAR);
  CREATE TABLE further_row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR, source_id_hash UBIGINT);
  CREATE TABLE older_claims (kind_name VARCHAR, key VARCHAR, line BIGINT, file VARCHAR, time_column VARCHAR, older_problem VARCHAR);
  CREATE TABLE unusable_rows (kind_name VARCHAR, source_row VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, refused_since BIGINT, is_known BOOLEAN, is_in_file BOOLEAN);
  CREATE TABLE missing_but_kept (key VARCHAR);
  CREATE TABLE claims_per_key (key VARCHAR, rows BIGINT);
  CREATE TABLE disputed_counts (kind_name VARCHAR, rows BIGINT);
  CREATE TABLE unfit_claims (kind_name VARCHAR, key VARCHAR, line BIGINT, is_claimed BOOLEAN);
  ${cellMacros}
  -- What a zip wants, by the kind of its rows in a state.
  CREATE MACRO is_enrollment(state_kind) AS state_kind = '2';
  CREATE MACRO is_grade(state_kind) AS state_kind = '3';
  -- An org unit or a user: by the platform's id, if it is known, or else by the name of the SIS. No name has the sign before an id.
  CREATE MACRO ref_of(platform_id, name) AS CASE WHEN platform_id IS NOT NULL THEN chr(2) || platform_id ELSE name END;
  CREATE MACRO id_in_ref(ref) AS CASE WHEN ref[1] = chr(2) THEN ref[2:] END;
  CREATE MACRO has_control(x) AS regexp_matches(x, '[\\x00-\\x1f\\x7f]');
  CREATE MACRO has_control_in_text(x) AS regexp_matches(x, '[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f]');
  CREATE MACRO is_id(x) AS coalesce(x, '') <> '' AND length(x) <= 255 AND NOT has_control(x);
  -- A row that has no id that can be used is known again by its cells.
  CREATE MACRO row_without_id(cells) AS '#' || left(sha256(cells), 20);
  -- What a row wants, but what was accepted stays.
  CREATE MACRO is_withheld(withheld_value, accepted_value) AS withheld_value <> accepted_value;
  CREATE MACRO number_in(x) AS
    CASE WHEN length(x) <= 30 AND regexp_full_match(x, '[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)') THEN TRY_CAST(x AS DOUBLE) END;
  CREATE MACRO number_text(x) AS
    CASE WHEN abs(x) < 1e15 AND x = trunc(x) THEN CAST(CAST(x AS BIGINT) AS VARCHAR) ELSE CAST(x AS VARCHAR) END;
  CREATE MACRO is_midnight(ms) AS ms % 86400000 = 0;
  CREATE MACRO day_in(x) AS CASE WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}') AND TRY_CAST(x AS DATE) IS NOT NULL THEN x END;
  CREATE MACRO instant_in(x) AS
    CASE WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})')
    THEN epoch_ms(TRY_CAST(CASE WHEN x[17] = ':' THEN x ELSE left(x, 16) || ':00' || x[17:] END AS TIMESTAMPTZ)) END;
`;

export const createSets = (sets: SetEngine): Promise<void> => sets.run(schema);

/** A kind of intended values. */
export type Kind = {
  /** The sign of its rows in a state. */
  stateKind: string;
  /** The name under which it is counted. */
  name: string;
  function: string;
  file: string;
  /** The column for reports of contradictions: between rows with one key, and between others. */
  column: string;
  /** The column of the time of its change; undefined: rows have none. */
  timeColumn: string | undefined;
  /** Its times may be days alone, which order nothing within a day. */
  hasDays: boolean;
  twice: string;
  differs: string;
  /** Why a claim older than what was accepted is refused. */
  older: string;
};

const kindFields = [
  'stateKind',
  'name',
  'function',
  'file',
  'column',
  'timeColumn',
  'twice',
  'differs',
  'older',
] as const;

export const addKinds = ({ sets }: Comparison, kinds: readonly Kind[]): Promise<void> =>
  sets.add(
    'kinds',
    kinds.map((each) => [...kindFields.map((field) => each[field] ?? null), String(each.hasDays)]),
  );

const dayMs = 24 * 3_600_000;

const findSeveral = 'CREATE TABLE repeated_keys AS SELECT key FROM claims GROUP BY key HAVING count(*) > 1';

/** If claims about one resource do not agree, none of them is used. */
const claimsAgree = `
  CREATE TABLE disputed_keys AS
    SELECT c.key, count(DISTINCT c.source_row) = 1 AS is_one FROM claims c SEMI JOIN repeated_keys USING (key)
    GROUP BY c.key HAVING min(c.wanted_value) <> max(c.wanted_value);
  INSERT INTO problems
    SELECT k.file, c.line, k.column_name, CASE WHEN d.is_one THEN k.twice ELSE k.differs END
    FROM claims c JOIN disputed_keys d USING (key) JOIN kinds k USING (state_kind) WHERE c.line IS NOT NULL;
  INSERT INTO problems
    SELECT k.file, NULL, k.column_name, 'rows of which this delta does not have all contradict each other about ' || count(DISTINCT c.key) || ' ' || k.kind_name
      || ', which stay as they were accepted. A bulk file names them'
    FROM claims c JOIN disputed_keys USING (key) JOIN kinds k USING (state_kind) WHERE c.line IS NULL GROUP BY k.file, k.column_name, k.kind_name;
  INSERT INTO disputed_counts
    SELECT c.kind_name, count(*) AS rows FROM claims c JOIN disputed_keys USING (key) WHERE c.line IS NOT NULL GROUP BY c.kind_name;
  INSERT INTO held_keys SELECT key FROM disputed_keys;
  INSERT INTO claims_per_key SELECT key, count(c.line) AS rows FROM claims c SEMI JOIN repeated_keys USING (key) GROUP BY key;
  -- Others that claim what was accepted are known again, too.
  INSERT INTO further_row_claims
    SELECT c.kind_name, c.source_row, c.key, c.source_id_hash FROM claims c SEMI JOIN repeated_keys USING (key) ANTI JOIN disputed_keys USING (key);
  CREATE TABLE agreed_claims AS
    SELECT unnest(chosen), latest FROM (SELECT arg_min(c, (coalesce(c.line, 0), c.source_id_hash IS NULL, c.source_row)) AS chosen, max(c.said_at_ms) AS latest
      FROM claims c SEMI JOIN repeated_keys USING (key) ANTI JOIN disputed_keys USING (key) GROUP BY c.key);
  DELETE FROM claims WHERE key IN (SELECT key FROM repeated_keys);
  INSERT INTO claims
    SELECT kind_name, state_kind, key, org_unit_or_object, user_name, org_unit_ref, wanted_value, data, removal, template, source_row, CASE WHEN kind_name = 'enrollment-remove' THEN said_at_ms ELSE latest END, source_id_hash, line
    FROM agreed_claims`;

/** What differs from the accepted state: a small part. */
const findDiffering = `
  CREATE TABLE differing_keys AS
    SELECT coalesce(c.key, w.key) AS key FROM (SELECT key, wanted_value FROM claims) c FULL JOIN (SELECT key, wanted_value, must_resend FROM accepted) w ON c.key = w.key
    WHERE c.key IS NULL OR w.key IS NULL OR w.must_resend OR c.wanted_value <> w.wanted_value`;

/**
 * A row's id begins with what the resource was to the SIS: a grade object may belong to another line item now, whose grades have
 * other times, and a user may have another record. `$1`: when the last accepted file was put into the bucket; a later time comes
 * from a wrong clock. A time at midnight may be a day alone, which orders nothing within it.
 */
const noneIsOlder = `
  INSERT INTO older_claims
    SELECT c.kind_name, c.key, c.line, k.file, k.time_column, k.older_problem FROM (FROM claims SEMI JOIN differing_keys USING (key)) c
      JOIN (FROM accepted SEMI JOIN differing_keys USING (key)) w USING (key) JOIN kinds k ON k.state_kind = c.state_kind
    WHERE split_part(c.source_row, chr(31), 1) = split_part(w.source_row, chr(31), 1) AND c.wanted_value <> w.wanted_value
      AND c.said_at_ms < w.said_at_ms AND c.said_at_ms <= $1 AND NOT (k.has_days = 'true' AND is_midnight(c.said_at_ms) AND c.said_at_ms // ${dayMs} = w.said_at_ms // ${dayMs})`;
const olderHold = `
  INSERT INTO held_keys SELECT key FROM older_claims;
  INSERT INTO problems SELECT file, line, time_column, older_problem FROM older_claims WHERE line IS NOT NULL`;

/** Unusable rows, and since when they are refused. `$1`: the number of this snapshot. */
const findUnusable = `
  INSERT INTO unusable_rows
    SELECT r.kind_name, r.source_row, r.org_unit_or_object, r.user_name, coalesce(w.refused_since, $1) AS refused_since, k.source_row IS NOT NULL AS is_known, r.is_in_file
    FROM (
      -- Aggregates of texts cannot be moved out of memory.
      FROM refused_rows QUALIFY row_number() OVER (PARTITION BY kind_name, source_row ORDER BY is_in_file DESC, org_unit_or_object NULLS LAST, user_name NULLS LAST) = 1) r
      LEFT JOIN (SELECT kind_name, source_row, min(refused_since) AS refused_since FROM refused_before GROUP BY kind_name, source_row) w USING (kind_name, source_row)
      LEFT JOIN (SELECT DISTINCT kind_name, source_row FROM row_claims) k USING (kind_name, source_row)`;

/** What unusable rows may mean; also what no row claims, if it is missing for no longer than such a row is refused. */
const unusableHold = `
  CREATE TABLE held_by_rows_here AS
    SELECT b.key FROM row_claims b JOIN unusable_rows r USING (kind_name, source_row) ANTI JOIN outdated_row_claims n ON n.kind_name = r.kind_name AND n.source_row = r.source_row AND n.key = b.key
      WHERE r.is_in_file
    UNION SELECT w.key FROM accepted_keys w JOIN unusable_rows r ON w.kind_name = r.kind_name AND w.org_unit_or_object = r.org_unit_or_object AND w.user_name = r.user_name WHERE r.is_in_file;
  INSERT INTO held_keys FROM held_by_rows_here;
  INSERT INTO missing_but_kept
    WITH missing AS (SELECT kind_name, key, org_unit_or_object, user_name, last_snapshot_number FROM accepted_keys ANTI JOIN claims USING (key) ANTI JOIN held_keys USING (key)),
      incomplete_rows AS (SELECT kind_name, org_unit_or_object, user_name, max(refused_since) AS refused_since FROM unusable_rows WHERE NOT is_known AND (org_unit_or_object IS NULL OR user_name IS NULL) GROUP BY kind_name, org_unit_or_object, user_name)
    SELECT m.key FROM missing m JOIN row_claims b USING (key) JOIN unusable_rows r ON r.kind_name = b.kind_name AND r.source_row = b.source_row
      ANTI JOIN outdated_row_claims n ON n.kind_name = b.kind_name AND n.source_row = b.source_row AND n.key = m.key
    UNION SELECT m.key FROM missing m JOIN unusable_rows r ON r.kind_name = m.kind_name AND r.org_unit_or_object = m.org_unit_or_object AND r.user_name = m.user_name
    UNION SELECT m.key FROM missing m JOIN incomplete_rows v ON v.kind_name = m.kind_name AND v.org_unit_or_object = m.org_unit_or_object AND v.user_name IS NULL AND v.refused_since > m.last_snapshot_number
    UNION SELECT m.key FROM missing m JOIN incomplete_rows v ON v.kind_name = m.kind_name AND v.user_name = m.user_name AND v.org_unit_or_object IS NULL AND v.refused_since > m.last_snapshot_number
    UNION SELECT m.key FROM missing m JOIN incomplete_rows v ON v.kind_name = m.kind_name AND v.org_unit_or_object IS NULL AND v.user_name IS NULL AND v.refused_since > m.last_snapshot_number;
  -- The row by which it was accepted last is not here: it is not the refused one, or another has claimed it since that is refused.
  INSERT INTO missing_but_kept
    SELECT w.key FROM accepted w SEMI JOIN held_by_rows_here USING (key) ANTI JOIN claims USING (key) ANTI JOIN claims_per_key USING (key)
      ANTI JOIN pending_results USING (key) ANTI JOIN unusable_rows r ON r.is_in_file AND r.kind_name = w.kind_name AND r.source_row = w.source_row AND r.refused_since > w.last_snapshot_number;
  INSERT INTO held_keys FROM missing_but_kept`;

/** True for what is held or gone: it stays as it was. */
const isAsBefore = 'c.key IS NULL OR (w.key IS NOT NULL AND h.key IS NOT NULL)';
const ofEither = [
  'state_kind',
  'org_unit_or_object',
  'user_name',
  'org_unit_ref',
  'wanted_value',
  'data',
  'removal',
  'template',
  'source_row',
  'said_at_ms',
  'source_id_hash',
]
  .map((column) => `CASE WHEN ${isAsBefore} THEN w.${column} ELSE c.${column} END AS ${column}`)
  .join(', ');

/** What differs or is held; the rest is only in `claims`. */
const findChanged = `
  CREATE TABLE changed_keys AS SELECT key FROM differing_keys UNION SELECT key FROM held_keys;
  CREATE VIEW unchanged_claims AS FROM claims ANTI JOIN changed_keys USING (key)`;
const allChanged = 'CREATE VIEW unchanged_claims AS FROM claims LIMIT 0';

/**
 * `withheld_value`: what a row wants although the accepted value stays. `$1`: when the file was put into the bucket. `$2`: from when on a
 * time of the SIS counts. It must be later than everything sent before, for any resource: a name may have been another person's, or
 * the person had another name.
 */
const compareWithBefore = (hasBefore: boolean): string => `
  CREATE TABLE difference AS
    SELECT * EXCLUDE (was_accepted, is_held, must_resend),
      CASE WHEN was_accepted AND is_held THEN CASE WHEN must_resend THEN 'updated' WHEN is_withheld(withheld_value, accepted_value) THEN 'held' ELSE 'kept' END
        WHEN NOT is_claimed THEN 'removed'
        WHEN NOT was_accepted THEN 'created'
        WHEN must_resend OR wanted_value <> accepted_value THEN 'updated'
        ELSE 'unchanged' END AS change,
      was_accepted AND must_resend AND (is_claimed OR is_held) AS is_resent,
      CASE WHEN is_claimed AND said_at_ms BETWEEN $2 AND $1 AND NOT must_resend AND NOT (is_midnight(said_at_ms) AND state_kind IN (SELECT state_kind FROM kinds WHERE has_days = 'true'))
        THEN said_at_ms ELSE $1 END AS time_ms
    FROM (
      SELECT coalesce(c.key, w.key) AS key, coalesce(c.kind_name, w.kind_name) AS kind_name, ${ofEither},
        c.key IS NOT NULL AS is_claimed, w.key IS NOT NULL AS was_accepted, h.key IS NOT NULL AS is_held, coalesce(w.must_resend, false) AS must_resend,
        w.wanted_value AS accepted_value, w.said_at_ms AS accepted_at_ms, w.last_snapshot_number, c.line,
        CASE WHEN w.key IS NOT NULL AND h.key IS NOT NULL AND o.key IS NULL THEN c.wanted_value END AS withheld_value
      FROM ${hasBefore ? '(FROM claims SEMI JOIN changed_keys USING (key))' : 'claims'} c
        FULL JOIN ${hasBefore ? '(FROM accepted SEMI JOIN changed_keys USING (key))' : 'accepted'} w ON c.key = w.key
        LEFT JOIN (SELECT DISTINCT key FROM held_keys) h ON h.key = coalesce(c.key, w.key)
        LEFT JOIN (SELECT DISTINCT key FROM older_claims) o ON o.key = c.key
    )`;

/**
 * A removal and a creation may concern one user by two names: the removal must not be the newer one. `$1`: when the file was put
 * into the bucket.
 */
const notBeforeRemovals = ({ removal }: Forms): string => `
  UPDATE difference SET time_ms = $1
    WHERE change <> 'removed' AND kind_name IN (SELECT d.kind_name FROM difference d WHERE d.change = 'removed' AND (${removal}) IS NOT NULL)`;

/** How intended values are written: expressions over \`d\`, a row of \`difference\`. */
export type Forms = {
  /** Further tables that the expressions need. */
  joins: string;
  /** The data of its message, as JSON. */
  sent: string;
  /** The function and data of the message that removes it; NULL: none. */
  removal: string;
  removalData: string;
  /** What the state need not keep, because it follows from the rest. */
  derived: string;
  /** The platform's ids in the key, as columns of the state. */
  ids: string;
};

export const compareWanted = async (
  comparison: Comparison,
  forms: Forms,
  ofEnrollments: EnrollmentForms,
): Promise<void> => {
  const { sets, droppedMs, number, lastDroppedMs } = comparison;
  await sets.run(findSeveral);
  const [hasSeveral, hasRefused] =
    (await sets.row<[number, number]>('SELECT EXISTS (FROM repeated_keys), EXISTS (FROM refused_rows)')) ??
    [];
  if (hasSeveral) {
    await agreeOnRoles(comparison, ofEnrollments);
    await sets.run(claimsAgree);
  }
  const { hasBefore } = comparison;
  if (hasBefore) {
    await sets.run(findDiffering);
    await sets.run(noneIsOlder, [lastDroppedMs]);
    await sets.run(olderHold);
  }
  if (hasRefused) {
    await sets.run(findUnusable, [number + 1]);
    await sets.run(unusableHold);
  }
  const oldestMs = droppedMs + marginMs - outdatedAfterDays * dayMs;
  await sets.run(hasBefore ? findChanged : allChanged);
  await sets.run(compareWithBefore(hasBefore), [droppedMs, Math.max(oldestMs, lastDroppedMs + 1)]);
  if (!hasBefore) return;
  refuseDoubled(await sets.all<[string, number]>(doubled), comparison);
  await sets.run(notBeforeRemovals(forms), [droppedMs]);
};

/** Claims are unique, so a key that occurs twice here was accepted twice, and an unchanged one was written twice. */
const doubled = `
  SELECT kind_name, count(*) FROM (SELECT any_value(kind_name) AS kind_name FROM difference GROUP BY key HAVING count(*) > 1) GROUP BY kind_name ORDER BY kind_name`;

/** It is unknown which of two the platform has. @throws UnusableSnapshot if there are any. */
export const refuseDoubled = (
  counts: readonly (readonly [what: string, count: number])[],
  { stateBefore }: Pick<Comparison, 'stateBefore'>,
): void => {
  if (counts.length === 0) return;
  const told = counts.map(([what, count]) => `${count} ${what}`).join(' and ');
  throw new UnusableSnapshot(
    `The state of the last accepted snapshot has ${told} twice. Restore the object ${stateBefore} from an earlier version`,
  );
};

/** The time until a message is sent and handled. */
const marginMs = 2 * dayMs;

/** What the functions would refuse stays as it was, as if its rows were unusable. */
const refuseUnfit = `
  INSERT INTO problems SELECT k.file, d.line, coalesce(u.column_name, k.column_name), u.problem
    FROM unfit_keys u JOIN difference d USING (key) JOIN kinds k USING (state_kind);
  INSERT INTO unfit_claims SELECT d.kind_name, d.key, d.line, d.is_claimed FROM difference d SEMI JOIN unfit_keys USING (key);
  DELETE FROM difference WHERE key IN (SELECT key FROM unfit_keys);
  INSERT INTO difference BY NAME
    SELECT w.* EXCLUDE (must_resend), false AS is_claimed, w.wanted_value AS accepted_value, w.said_at_ms AS accepted_at_ms, 'kept' AS change, false AS is_resent
    FROM accepted w SEMI JOIN unfit_keys USING (key);
`;

/** A value of messages, and the data of a message in which only this value can be wrong. */
export type CheckedValue = {
  kindName: string;
  function: string;
  /** An expression over `d`, a row of \`difference\`, and the joined tables. */
  value: string;
  column: string;
  data(text: string): object;
};

/** Refuses what the functions would refuse. Each value is checked once, however many messages have it. */
export const refuseValues = async (
  comparison: Comparison,
  { joins, values }: { joins: string; values: readonly CheckedValue[] },
): Promise<void> => {
  const { sets, check } = comparison;
  const changesOf = ({ kindName }: CheckedValue): string =>
    `difference d ${joins} WHERE d.kind_name = '${kindName}' AND d.change IN ('created', 'updated')`;
  const each = values.map(
    (one, at) => `SELECT DISTINCT ${at} AS place, ${one.value} AS value FROM ${changesOf(one)}`,
  );
  // The engine stalls if many rows of such a union are streamed.
  await sets.run(`CREATE TABLE checked AS ${each.join(' UNION ALL ')}`);
  const wrong = new Map<CheckedValue, string[][]>();
  // Everything but the data is the same for many events.
  const heads = values.map((one) =>
    eventOf(comparison, { kind: '', key: '', function: one.function, data: {} }).slice(0, -'{}}'.length),
  );
  for await (const batch of sets.rows<[number, string | null]>('FROM checked'))
    for (const [at, text] of batch) {
      const one = values[at];
      if (one === undefined || text === null) continue;
      const problem = check(one.function, `${heads[at]}${JSON.stringify(one.data(text))}}`);
      if (problem === undefined) continue;
      const found = wrong.get(one) ?? [];
      wrong.set(one, found);
      found.push([text, problem]);
    }
  await sets.run('DROP TABLE checked');
  for (const [one, found] of wrong) {
    await sets.run('CREATE OR REPLACE TABLE wrong (value VARCHAR, problem VARCHAR)');
    await sets.add('wrong', found);
    await sets.run(
      `INSERT INTO unfit_keys SELECT d.key, $1, problem FROM (SELECT d.key, ${one.value} AS value FROM ${changesOf(one)}) d JOIN wrong USING (value)`,
      [one.column],
    );
  }
};

export const countWanted = async (comparison: Comparison): Promise<void> => {
  const { sets, acceptedCounts, movedCounts, changedCounts } = comparison;
  const [hasUnfit] = (await sets.row<[number]>('SELECT EXISTS (FROM unfit_keys)')) ?? [];
  if (hasUnfit) await sets.run(refuseUnfit);
  const addTo = (counts: Record<string, number>, kindName: string, rows: number): void => {
    counts[kindName] = (counts[kindName] ?? 0) + rows;
  };
  for (const [what, kindName, rows] of await sets.all<[string, string, number]>(
    counted(comparison.hasBefore),
  ))
    if (what === 'was') addTo(acceptedCounts, kindName, rows);
    else if (what === 'is other') addTo(changedCounts, kindName, rows);
    else if (what === 'moved') addTo(movedCounts, kindName, rows);
    else if (what === 'pending') countsOf(comparison, kindName).pending = rows;
    else if (what === 'held') countsOf(comparison, kindName).held = rows;
    else countsOf(comparison, kindName)[isCount(what) ? what : 'unchanged'] += rows;
  const [hasHeld] = (await sets.row<[number]>('SELECT EXISTS (FROM held_keys)')) ?? [];
  if (hasHeld) await sets.run(heldRows);
  if (hasHeld || hasUnfit) await sets.run(findKept);
};

const heldRows = `
  INSERT INTO problems
    SELECT k.file, d.line, k.column_name, 'is not used, because a row that cannot be used may be about the same: what was accepted stays. Correct that row, or leave it out'
    FROM difference d JOIN kinds k USING (state_kind) WHERE d.is_claimed AND is_withheld(d.withheld_value, d.accepted_value) AND d.line IS NOT NULL;
  INSERT INTO problems
    SELECT any_value(k.file), NULL, NULL, count(*) || ' ' || d.kind_name || ' are missing, but are not removed, because refused rows may be about them'
    FROM difference d JOIN kinds k USING (state_kind) SEMI JOIN missing_but_kept USING (key) GROUP BY d.kind_name`;

/** What no row claims and yet stays, and what rows claim and yet is held. */
const findKept = `
  INSERT INTO kept_row_claims
    SELECT b.* FROM row_claims b JOIN difference d USING (key) WHERE d.change <> 'removed' AND (NOT d.is_claimed OR d.key IN (FROM held_keys))`;

const isCount = (what: string): what is 'created' | 'updated' | 'removed' | 'refused' =>
  ['created', 'updated', 'removed', 'refused'].includes(what);

/** Moves that the rows themselves show: a row no longer claims what it claimed, or claims something else. */
const moves = `
  SELECT 'moved', kind_name, count(*) FROM difference WHERE is_resent GROUP BY kind_name
  UNION ALL
  SELECT 'moved', kind_name, count(DISTINCT source_row) FROM (
    SELECT d.kind_name, d.source_row FROM difference d JOIN row_claims b ON b.kind_name = d.kind_name AND b.source_row = d.source_row AND b.key <> d.key
      LEFT JOIN difference x ON x.key = b.key
    WHERE d.is_claimed AND NOT d.is_resent AND (d.change IN ('created', 'updated') OR x.change = 'removed')
    UNION ALL
    SELECT u.kind_name, u.source_row FROM difference x JOIN row_claims b USING (key) JOIN unchanged_claims u ON u.kind_name = b.kind_name AND u.source_row = b.source_row AND u.key <> b.key
    WHERE x.change = 'removed') GROUP BY kind_name`;

/** Number of unchanged claims: counting the others is faster than finding these. */
const othersThanChanged = `
  SELECT kind_name, count(*) AS n FROM claims GROUP BY kind_name
  UNION ALL SELECT kind_name, -count(*) FROM difference WHERE is_claimed GROUP BY kind_name
  UNION ALL SELECT kind_name, -count(*) FROM unfit_claims WHERE is_claimed GROUP BY kind_name`;

/** Counts by kind. What changes comes first, as kinds are listed in that order. */
const counted = (hasBefore: boolean): string => `
  FROM (
    SELECT what, kind_name, count(*) AS rows FROM (
      SELECT d.kind_name, CASE WHEN v.key IS NULL THEN d.change WHEN v.role IS NULL THEN CASE WHEN d.change <> 'removed' THEN 'unchanged' END
          WHEN v.role = 'absent' THEN 'removed' ELSE 'updated' END AS what
      FROM difference d LEFT JOIN replacements v USING (key)
      WHERE d.change <> 'kept' OR key NOT IN (SELECT key FROM pending_results WHERE key IS NOT NULL)) WHERE what IS NOT NULL GROUP BY kind_name, what
    UNION ALL SELECT 'unchanged', kind_name, CAST(sum(n) AS BIGINT) FROM (${othersThanChanged}) GROUP BY kind_name
    UNION ALL SELECT 'refused', kind_name, count(*) FROM refused_rows WHERE counts GROUP BY kind_name
    UNION ALL SELECT 'refused', * FROM disputed_counts
    UNION ALL SELECT 'refused', kind_name, count(*) FROM (SELECT kind_name FROM older_claims UNION ALL SELECT kind_name FROM unfit_claims) GROUP BY kind_name
    UNION ALL SELECT 'pending', 'results', count(DISTINCT source_row) FROM pending_results HAVING count(*) > 0
    UNION ALL SELECT 'was', kind_name, count(*) FROM accepted GROUP BY kind_name
    UNION ALL SELECT 'is other', kind_name, count(*) FROM difference WHERE change = 'updated' AND NOT is_resent GROUP BY kind_name
    ${hasBefore ? `UNION ALL ${moves}` : ''}
  ) ORDER BY what IN ('refused', 'pending', 'was', 'is other', 'moved'), kind_name`;

type NewEvent = { kind: string; key: string; function: string; data: object };

/** An event with the current time. The same snapshot always has the same events. */
export const eventOf = ({ snapshotId, droppedMs, number }: Comparison, event: NewEvent): string =>
  JSON.stringify({
    specversion: '1.0',
    id: `${snapshotId}/${hash('sha256', `${event.kind}\t${event.key}`).slice(0, 20)}`,
    source: '/sis-relay/snapshots',
    type: `sis.${event.function}.v1`,
    time: new Date(droppedMs).toISOString(),
    sequence: String(2 * number + 2),
    data: event.data,
  });

/**
 * The same as an expression: of its function, the kind and key that make up its id, its time and place in the order, and its data.
 */
const eventText = ({ snapshotId, number }: Pick<Comparison, 'snapshotId' | 'number'>): string => {
  const id = `'${snapshotId}/' || left(sha256(state_kind || chr(9) || key), 20)`;
  return `'{"specversion":"1.0","id":"' || ${id} || '","source":"/sis-relay/snapshots","type":"sis.' || function_name
    || '.v1","time":"' || strftime(make_timestamp(time_ms * 1000), '%Y-%m-%dT%H:%M:%S.%gZ')
    || '","sequence":"' || CASE WHEN is_first THEN ${2 * number + 1} ELSE ${2 * number + 2} END || '","data":' || data || '}'`;
};

/**
 * Writes the events, one kind after the other. Removals are older than creations of the same snapshot: two names may be one user.
 */
export const writeChanges = async (
  { sets, changes, folder, ...comparison }: Comparison,
  forms: Forms,
): Promise<void> => {
  const path = join(folder, 'changed.lines');
  const isChanged = `d.change IN ('created', 'updated', 'removed')`;
  const kinds = await sets.all<[string]>(
    `SELECT DISTINCT d.state_kind FROM difference d WHERE ${isChanged} ORDER BY d.state_kind`,
  );
  // Sorting the events takes longer than making them.
  for (const [kind] of kinds) {
    await sets.run(
      `COPY (
         SELECT ${comparison.isTrial ? `'-'` : eventText(comparison)} FROM (
           SELECT d.state_kind, d.key, d.change = 'removed' AND coalesce(v.role, 'absent') = 'absent' AS is_first, d.time_ms,
             CASE WHEN v.role = 'absent' THEN 'enrollment-remove' WHEN v.role IS NOT NULL THEN 'enrollment-create' WHEN v.key IS NOT NULL THEN NULL
               WHEN d.change = 'removed' THEN ${forms.removal} ELSE k.function_name END AS function_name,
             CASE WHEN v.key IS NOT NULL THEN v.data WHEN d.change = 'removed' THEN ${forms.removalData} ELSE ${forms.sent} END AS data
           FROM difference d JOIN kinds k USING (state_kind) ${forms.joins} LEFT JOIN replacements v ON v.key = d.key WHERE d.state_kind = '${kind}' AND ${isChanged}
         ) WHERE function_name IS NOT NULL
       ) TO ${quotedText(path)} ${asLines}`,
    );
    await changes.addFile(path);
    await rm(path);
  }
};

/** JSON text holds no line break. */
const asLines = `(FORMAT csv, DELIMITER '\t', QUOTE '', ESCAPE '', HEADER false)`;

/** Other rows that claim the same. A held resource may have another name now, and be listed again by it. */
const sharedRows = `
  SELECT b.* FROM (
    SELECT kind_name, source_row, key, any_value(source_id_hash) AS source_id_hash FROM (FROM further_row_claims UNION ALL FROM kept_row_claims) GROUP BY kind_name, source_row, key) b
  JOIN (SELECT key, source_row FROM difference WHERE change <> 'removed' UNION ALL SELECT key, source_row FROM unchanged_claims) d
    ON d.key = b.key AND d.source_row <> b.source_row`;

/** What a state has beside what every state has: of each kind of rows a table, a view or a statement in brackets. */
export type Further = Partial<Record<StateRows, string>>;

/** Writes the state: the part that every comparison has, and `further` rows. */
export const writeState = async (
  { sets, folder, isTrial }: Comparison,
  { forms, further }: { forms: Forms; further: Further },
): Promise<void> => {
  if (isTrial) return;
  const [hasShared] =
    (await sets.row<[number]>('SELECT EXISTS (FROM further_row_claims) OR EXISTS (FROM kept_row_claims)')) ??
    [];
  const wanted = (rows: string, seen: string): string =>
    `(SELECT * REPLACE (${forms.derived}, ${seen} AS last_snapshot_number), ${forms.ids} FROM ${rows} d)`;
  const all: (readonly [StateRows, string])[] = [
    [
      'wanted',
      wanted(
        `(FROM difference WHERE change <> 'removed')`,
        'CASE WHEN NOT is_claimed THEN last_snapshot_number END',
      ),
    ],
    [
      'wanted',
      wanted(
        '(SELECT *, NULL::BIGINT AS last_snapshot_number FROM unchanged_claims)',
        'last_snapshot_number',
      ),
    ],
    ...(hasShared ? [['row_claims', `(${sharedRows})`] as const] : []),
    ['refused_rows', 'unusable_rows'],
    ...(Object.entries(further) as [StateRows, string][]),
  ];
  const rows = all.map(([kind, from]) => inFormOfState(kind, from));
  await sets.run(
    `COPY ((FROM state_columns LIMIT 0) UNION ALL BY NAME ${rows.join(' UNION ALL BY NAME ')})
     TO ${quotedText(join(folder, 'state'))} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 40960)`,
  );
};
