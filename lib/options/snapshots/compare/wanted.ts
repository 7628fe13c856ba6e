import { hash } from 'node:crypto';
import { join } from 'node:path';
import { ruleMacros } from '../../../delivery/mapping/cell-rules.ts';
import { outdatedAfterDays } from '../../../message/retention.ts';
import { quotedText, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { inFormOfState, type StateRows, stateColumns } from '../state/state-rows.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { type Comparison, countsOf } from './comparison.ts';
import { findDisputed, holdDisputed, weighDisputed } from './grades.ts';
import { agreeOnRoles, findShared } from './others.ts';
import { hasRows, statementsIn } from './statements.ts';

const ofSchema = statementsIn('schema');
const ofClaims = statementsIn('claims');
const ofDifference = statementsIn('difference');
const ofGuards = statementsIn('guards');
const ofMessages = statementsIn('messages');

/** How all readers of a package read a cell. */
export const cellMacros = ofSchema('cell_macros');

export const createTables = async (db: SqlEngine): Promise<void> => {
  for (const statement of [stateColumns, ruleMacros, cellMacros, ofSchema('tables'), ofSchema('macros')])
    await db.run(statement);
};

const dayMs = 24 * 3_600_000;

/** Compares what the claims want with what was accepted. */
export const compareWanted = async (comparison: Comparison): Promise<void> => {
  const { db, droppedMs, number, lastDroppedMs, hasBefore } = comparison;
  if (await hasRows(db, 'doubtful_claims')) await db.run(ofClaims('name_doubtful_claims'));
  await db.run(ofClaims('find_repeated_keys'));
  if (await hasRows(db, 'repeated_keys')) {
    await agreeOnRoles(comparison);
    await db.run(ofClaims('agree'));
  }
  const hasDisputed = await findDisputed(comparison);
  if (hasBefore) {
    await db.run(ofDifference('find_differing_keys'));
    await findShared(comparison);
    if (hasDisputed) await weighDisputed(comparison);
    await db.run(ofDifference('find_older_claims'), [lastDroppedMs]);
    await db.run(ofDifference('hold_by_older_claims'));
  }
  if (await hasRows(db, 'refused_rows')) {
    await db.run(ofDifference('find_unusable_rows'), [number + 1]);
    await db.run(ofDifference('hold_by_unusable_rows'));
  }
  const oldestMs = droppedMs + marginMs - outdatedAfterDays * dayMs;
  await db.run(ofDifference(hasBefore ? 'compare_what_changed' : 'compare_all'));
  await db.run(ofDifference('compare'), [droppedMs, Math.max(oldestMs, lastDroppedMs + 1)]);
  if (hasDisputed) await holdDisputed(comparison);
  if (!hasBefore) return;
  refuseDoubled(await db.all<[string, number]>(ofDifference('count_doubled_keys')), comparison);
  await db.run(ofDifference('put_removals_first'), [droppedMs]);
};

/** It is unknown which of two the platform has. @throws UnusableSnapshot if there are any. */
export const refuseDoubled = (
  counts: readonly (readonly [what: string, count: number])[],
  { stateBefore }: Pick<Comparison, 'stateBefore'>,
): void => {
  if (counts.length === 0) return;
  const texts = counts.map(([what, count]) => `${count} ${what}`).join(' and ');
  throw new UnusableSnapshot(
    `The state of the last accepted snapshot has ${texts} twice. Restore the object ${stateBefore} from an earlier version`,
  );
};

/** The time until a message is sent and handled. */
const marginMs = 2 * dayMs;

/** A value of messages, and the data of a message in which only this value can be wrong. */
export type CheckedValue = {
  kindName: string;
  function: string;
  /** An expression over a row of `messages`. */
  value: string;
  column: string;
  data(text: string): object;
};

/** Refuses what the functions would refuse. Each value is checked once, however many messages have it. */
export const refuseValues = async (
  comparison: Comparison,
  values: readonly CheckedValue[],
): Promise<void> => {
  const { db, check } = comparison;
  const changesOf = ({ kindName }: CheckedValue): string =>
    `messages WHERE kind_name = '${kindName}' AND change IN ('created', 'updated')`;
  // All values of one kind are found in one pass.
  const each = [...Map.groupBy(values.entries(), ([, { kindName }]) => kindName).values()].map((ofKind) => {
    const [[, first]] = ofKind as [[number, CheckedValue]];
    const names = ofKind.map(([at]) => `value_${at}`);
    const place = ofKind.map(([at]) => `WHEN GROUPING(value_${at}) = 0 THEN ${at}`);
    return `SELECT CASE ${place.join(' ')} END AS place, coalesce(${names.join(', ')}) AS value
      FROM (SELECT ${ofKind.map(([at, { value }]) => `${value} AS value_${at}`).join(', ')} FROM ${changesOf(first)})
      GROUP BY GROUPING SETS (${names.map((name) => `(${name})`).join(', ')})`;
  });
  // The engine stalls if many rows of such a union are streamed.
  await db.run(`CREATE TABLE checked AS ${each.join(' UNION ALL ')}`);
  const wrong = new Map<CheckedValue, string[][]>();
  // Everything but the data is the same for many events.
  const heads = values.map((one) =>
    eventOf(comparison, { kind: '', key: '', function: one.function, data: {} }).slice(0, -'{}}'.length),
  );
  for await (const batch of db.rows<[number, string | null]>('FROM checked'))
    for (const [at, text] of batch) {
      const one = values[at];
      if (one === undefined || text === null) continue;
      const problem = check(one.function, `${heads[at]}${JSON.stringify(one.data(text))}}`);
      if (problem === undefined) continue;
      const found = wrong.get(one) ?? [];
      wrong.set(one, found);
      found.push([text, problem]);
    }
  await db.run('DROP TABLE checked');
  for (const [one, found] of wrong) {
    await db.run('CREATE OR REPLACE TABLE wrong (value VARCHAR, problem VARCHAR)');
    await db.add('wrong', found);
    await db.run(
      `INSERT INTO unfit_keys SELECT key, $1, problem FROM (SELECT key, ${one.value} AS value FROM ${changesOf(one)}) JOIN wrong USING (value)`,
      [one.column],
    );
  }
};

export const countWanted = async (comparison: Comparison): Promise<void> => {
  const { db, acceptedCounts, movedCounts, changedCounts, isTrial } = comparison;
  const hasUnfit = await hasRows(db, 'unfit_keys');
  if (hasUnfit) await db.run(ofGuards('refuse_unfit'));
  const addTo = (counts: Record<string, number>, kindName: string, rows: number): void => {
    counts[kindName] = (counts[kindName] ?? 0) + rows;
  };
  for (const [what, kindName, rows] of await db.all<[string, string, number]>(ofGuards('count_changes')))
    if (what === 'accepted') addTo(acceptedCounts, kindName, rows);
    else if (what === 'is other') addTo(changedCounts, kindName, rows);
    else if (what === 'pending') countsOf(comparison, kindName).pending = rows;
    else if (what === 'held') countsOf(comparison, kindName).held = rows;
    else countsOf(comparison, kindName)[isCount(what) ? what : 'unchanged'] += rows;
  if (comparison.hasBefore)
    for (const [kindName, rows] of await db.all<[string, number]>(ofGuards('count_moves')))
      addTo(movedCounts, kindName, rows);
  const hasHeld = await hasRows(db, 'held_keys');
  if (hasHeld) await db.run(ofGuards('report_held'));
  if ((hasHeld || hasUnfit) && !isTrial) await db.run(ofGuards('find_kept_row_claims'));
};

const isCount = (what: string): what is 'created' | 'updated' | 'removed' | 'refused' =>
  ['created', 'updated', 'removed', 'refused'].includes(what);

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

/** Writes the events, one kind after the other, as sorting them takes longer than making them. */
export const writeChanges = async ({
  db,
  changes,
  folder,
  snapshotId,
  number,
  isTrial,
}: Comparison): Promise<void> => {
  await db.run('SET VARIABLE snapshot_id = $1', [snapshotId]);
  // As in `eventOf`.
  await db.run('SET VARIABLE first_sequence = CAST($1 AS BIGINT)', [2 * number + 1]);
  await db.run('SET VARIABLE is_trial = CAST($1 AS BOOLEAN)', [String(isTrial)]);
  for (const [kind] of await db.all<[string]>(ofMessages('list_kinds'))) {
    const path = join(folder, `changed-${kind}.lines`);
    await db.run('SET VARIABLE state_kind = $1', [kind]);
    await db.run('SET VARIABLE events_path = $1', [path]);
    await db.run(ofMessages('write_events'));
    changes.addFile(path);
  }
};

/** Writes the state: what every comparison has, and `further` kinds of rows. Of each kind there is a table or view such as `names_to_keep`. */
export const writeState = async (
  { db, folder, isTrial }: Comparison,
  further: readonly StateRows[] = [],
): Promise<void> => {
  if (isTrial) return;
  await db.run(ofMessages('keep_claims'));
  const kinds: StateRows[] = ['wanted', 'enrollment_claims', 'refused_rows', 'refused_meanings', ...further];
  if ((await hasRows(db, 'further_row_claims')) || (await hasRows(db, 'kept_row_claims')))
    kinds.push('row_claims');
  const rows = [
    ...kinds.map((kind) => inFormOfState(kind, `${kind}_to_keep`)),
    inFormOfState('enrollment_claims', 'repeated_role_claims'),
  ];
  await db.run(
    `COPY ((FROM state_columns LIMIT 0) UNION ALL BY NAME ${rows.join(' UNION ALL BY NAME ')})
     TO ${quotedText(join(folder, 'state'))} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 40960, STRING_DICTIONARY_PAGE_SIZE_LIMIT 20000)`,
  );
};
