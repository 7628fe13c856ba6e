import type { SetEngine } from '../../../runtime/files/tables/engine.ts';
import type { Table } from '../../../runtime/files/tables/table.ts';
import { viewRows } from '../package/reading.ts';
import { countRows, refuseRows } from '../package/rows.ts';
import { type Comparison, countsOf, type EventCheck, type Mode, separator } from './comparison.ts';
import { hasRows, statementsIn } from './statements.ts';
import { eventOf } from './wanted.ts';

const sql = statementsIn('line-items');

/** What line items were accepted, as `items_before`. */
export const loadItems = sql('load_items');

const name = 'lineItems';
const file = 'lineItems.csv';

/** Until then it counts as the title of the grade object that left it: the platform may have refused the new title. */
type LeftTitle = { name: string; untilMs: number };

/** Longer than a message waits, its letter is kept and the ledger remembers. */
const titleHeldMs = 40 * 24 * 3_600_000;
/** Maximum number of former names in a message. */
const maxLeft = 10;

const columns = {
  id: 'sourcedId',
  title: 'title',
  class_source_id: 'classSourcedId',
  max_points: 'resultValueMax',
  status: 'status',
};

const maxCircle = 100;

/** Sends the changes of line items, and makes the table `items`. */
export const settleLineItems = async (
  table: Table | undefined,
  mode: Mode,
  comparison: Comparison,
): Promise<void> => {
  const { sets } = comparison;
  await sets.run('SET VARIABLE is_bulk = CAST($1 AS BOOLEAN)', [String(mode === 'bulk')]);
  await sets.run(loadItems);
  await viewRows(sets, table, { columns });
  await sets.run(sql('read'));
  await sets.run(sql('refuse_differing'));
  await refuseRows(comparison, { name, mode });
  await sets.run(sql('choose'));
  await settleTitles(sets);
  if (await addChanges(comparison)) {
    await sets.run(sql('settle'));
    await addChanges(comparison);
  }
  await sets.run(sql('finish'));
  await send(comparison);
  await count(comparison);
  await countRows(comparison, file, sql('count_fates'));
};

/** Decides which line item gets which grade object, by their titles. */
const settleTitles = async (sets: SetEngine): Promise<void> => {
  const hasTitles = await hasRows(sets, 'wanted WHERE NOT stays');
  if (hasTitles) await sets.run(sql('judge_titles'));
  const circles = async (): Promise<number> =>
    (await sets.row<[number]>('SELECT count(*) FROM circles'))?.[0] ?? 0;
  let left = hasTitles ? await circles() : 0;
  for (let round = 0; left > 0; round += 1) {
    await sets.run(round < maxCircle ? sql('narrow') : 'DELETE FROM circles');
    const now = await circles();
    if (now === left) break;
    left = now;
  }
  await sets.run(sql('refuse_titles'));
  await sets.run(sql('settle'));
};

type Changed = [
  id: string,
  org: string,
  title: string,
  points: number,
  former: string | null,
  formerPoints: number | null,
  lefts: string | null,
];

/**
 * Fills the table `item_changes` with the titles that grade objects have left, and with the events. Returns whether the function would
 * refuse some.
 */
const addChanges = async (comparison: Comparison): Promise<boolean> => {
  const { sets, check, droppedMs } = comparison;
  const fits = byParts(check);
  let isRefused = false;
  for await (const batch of sets.rows<Changed>(sql('list_changed'))) {
    const changes = batch.map((item) => {
      const [id] = item;
      const left = leftOf(item, droppedMs);
      const event = changeOf(item, left);
      const body = event && eventOf(comparison, { ...event, kind: '1', key: id });
      const problem = event && fits(event, body ?? '');
      const names = left.map((each) => each.name);
      const texts = left.length === 0 ? [null, null] : [JSON.stringify(left), JSON.stringify(names)];
      isRefused ||= problem !== undefined;
      return [id, ...texts, problem ? columnOf(problem) : null, problem ?? null, body ?? null];
    });
    await sets.add('item_changes', changes);
  }
  return isRefused;
};

const columnOf = (problem: string): string => {
  if (problem.includes('data.maxPoints')) return 'resultValueMax';
  return problem.includes('data.orgUnit') ? 'classSourcedId' : 'title';
};

const send = async (comparison: Comparison): Promise<void> => {
  const { sets, changes } = comparison;
  const counts = countsOf(comparison, name);
  for await (const batch of sets.rows<[string, number]>(sql('list_messages'))) {
    for (const [, had] of batch) counts[had === 1 ? 'updated' : 'created'] += 1;
    await changes.add(batch.map(([body]) => body));
  }
};

/** A creation is checked once for each code, title and maximum, however many line items have it. */
const byParts = (check: EventCheck) => {
  const seen = new Set<string>();
  return ({ function: name, data }: { function: string; data: object }, body: string): string | undefined => {
    const parts = Object.entries(data).map((part) => part.join(separator));
    if (name === 'grade-object-create' && parts.every((part) => seen.has(part))) return undefined;
    const problem = check(name, body);
    if (problem === undefined && name === 'grade-object-create') for (const part of parts) seen.add(part);
    return problem;
  };
};

/** The change to send; undefined: none. */
const changeOf = (
  [, org, title, maxPoints, former, formerPoints]: Changed,
  left: readonly LeftTitle[],
): { function: string; data: object } | undefined => {
  // As `ref_of` writes it.
  const orgUnit = org.startsWith('\u0002') ? { orgUnitId: Number(org.slice(1)) } : { orgUnitCode: org };
  if (former === null)
    return {
      function: 'grade-object-create',
      data: { ...orgUnit, type: 'numeric', name: title, maxPoints },
    };
  const change = {
    ...(former !== title && { name: title }),
    ...(formerPoints !== maxPoints && { maxPoints }),
  };
  if (Object.keys(change).length === 0) return undefined;
  // A copy that comes after a rename must find the grade object, too.
  const which = {
    ...{ ...orgUnit, gradeObjectName: title, type: 'numeric' },
    ...(left.length > 0 && { gradeObjectFormerNames: left.map((each) => each.name) }),
  };
  return { function: 'grade-object-update', data: { ...which, ...change } };
};

/** The titles that its grade object has left. */
const leftOf = ([, , title, , former, , lefts]: Changed, nowMs: number): LeftTitle[] => {
  if (former === null) return [];
  const before = lefts === null ? [] : (JSON.parse(lefts) as LeftTitle[]);
  return [...before.filter((each) => each.name !== former), { name: former, untilMs: nowMs + titleHeldMs }]
    .filter((each) => each.untilMs > nowMs && each.name.normalize() !== title.normalize())
    .slice(-maxLeft);
};

const count = async (comparison: Comparison): Promise<void> => {
  const { sets, acceptedCounts, changedCounts } = comparison;
  const [was = 0, left = 0, all = 0] = (await sets.row<[number, number, number]>(sql('count'))) ?? [];
  if (was + all === 0) return;
  const counts = countsOf(comparison, name);
  counts.removed += left;
  counts.unchanged += all - counts.created - counts.updated;
  acceptedCounts[name] = was;
  changedCounts[name] = counts.updated;
};
