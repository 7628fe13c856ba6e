import { hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { outdatedAfterDays } from '../../../message/retention.ts';
import { quotedText, type SetEngine } from '../../../runtime/files/tables/engine.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { type Comparison, countsOf } from './comparison.ts';
import { agreeOnRoles, type EnrollmentForms, findShared } from './others.ts';

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
 * when the last snapshot was accepted (`was`). So a row that goes takes nothing away that another row claims.
 *
 * - `grp`: by which it is counted. `kind`: the sign of its lines in the state. `value`: what is wanted, in a form that can be compared.
 * - `mark`: of a result, the `sourcedId` as a number, as a delta may delete it by that alone.
 * - `a` and `b`: by what a row is likely to mean a resource: an org unit or line item, and a user.
 * - `meant`: what was accepted, with `a` and `b` in the form that those of `refused` have.
 * - `backs`: which row claimed which resource when it was accepted.
 * - `refused`: rows that cannot be used. Such a row may be meant for a resource that no other claims, which then stays as it was:
 *   that which the row claimed before; that of its `a` and `b`; and where one of them is not legible, whatever is missing since the
 *   row is refused (`since`, the number of the snapshot). One that an earlier snapshot refused, and a delta does not name, is not in this
 *   one (`is_here`): it holds only what no row claims.
 * - `not_meant`: what such a row claimed, but cannot mean any more.
 * - `kept_backs`: those of `backs` whose resource stays as it was.
 * - `carried`: what a state has, in its file, too. `kind` is that of what is wanted, or `N` for the name of a class or user, `1` for a
 *   line item of a zip, `O` for a grade object without one, `E` for an enrollment's row that a delta may name, `R` for a row that could
 *   not be used, `P` for a record whose user name was another's, `T` for an enrollment that a delta deleted, `A` for each row of several about one enrollment (`data`: what it is about), `S` for another that claims the same, `C` for comments that the platform keeps of a grade that no row wants.
 */
const schema = `
  CREATE TABLE carried (kind VARCHAR, key VARCHAR, grp VARCHAR, a VARCHAR, b VARCHAR, org VARCHAR, value VARCHAR, data VARCHAR,
    removed VARCHAR, template VARCHAR, row VARCHAR, at_ms BIGINT, mark UBIGINT, seen BIGINT, begins VARCHAR, ends VARCHAR,
    org_unit_id VARCHAR, user_id VARCHAR);
  CREATE TABLE was (grp VARCHAR, kind VARCHAR, key VARCHAR, a VARCHAR, b VARCHAR, org VARCHAR, value VARCHAR, data VARCHAR,
    removed VARCHAR, template VARCHAR, row VARCHAR, at_ms BIGINT, mark UBIGINT, seen BIGINT, renamed BOOLEAN);
  CREATE VIEW meant AS SELECT grp, key, a, b, seen FROM was;
  CREATE TABLE claims (grp VARCHAR, kind VARCHAR, key VARCHAR, a VARCHAR, b VARCHAR, org VARCHAR, value VARCHAR, data VARCHAR,
    removed VARCHAR, template VARCHAR, row VARCHAR, at_ms BIGINT, mark UBIGINT, line BIGINT);
  CREATE TABLE backs (grp VARCHAR, row VARCHAR, key VARCHAR, mark UBIGINT);
  CREATE TABLE refused (grp VARCHAR, row VARCHAR, a VARCHAR, b VARCHAR, counts BOOLEAN DEFAULT true, is_here BOOLEAN DEFAULT true);
  CREATE TABLE was_refused (grp VARCHAR, row VARCHAR, a VARCHAR, b VARCHAR, since BIGINT);
  CREATE TABLE held (key VARCHAR);
  CREATE TABLE kept_backs (grp VARCHAR, row VARCHAR, key VARCHAR, mark UBIGINT);
  CREATE TABLE not_meant (grp VARCHAR, row VARCHAR, key VARCHAR);
  CREATE TABLE pending (key VARCHAR, row VARCHAR);
  CREATE TABLE shared_backs (grp VARCHAR, row VARCHAR, key VARCHAR, mark UBIGINT);
  CREATE TABLE problems (file VARCHAR, line BIGINT, col VARCHAR, problem VARCHAR);
  CREATE TABLE kinds (kind VARCHAR, grp VARCHAR, fn VARCHAR, file VARCHAR, col VARCHAR, time_col VARCHAR, twice VARCHAR, differs VARCHAR, older VARCHAR, has_days VARCHAR);
  CREATE TABLE unfit (key VARCHAR, col VARCHAR, problem VARCHAR);
  CREATE TABLE more_backs (grp VARCHAR, row VARCHAR, key VARCHAR, mark UBIGINT);
  CREATE TABLE older (grp VARCHAR, key VARCHAR, line BIGINT, file VARCHAR, time_col VARCHAR, older VARCHAR);
  CREATE TABLE doubts (grp VARCHAR, row VARCHAR, a VARCHAR, b VARCHAR, since BIGINT, is_known BOOLEAN, is_here BOOLEAN);
  CREATE TABLE perhaps_meant (key VARCHAR);
  CREATE TABLE several_rows (key VARCHAR, rows BIGINT);
  CREATE TABLE disputed_rows (grp VARCHAR, rows BIGINT);
  CREATE TABLE unfit_lines (grp VARCHAR, key VARCHAR, line BIGINT, told BOOLEAN);
  ${cellMacros}
  -- An org unit or a user: by the platform's id, if it is known, or else by the name of the SIS. No name has the sign before an id.
  CREATE MACRO thing_of(id, name) AS CASE WHEN id IS NOT NULL THEN chr(2) || id ELSE name END;
  CREATE MACRO id_in_thing(thing) AS CASE WHEN thing[1] = chr(2) THEN thing[2:] END;
  CREATE MACRO has_control(x) AS regexp_matches(x, '[\\x00-\\x1f\\x7f]');
  CREATE MACRO has_control_in_text(x) AS regexp_matches(x, '[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f]');
  CREATE MACRO is_id(x) AS coalesce(x, '') <> '' AND length(x) <= 255 AND NOT has_control(x);
  -- A row that has no id that can be used is known again by its cells.
  CREATE MACRO row_without_id(cells) AS '#' || left(sha256(cells), 20);
  -- What a row wants, but what was accepted stays.
  CREATE MACRO wants_other(other, before) AS other <> before;
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

/** A kind of intended values, by the sign of its lines in a state. */
export type Kind = {
  kind: string;
  /** The name under which it is counted. */
  grp: string;
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
  'kind',
  'grp',
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

const findSeveral = 'CREATE TABLE several AS SELECT key FROM claims GROUP BY key HAVING count(*) > 1';

/** If claims about one resource do not agree, none of them is used. */
const claimsAgree = `
  CREATE TABLE disputed AS
    SELECT c.key, count(DISTINCT c.row) = 1 AS is_one FROM claims c SEMI JOIN several USING (key)
    GROUP BY c.key HAVING min(c.value) <> max(c.value);
  INSERT INTO problems
    SELECT k.file, c.line, k.col, CASE WHEN d.is_one THEN k.twice ELSE k.differs END
    FROM claims c JOIN disputed d USING (key) JOIN kinds k USING (kind) WHERE c.line IS NOT NULL;
  INSERT INTO problems
    SELECT k.file, NULL, k.col, 'rows of which this delta does not have all contradict each other about ' || count(DISTINCT c.key) || ' ' || k.grp
      || ', which stay as they were accepted. A bulk file names them'
    FROM claims c JOIN disputed USING (key) JOIN kinds k USING (kind) WHERE c.line IS NULL GROUP BY k.file, k.col, k.grp;
  INSERT INTO disputed_rows
    SELECT c.grp, count(*) AS rows FROM claims c JOIN disputed USING (key) WHERE c.line IS NOT NULL GROUP BY c.grp;
  INSERT INTO held SELECT key FROM disputed;
  INSERT INTO several_rows SELECT key, count(c.line) AS rows FROM claims c SEMI JOIN several USING (key) GROUP BY key;
  -- Others that claim what was accepted are known again, too.
  INSERT INTO more_backs
    SELECT c.grp, c.row, c.key, c.mark FROM claims c SEMI JOIN several USING (key) ANTI JOIN disputed USING (key);
  CREATE TABLE agreed_claims AS
    SELECT unnest(chosen), latest FROM (SELECT arg_min(c, (coalesce(c.line, 0), c.mark IS NULL, c.row)) AS chosen, max(c.at_ms) AS latest
      FROM claims c SEMI JOIN several USING (key) ANTI JOIN disputed USING (key) GROUP BY c.key);
  DELETE FROM claims WHERE key IN (SELECT key FROM several);
  INSERT INTO claims
    SELECT grp, kind, key, a, b, org, value, data, removed, template, row, CASE WHEN grp = 'enrollment-remove' THEN at_ms ELSE latest END, mark, line
    FROM agreed_claims`;

/** What differs from the accepted state: a small part. */
const findDiffering = `
  CREATE TABLE differing AS
    SELECT coalesce(c.key, w.key) AS key FROM (SELECT key, value FROM claims) c FULL JOIN (SELECT key, value, renamed FROM was) w ON c.key = w.key
    WHERE c.key IS NULL OR w.key IS NULL OR w.renamed OR c.value <> w.value`;

/**
 * A row's id begins with what the resource was to the SIS: a grade object may belong to another line item now, whose grades have
 * other times, and a user may have another record. `$1`: when the last accepted file was put into the bucket; a later time comes
 * from a wrong clock. A time at midnight may be a day alone, which orders nothing within it.
 */
const noneIsOlder = `
  INSERT INTO older
    SELECT c.grp, c.key, c.line, k.file, k.time_col, k.older FROM (FROM claims SEMI JOIN differing USING (key)) c
      JOIN (FROM was SEMI JOIN differing USING (key)) w USING (key) JOIN kinds k ON k.kind = c.kind
    WHERE split_part(c.row, chr(31), 1) = split_part(w.row, chr(31), 1) AND c.value <> w.value
      AND c.at_ms < w.at_ms AND c.at_ms <= $1 AND NOT (k.has_days = 'true' AND is_midnight(c.at_ms) AND c.at_ms // ${dayMs} = w.at_ms // ${dayMs})`;
const olderHold = `
  INSERT INTO held SELECT key FROM older;
  INSERT INTO problems SELECT file, line, time_col, older FROM older WHERE line IS NOT NULL`;

/** Unusable rows, and since when they are refused. `$1`: the number of this snapshot. */
const doubts = `
  INSERT INTO doubts
    SELECT r.grp, r.row, r.a, r.b, coalesce(w.since, $1) AS since, k.row IS NOT NULL AS is_known, r.is_here
    FROM (
      -- Aggregates of texts cannot be moved out of memory.
      FROM refused QUALIFY row_number() OVER (PARTITION BY grp, row ORDER BY is_here DESC, a NULLS LAST, b NULLS LAST) = 1) r
      LEFT JOIN (SELECT grp, row, min(since) AS since FROM was_refused GROUP BY grp, row) w USING (grp, row)
      LEFT JOIN (SELECT DISTINCT grp, row FROM backs) k USING (grp, row)`;

/** What unusable rows may mean; also what no row claims, if it is missing for no longer than such a row is refused. */
const doubtsHold = `
  CREATE TABLE held_here AS
    SELECT b.key FROM backs b JOIN doubts r USING (grp, row) ANTI JOIN not_meant n ON n.grp = r.grp AND n.row = r.row AND n.key = b.key
      WHERE r.is_here
    UNION SELECT w.key FROM meant w JOIN doubts r ON w.grp = r.grp AND w.a = r.a AND w.b = r.b WHERE r.is_here;
  INSERT INTO held FROM held_here;
  INSERT INTO perhaps_meant
    WITH missing AS (SELECT grp, key, a, b, seen FROM meant ANTI JOIN claims USING (key) ANTI JOIN held USING (key)),
      vague AS (SELECT grp, a, b, max(since) AS since FROM doubts WHERE NOT is_known AND (a IS NULL OR b IS NULL) GROUP BY grp, a, b)
    SELECT m.key FROM missing m JOIN backs b USING (key) JOIN doubts r ON r.grp = b.grp AND r.row = b.row
      ANTI JOIN not_meant n ON n.grp = b.grp AND n.row = b.row AND n.key = m.key
    UNION SELECT m.key FROM missing m JOIN doubts r ON r.grp = m.grp AND r.a = m.a AND r.b = m.b
    UNION SELECT m.key FROM missing m JOIN vague v ON v.grp = m.grp AND v.a = m.a AND v.b IS NULL AND v.since > m.seen
    UNION SELECT m.key FROM missing m JOIN vague v ON v.grp = m.grp AND v.b = m.b AND v.a IS NULL AND v.since > m.seen
    UNION SELECT m.key FROM missing m JOIN vague v ON v.grp = m.grp AND v.a IS NULL AND v.b IS NULL AND v.since > m.seen;
  -- The row by which it was accepted last is not here: it is not the refused one, or another has claimed it since that is refused.
  INSERT INTO perhaps_meant
    SELECT w.key FROM was w SEMI JOIN held_here USING (key) ANTI JOIN claims USING (key) ANTI JOIN several_rows USING (key)
      ANTI JOIN pending USING (key) ANTI JOIN doubts r ON r.is_here AND r.grp = w.grp AND r.row = w.row AND r.since > w.seen;
  INSERT INTO held FROM perhaps_meant`;

/** True for what is held or gone: it stays as it was. */
const isAsBefore = 'c.key IS NULL OR (w.key IS NOT NULL AND h.key IS NOT NULL)';
const ofEither = ['kind', 'a', 'b', 'org', 'value', 'data', 'removed', 'template', 'row', 'at_ms', 'mark']
  .map((column) => `CASE WHEN ${isAsBefore} THEN w.${column} ELSE c.${column} END AS ${column}`)
  .join(', ');

/** What differs or is held; the rest is only in `claims`. */
const findChanged = `
  CREATE TABLE changed AS SELECT key FROM differing UNION SELECT key FROM held;
  CREATE VIEW unchanged AS FROM claims ANTI JOIN changed USING (key)`;
const allChanged = 'CREATE VIEW unchanged AS FROM claims LIMIT 0';

/**
 * `other`: what a row wants although the accepted value stays. `$1`: when the file was put into the bucket. `$2`: from when on a
 * time of the SIS counts. It must be later than everything sent before, for any resource: a name may have been another person's, or
 * the person had another name.
 */
const compareWithBefore = (hasBefore: boolean): string => `
  CREATE TABLE draft AS
    SELECT * EXCLUDE (had, is_held, renamed),
      CASE WHEN had AND is_held THEN CASE WHEN renamed THEN 'updated' WHEN wants_other(other, before) THEN 'held' ELSE 'kept' END
        WHEN NOT told THEN 'removed'
        WHEN NOT had THEN 'created'
        WHEN renamed OR value <> before THEN 'updated'
        ELSE 'unchanged' END AS change,
      had AND renamed AND (told OR is_held) AS is_renamed,
      CASE WHEN told AND at_ms BETWEEN $2 AND $1 AND NOT renamed AND NOT (is_midnight(at_ms) AND kind IN (SELECT kind FROM kinds WHERE has_days = 'true'))
        THEN at_ms ELSE $1 END AS time_ms
    FROM (
      SELECT coalesce(c.key, w.key) AS key, coalesce(c.grp, w.grp) AS grp, ${ofEither},
        c.key IS NOT NULL AS told, w.key IS NOT NULL AS had, h.key IS NOT NULL AS is_held, coalesce(w.renamed, false) AS renamed,
        w.value AS before, w.at_ms AS before_at_ms, w.a AS before_a, w.seen, c.line,
        CASE WHEN w.key IS NOT NULL AND h.key IS NOT NULL AND o.key IS NULL THEN c.value END AS other
      FROM ${hasBefore ? '(FROM claims SEMI JOIN changed USING (key))' : 'claims'} c
        FULL JOIN ${hasBefore ? '(FROM was SEMI JOIN changed USING (key))' : 'was'} w ON c.key = w.key
        LEFT JOIN (SELECT DISTINCT key FROM held) h ON h.key = coalesce(c.key, w.key)
        LEFT JOIN (SELECT DISTINCT key FROM older) o ON o.key = c.key
    )`;

/**
 * A removal and a creation may concern one user by two names: the removal must not be the newer one. `$1`: when the file was put
 * into the bucket.
 */
const notBeforeRemovals = ({ removal }: Forms): string => `
  UPDATE draft SET time_ms = $1
    WHERE change <> 'removed' AND grp IN (SELECT d.grp FROM draft d WHERE d.change = 'removed' AND (${removal}) IS NOT NULL)`;

/** How intended values are written: expressions over \`d\`, a row of \`draft\`. */
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
  things: string;
};

export const compareWanted = async (
  comparison: Comparison,
  forms: Forms,
  ofEnrollments: EnrollmentForms,
): Promise<void> => {
  const { sets, droppedMs, number, lastDroppedMs } = comparison;
  await sets.run(findSeveral);
  const [hasSeveral, hasRefused] =
    (await sets.row<[number, number]>('SELECT EXISTS (FROM several), EXISTS (FROM refused)')) ?? [];
  if (hasSeveral) {
    await agreeOnRoles(comparison, ofEnrollments);
    await sets.run(claimsAgree);
  }
  const { hasBefore } = comparison;
  if (hasBefore) {
    await sets.run(findDiffering);
    await findShared(comparison, ofEnrollments);
    await sets.run(noneIsOlder, [lastDroppedMs]);
    await sets.run(olderHold);
  }
  if (hasRefused) {
    await sets.run(doubts, [number + 1]);
    await sets.run(doubtsHold);
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
  SELECT grp, count(*) FROM (SELECT any_value(grp) AS grp FROM draft GROUP BY key HAVING count(*) > 1) GROUP BY grp ORDER BY grp`;

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
  INSERT INTO problems SELECT k.file, d.line, coalesce(u.col, k.col), u.problem
    FROM unfit u JOIN draft d USING (key) JOIN kinds k USING (kind);
  INSERT INTO unfit_lines SELECT d.grp, d.key, d.line, d.told FROM draft d SEMI JOIN unfit USING (key);
  DELETE FROM draft WHERE key IN (SELECT key FROM unfit);
  INSERT INTO draft BY NAME
    SELECT w.* EXCLUDE (renamed), false AS told, w.value AS before, w.at_ms AS before_at_ms, w.a AS before_a, 'kept' AS change, false AS is_renamed
    FROM was w SEMI JOIN unfit USING (key);
`;

/** A value of messages, and the data of a message in which only this value can be wrong. */
export type CheckedValue = {
  grp: string;
  function: string;
  /** An expression over `d`, a row of \`draft\`, and the joined tables. */
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
  const draftsOf = ({ grp }: CheckedValue): string =>
    `draft d ${joins} WHERE d.grp = '${grp}' AND d.change IN ('created', 'updated')`;
  const each = values.map(
    (one, at) => `SELECT DISTINCT ${at} AS place, ${one.value} AS value FROM ${draftsOf(one)}`,
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
      `INSERT INTO unfit SELECT d.key, $1, problem FROM (SELECT d.key, ${one.value} AS value FROM ${draftsOf(one)}) d JOIN wrong USING (value)`,
      [one.column],
    );
  }
};

export const countWanted = async (comparison: Comparison): Promise<void> => {
  const { sets, acceptedCounts, movedCounts, changedCounts } = comparison;
  const [hasUnfit] = (await sets.row<[number]>('SELECT EXISTS (FROM unfit)')) ?? [];
  if (hasUnfit) await sets.run(refuseUnfit);
  const addTo = (counts: Record<string, number>, grp: string, rows: number): void => {
    counts[grp] = (counts[grp] ?? 0) + rows;
  };
  for (const [what, grp, rows] of await sets.all<[string, string, number]>(counted(comparison.hasBefore)))
    if (what === 'was') addTo(acceptedCounts, grp, rows);
    else if (what === 'is other') addTo(changedCounts, grp, rows);
    else if (what === 'moved') addTo(movedCounts, grp, rows);
    else if (what === 'pending') countsOf(comparison, grp).pending = rows;
    else if (what === 'held') countsOf(comparison, grp).held = rows;
    else countsOf(comparison, grp)[isCount(what) ? what : 'unchanged'] += rows;
  const [hasHeld] = (await sets.row<[number]>('SELECT EXISTS (FROM held)')) ?? [];
  if (hasHeld) await sets.run(heldRows);
  if (hasHeld || hasUnfit) await sets.run(findKept);
};

const heldRows = `
  INSERT INTO problems
    SELECT k.file, d.line, k.col, 'is not used, because a row that cannot be used may be about the same: what was accepted stays. Correct that row, or leave it out'
    FROM draft d JOIN kinds k USING (kind) WHERE d.told AND wants_other(d.other, d.before) AND d.line IS NOT NULL;
  INSERT INTO problems
    SELECT any_value(k.file), NULL, NULL, count(*) || ' ' || d.grp || ' are missing, but are not removed, because refused rows may be about them'
    FROM draft d JOIN kinds k USING (kind) SEMI JOIN perhaps_meant USING (key) GROUP BY d.grp`;

/** What no row claims and yet stays, and what rows claim and yet is held. */
const findKept = `
  INSERT INTO kept_backs
    SELECT b.* FROM backs b JOIN draft d USING (key) WHERE d.change <> 'removed' AND (NOT d.told OR d.key IN (FROM held))`;

const isCount = (what: string): what is 'created' | 'updated' | 'removed' | 'refused' =>
  ['created', 'updated', 'removed', 'refused'].includes(what);

/** Moves that the rows themselves show: a row no longer claims what it claimed, or claims something else. */
const moves = `
  SELECT 'moved', grp, count(*) FROM draft WHERE is_renamed GROUP BY grp
  UNION ALL
  SELECT 'moved', grp, count(DISTINCT row) FROM (
    SELECT d.grp, d.row FROM draft d JOIN backs b ON b.grp = d.grp AND b.row = d.row AND b.key <> d.key
      LEFT JOIN draft x ON x.key = b.key
    WHERE d.told AND NOT d.is_renamed AND (d.change IN ('created', 'updated') OR x.change = 'removed')
    UNION ALL
    SELECT u.grp, u.row FROM draft x JOIN backs b USING (key) JOIN unchanged u ON u.grp = b.grp AND u.row = b.row AND u.key <> b.key
    WHERE x.change = 'removed') GROUP BY grp`;

/** Number of unchanged claims: counting the others is faster than finding these. */
const othersThanChanged = `
  SELECT grp, count(*) AS n FROM claims GROUP BY grp
  UNION ALL SELECT grp, -count(*) FROM draft WHERE told GROUP BY grp
  UNION ALL SELECT grp, -count(*) FROM unfit_lines WHERE told GROUP BY grp`;

/** Counts by kind. What changes comes first, as kinds are listed in that order. */
const counted = (hasBefore: boolean): string => `
  FROM (
    SELECT what, grp, count(*) AS rows FROM (
      SELECT d.grp, CASE WHEN v.key IS NULL THEN d.change WHEN v.role IS NULL THEN CASE WHEN d.change <> 'removed' THEN 'unchanged' END
          WHEN v.role = 'absent' THEN 'removed' ELSE 'updated' END AS what
      FROM draft d LEFT JOIN instead v USING (key)
      WHERE d.change <> 'kept' OR key NOT IN (SELECT key FROM pending WHERE key IS NOT NULL)) WHERE what IS NOT NULL GROUP BY grp, what
    UNION ALL SELECT 'unchanged', grp, CAST(sum(n) AS BIGINT) FROM (${othersThanChanged}) GROUP BY grp
    UNION ALL SELECT 'refused', grp, count(*) FROM refused WHERE counts GROUP BY grp
    UNION ALL SELECT 'refused', * FROM disputed_rows
    UNION ALL SELECT 'refused', grp, count(*) FROM (SELECT grp FROM older UNION ALL SELECT grp FROM unfit_lines) GROUP BY grp
    UNION ALL SELECT 'pending', 'results', count(DISTINCT row) FROM pending HAVING count(*) > 0
    UNION ALL SELECT 'was', grp, count(*) FROM was GROUP BY grp
    UNION ALL SELECT 'is other', grp, count(*) FROM draft WHERE change = 'updated' AND NOT is_renamed GROUP BY grp
    ${hasBefore ? `UNION ALL ${moves}` : ''}
  ) ORDER BY what IN ('refused', 'pending', 'was', 'is other', 'moved'), grp`;

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
  const id = `'${snapshotId}/' || left(sha256(kind || chr(9) || key), 20)`;
  return `'{"specversion":"1.0","id":"' || ${id} || '","source":"/sis-relay/snapshots","type":"sis.' || fn
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
    `SELECT DISTINCT d.kind FROM draft d WHERE ${isChanged} ORDER BY d.kind`,
  );
  // Sorting the events takes longer than making them.
  for (const [kind] of kinds) {
    await sets.run(
      `COPY (
         SELECT ${comparison.isTrial ? `'-'` : eventText(comparison)} FROM (
           SELECT d.kind, d.key, d.change = 'removed' AND coalesce(v.role, 'absent') = 'absent' AS is_first, d.time_ms,
             CASE WHEN v.role = 'absent' THEN 'enrollment-remove' WHEN v.role IS NOT NULL THEN 'enrollment-create' WHEN v.key IS NOT NULL THEN NULL
               WHEN d.change = 'removed' THEN ${forms.removal} ELSE k.fn END AS fn,
             CASE WHEN v.key IS NOT NULL THEN v.data WHEN d.change = 'removed' THEN ${forms.removalData} ELSE ${forms.sent} END AS data
           FROM draft d JOIN kinds k USING (kind) ${forms.joins} LEFT JOIN instead v ON v.key = d.key WHERE d.kind = '${kind}' AND ${isChanged}
         ) WHERE fn IS NOT NULL
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
  SELECT 'S' AS kind, b.* FROM (
    SELECT grp, row, key, any_value(mark) AS mark FROM (FROM more_backs UNION ALL FROM kept_backs) GROUP BY grp, row, key) b
  JOIN (SELECT key, row FROM draft WHERE change <> 'removed' UNION ALL SELECT key, row FROM unchanged) d
    ON d.key = b.key AND d.row <> b.row`;

/** Other files are compared with each row by itself. */
const isSeveral = `CASE WHEN d.key IN (SELECT key FROM several_roles) THEN 'several' END`;
/** What stays for a row that cannot be used is ended by no other file. */
const isSeveralOrKept = `coalesce(${isSeveral}, CASE WHEN d.change IN ('kept', 'held') THEN 'kept' END)`;

/** Writes the part of the state that every comparison has; `further` gives its other rows. */
export const writeState = async (
  { sets, folder, isTrial }: Comparison,
  { forms, further }: { forms: Forms; further: readonly string[] },
): Promise<void> => {
  if (isTrial) return;
  const [hasShared] =
    (await sets.row<[number]>('SELECT EXISTS (FROM more_backs) OR EXISTS (FROM kept_backs)')) ?? [];
  const rows = [
    `SELECT kind, key, a, b, org, value, data, removed, template, row, at_ms, mark, org_unit_id, user_id, CASE WHEN NOT told THEN seen END AS seen, begins
     FROM (SELECT * REPLACE (${forms.derived}), ${forms.things}, ${isSeveralOrKept} AS begins FROM draft d WHERE change <> 'removed')`,
    `SELECT kind, key, a, b, org, value, data, removed, template, row, at_ms, mark, org_unit_id, user_id, begins
     FROM (SELECT * REPLACE (${forms.derived}), ${forms.things}, ${isSeveral} AS begins FROM unchanged d)`,
    `SELECT 'A' AS kind, key, code AS a, role AS value, said_at_ms AS at_ms, thing AS data FROM several_roles`,
    `SELECT s.kind, s.key, s.a, s.value, NULL::BIGINT AS at_ms, s.data FROM (FROM state WHERE kind = 'A') s
       ANTI JOIN several_roles USING (key) SEMI JOIN (FROM draft WHERE NOT told AND change <> 'removed') USING (key)`,
    ...(hasShared ? [sharedRows] : []),
    `SELECT 'R' AS kind, grp, row, a, b, since AS seen FROM doubts`,
    ...further,
  ];
  await sets.run(
    `COPY ((FROM carried LIMIT 0) UNION ALL BY NAME ${rows.join(' UNION ALL BY NAME ')})
     TO ${quotedText(join(folder, 'state'))} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 40960)`,
  );
};
