import { join } from 'node:path';
import { quotedText } from '../../../runtime/files/tables/engine.ts';
import { keepFile } from '../../../runtime/files/tables/packed-rows.ts';
import { countOf } from '../count-of.ts';
import { acceptedNamesBy } from '../package/reassigned-names.ts';
import type { SnapshotSettings } from '../package/settings-file.ts';
import { stateKey } from '../state/record.ts';
import { snapshotsNow } from '../state/snapshots-now.ts';
import { viewsOfState } from '../state/state-rows.ts';
import type { Comparison, Effects, OtherFile } from './comparison.ts';
import { hasRows, statementsIn } from './statements.ts';

const sql = statementsIn('others');

/** The ids of roles, the first of which counts. */
export const roleOrderIn = ({ roleOrder, roles }: SnapshotSettings): number[] =>
  roleOrder.flatMap((role) => roles[role] ?? []);

/** Reads what the other accepted files want of enrollments. */
export const loadOthers = async (comparison: Comparison): Promise<void> => {
  const { db, store, folder, acceptedKey, settings } = comparison;
  await db.run(sql('schema'));
  const placesOn = (side: string, order: readonly number[]): string[][] =>
    order.map((role, place) => [side, String(role), String(place)]);
  const order = roleOrderIn(settings);
  const places = [
    ...placesOn('before', comparison.hasBefore ? comparison.lastRoleOrder : order),
    ...['after', 'now'].flatMap((side) => placesOn(side, order)),
  ];
  if (places.length > 0) await db.add('role_places', places);
  comparison.others = (await snapshotsNow(store)).filter((each) => each.acceptedKey !== acceptedKey);
  for (const [at, other] of comparison.others.entries()) {
    if (!hasEnrollments(other) && !hasGrades(other)) continue;
    const path = join(folder, `other-${at}`);
    if (!(await keepFile(await store.open(stateKey(other.id)), path))) continue;
    other.statePath = path;
    if (!hasEnrollments(other)) continue;
    await openState(comparison, other);
    if (other.userField && (await hasRows(db, 'other_state_passed_names'))) {
      const accepted = await acceptedNamesBy(other.userField, comparison);
      const words = JSON.stringify(accepted.map((each) => each.join('\u001f')));
      await db.run(sql('add_passed_names'), [other.userField, words]);
    }
    for (const name of ['add_claims', 'add_repeated_claims']) await db.run(sql(name), [sourceOf(other)]);
  }
};

const hasEnrollments = ({ functions }: OtherFile): boolean =>
  [...functions.values()].some((name) => name.startsWith('enrollment-'));
export const hasGrades = ({ functions }: OtherFile): boolean =>
  [...functions.values()].includes('grade-push');

/** Makes the views of another file's state, and of its rows with what their names stand for. Answers whether it has one. */
export const openState = async (
  { db, settings }: Comparison,
  { statePath, functions, userField }: OtherFile,
): Promise<boolean> => {
  if (statePath === undefined) return false;
  await db.run(viewsOfState('other_state', `FROM read_parquet(${quotedText(statePath)})`));
  await db.run('DELETE FROM other_kinds');
  await db.add('other_kinds', [...functions]);
  await db.run('SET VARIABLE other_user_field = $1', [userField ?? settings.user.field]);
  await db.run(sql(userField === undefined ? 'rows_of_table' : 'rows_of_export'));
  return true;
};

/** How reports name it. */
export const sourceOf = ({ name, droppedMs }: OtherFile): string =>
  `${name} of ${new Date(droppedMs).toISOString().slice(0, 10)}`;

/** Compares what other files have, too, if the rows of this file are as before: it may be by another section that they hold it. */
export const findShared = async ({ db, others }: Comparison): Promise<void> => {
  if (others.some(hasEnrollments) && (await hasRows(db, 'state_enrollment_claims')))
    for (const name of ['find_roles_before', 'agree_on_roles', 'find_undecided', 'forget_roles'])
      await db.run(sql(name));
  if ((await hasRows(db, 'other_claims')) || (await hasRows(db, 'accepted WHERE was_weighed(row_standing)')))
    await db.run(sql('find_shared_keys'));
};

/** Rows of one file that give a user different roles in an org unit agree on one, if that can be decided. */
export const agreeOnRoles = async ({ db }: Comparison): Promise<void> => {
  for (const name of ['find_roles_of_this_file', 'agree_on_roles', 'yield_to_agreed_roles', 'forget_roles'])
    await db.run(sql(name));
};

const heldBackText = (source: string, { count, feed }: { count: number; feed: string }): string =>
  `${countOf(count, 'enrollment is', 'enrollments are')} no longer in this file, but not removed: ${source} has ${count === 1 ? 'it' : 'them'}. If that file comes no more, end it by sis-relay snapshots end ${/^[\w.-]+$/.test(feed) ? feed : `"${feed}"`}`;

const reportHeldBack = async ({ db, others, heldBack }: Comparison, file: string): Promise<void> => {
  for (const [source, count] of await db.all<[string, number]>(sql('find_held_back'))) {
    const other = others.find((each) => sourceOf(each) === source);
    if (other === undefined) continue;
    heldBack[other.id] = count;
    const text = heldBackText(source, { count, feed: other.feed });
    await db.run(
      'INSERT INTO problems (file, problem, rows, is_refusal) VALUES ($1, $2, CAST($3 AS BIGINT), false)',
      [file, text, count],
    );
  }
};

/** Decides by all files what this one changes. `file`: its name in reports. */
export const settleEnrollments = async (
  comparison: Comparison,
  { file, column }: { file: string; column: string },
): Promise<Effects> => {
  const { db } = comparison;
  if (!comparison.isEnd) {
    await db.run(sql('find_endings'));
    if (await hasRows(db, 'endings')) await db.run(sql('keep_endings'), [file]);
  }
  await db.run(sql('send_weighed'));
  // An end counts what it does by `effects`.
  const isWeighed = comparison.isEnd || (await hasRows(db, 'other_claims'));
  if (isWeighed) {
    for (const name of [
      'find_effects',
      'agree_on_roles',
      'weigh_others',
      'send_replacements',
      'forget_roles',
    ])
      await db.run(sql(name));
    await reportHeldBack(comparison, file);
    await db.run(sql('report_undecided'), [file]);
    for (const name of ['find_roles_of_all_files', 'agree_on_roles']) await db.run(sql(name));
    await db.run(sql('report_contradictions'), [file, column]);
    await db.run(sql('forget_roles'));
  }
  const [accepted = 0, ended = 0, changed = 0, own = 0, ownEnded = 0, ownChanged = 0] =
    (await db.row<number[]>(sql(isWeighed ? 'count_effects' : 'count_effects_alone'))) ?? [];
  return { accepted, ended, changed, ofFeed: { accepted: own, ended: ownEnded, changed: ownChanged } };
};
