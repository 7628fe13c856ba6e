import { refusedInNames } from '../../../delivery/handle/fields/grade-object.ts';
import { quotedText, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import type { Table } from '../../../runtime/files/tables/table.ts';
import { type PackageReading, viewRows } from '../package/reading.ts';
import { countRows, refuseRows } from '../package/rows.ts';
import { namePartsIn } from '../package/settings-file.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { type Comparison, countsOf, type EventCheck, separator } from './comparison.ts';
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
export const settleLineItems = async (table: Table | undefined, reading: PackageReading): Promise<void> => {
  const { comparison, given } = reading;
  const { db } = comparison;
  const mode = given.modes.lineItems;
  await db.run('SET VARIABLE is_bulk = CAST($1 AS BOOLEAN)', [String(mode === 'bulk')]);
  await db.run(loadItems);
  await viewRows(db, table, { columns });
  if (table && comparison.settings.lineItemName !== undefined)
    await giveNames(table, { reading, setting: comparison.settings.lineItemName });
  await db.run(sql('read'));
  await db.run(sql('refuse_differing'));
  await refuseRows(comparison, { name, mode });
  await db.run(sql('choose'));
  await settleTitles(db);
  if (await addChanges(comparison)) {
    await db.run(sql('settle'));
    await addChanges(comparison);
  }
  await db.run(sql('finish'));
  await send(comparison);
  await count(comparison);
  await countRows(comparison, file, sql('count_fates'));
};

const settingName = '"lineItemName" in snapshot-settings.json';

/** Makes `file_rows` anew, with names by a template in place of titles. A name that lacks a part is empty: two of these could look the same. */
const giveNames = async (
  table: Table,
  { reading, setting }: { reading: PackageReading; setting: string },
): Promise<void> => {
  const { db } = reading.comparison;
  const parts = namePartsIn(setting, 'lineItem') ?? [];
  const columnsOf = (of: 'itself' | 'class'): string[] => [
    ...new Set(parts.flatMap((part) => ('of' in part && part.of === of ? part.column : []))),
  ];
  const [own, ofClass] = [columnsOf('itself'), columnsOf('class')];
  const classes = await reading.tables.classes;
  if (ofClass.length > 0 && reading.given.modes.classes !== 'bulk')
    throw new UnusableSnapshot(
      `${settingName} needs all rows of classes.csv. Put an export into the bucket that has classes.csv as bulk`,
    );
  const lacks = (of: Table | undefined, wanted: string[]) =>
    wanted.find((column) => (of?.at(column) ?? -1) < 0);
  for (const [name, lacking] of [
    ['lineItems', lacks(table, own)],
    ['classes', lacks(classes, ofClass)],
  ])
    if (lacking !== undefined)
      throw new UnusableSnapshot(`${name}.csv has no column ${lacking}, which ${settingName} names`);
  const named = (names: string[]) => Object.fromEntries(names.map((column, at) => [`part_${at}`, column]));
  await viewRows(db, table, { view: 'item_rows', columns: { ...columns, ...named(own) } });
  await viewRows(db, classes, { view: 'class_rows', columns: { id: 'sourcedId', ...named(ofClass) } });
  const texts: string[] = [];
  const pieces = parts.map((part) => {
    if ('text' in part) return quotedText(part.text);
    const cell = `trimmed(${part.of === 'class' ? `c.part_${ofClass.indexOf(part.column)}` : `i.part_${own.indexOf(part.column)}`})`;
    texts.push(cell);
    return cell;
  });
  const isWhole = texts.map((cell) => `${cell} <> ''`).join(' AND ');
  await db.run(`CREATE OR REPLACE VIEW file_rows AS
    SELECT i.* REPLACE (CASE WHEN ${isWhole} THEN trimmed(translate(${pieces.join(' || ')}, ${quotedText(refusedInNames)},
      ${quotedText('-'.repeat(refusedInNames.length))})) ELSE '' END AS title)
    FROM item_rows i LEFT JOIN (FROM class_rows QUALIFY row_number() OVER (PARTITION BY id ORDER BY line) = 1) c ON c.id = i.class_source_id`);
};

/** Decides which line item gets which grade object, by their titles. */
const settleTitles = async (db: SqlEngine): Promise<void> => {
  const hasTitles = await hasRows(db, 'wanted WHERE NOT stays');
  if (hasTitles) await db.run(sql('judge_titles'));
  const circles = async (): Promise<number> =>
    (await db.row<[number]>('SELECT count(*) FROM circles'))?.[0] ?? 0;
  let left = hasTitles ? await circles() : 0;
  for (let round = 0; left > 0; round += 1) {
    await db.run(round < maxCircle ? sql('narrow') : 'DELETE FROM circles');
    const now = await circles();
    if (now === left) break;
    left = now;
  }
  await db.run(sql('refuse_titles'));
  await db.run(sql('settle'));
};

type ChangedRow = [
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
  const { db, check, droppedMs } = comparison;
  const fits = byParts(check);
  let isRefused = false;
  for await (const batch of db.rows<ChangedRow>(sql('list_changed'))) {
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
    await db.add('item_changes', changes);
  }
  return isRefused;
};

const columnOf = (problem: string): string => {
  if (problem.includes('data.maxPoints')) return 'resultValueMax';
  return problem.includes('data.orgUnit') ? 'classSourcedId' : 'title';
};

const send = async (comparison: Comparison): Promise<void> => {
  const { db, changes } = comparison;
  const counts = countsOf(comparison, name);
  for await (const batch of db.rows<[string, number]>(sql('list_messages'))) {
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
  [, org, title, maxPoints, former, formerPoints]: ChangedRow,
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
    ...orgUnit,
    gradeObjectName: title,
    type: 'numeric',
    ...(left.length > 0 && { gradeObjectFormerNames: left.map((each) => each.name) }),
  };
  return { function: 'grade-object-update', data: { ...which, ...change } };
};

/** The titles that its grade object has left. */
const leftOf = ([, , title, , former, , lefts]: ChangedRow, nowMs: number): LeftTitle[] => {
  if (former === null) return [];
  const before = lefts === null ? [] : (JSON.parse(lefts) as LeftTitle[]);
  return [...before.filter((each) => each.name !== former), { name: former, untilMs: nowMs + titleHeldMs }]
    .filter((each) => each.untilMs > nowMs && each.name.normalize() !== title.normalize())
    .slice(-maxLeft);
};

const count = async (comparison: Comparison): Promise<void> => {
  const { db, acceptedCounts, changedCounts } = comparison;
  const [was = 0, left = 0, all = 0] = (await db.row<[number, number, number]>(sql('count'))) ?? [];
  if (was + all === 0) return;
  const counts = countsOf(comparison, name);
  counts.removed += left;
  counts.unchanged += all - counts.created - counts.updated;
  acceptedCounts[name] = was;
  changedCounts[name] = counts.updated;
};
