import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open as openHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Integration } from '../../../delivery/handle/integration.ts';
import { isNoId, usualBlanks } from '../../../delivery/mapping/cell-rules.ts';
import type { Cell } from '../../../delivery/mapping/columns.ts';
import {
  type Conditions,
  conditionsOf,
  eventsOf,
  excludingValue,
  isDrop,
  keyOf,
  keyText,
  labelOf,
  type Problem,
  type ProducedMessage,
  problemsByColumn,
  removalsOf,
  unnamedValue,
} from '../../../delivery/mapping/events.ts';
import { columnsIn, columnsOfOrigin, mappingAs, type Origin } from '../../../delivery/mapping/mapping.ts';
import { timeIn } from '../../../delivery/mapping/times.ts';
import { draftOf } from '../../../message/message.ts';
import { ownText, safe } from '../../../message/safe-text.ts';
import { type PlatformIds, sisFields, sisIdsIn } from '../../../message/sis-ids.ts';
import { maxMessageBytes, sqsProblem } from '../../../message/sqs-limits.ts';
import { problemsIn } from '../../../platform/client/failure-of.ts';
import { delimiterIn } from '../../../runtime/files/tables/delimiter.ts';
import { readTable, rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import type { SnapshotMapping } from '../package/mapping-file.ts';
import { addRows } from '../package/rows.ts';
import { addDamaged } from '../state/accepted.ts';
import { type Excluded, kindOf, type RowResult } from '../state/record.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { type ComparisonResult, columnsOf, type LastAccepted, totals, withRemovals } from './compare.ts';
import { type Comparison, nameMovesBy, separator } from './comparison.ts';
import { settleEnrollments } from './others.ts';
import { sampleOfTable } from './sample.ts';
import { statementsIn, timeZoneOf } from './statements.ts';
import { compareWanted, countWanted, eventOf, writeChanges, writeState } from './wanted.ts';

const sql = statementsIn('mapped');

type Message = SnapshotMapping['messages'][number];
type MappedFile = {
  path: string;
  file: string;
  mapping: SnapshotMapping;
  integrations: ReadonlyMap<string, Integration<unknown>>;
};
type Context = MappedFile & {
  comparison: Comparison;
  /** With only the fields that identify whom a row is about. */
  naming: SnapshotMapping;
  /** The same, of rows that cannot be used. */
  meaning: SnapshotMapping;
  conditions: Conditions;
  acceptedIds: AcceptedIds;
  /** Columns of the ids by which rows say whom they are about. */
  idColumns: ReadonlySet<string>;
};

/**
 * Compares a table with the last accepted one of the same name.
 * @throws UnusableSnapshot
 */
export const compareMapped = async (
  mapped: MappedFile,
  comparison: Comparison,
  last: LastAccepted | undefined,
): Promise<ComparisonResult> => {
  const { file } = mapped;
  const { db } = comparison;
  const by = JSON.stringify(
    mapped.mapping.messages.map(({ function: name, key }) => [name, ...columnsOfKey(key)]),
  );
  if (last !== undefined) checkKeys(by, last.by, file);
  const table = await open(mapped, comparison);
  const mapping = mappingAs(mapped.mapping, table.delimiter);
  for (const [at, { function: name, key, time }] of mapping.messages.entries())
    await db.run(sql('add_kind'), [
      kindOf(at),
      name,
      file,
      columnsOfKey(key).join(', '),
      time ? labelOf(time) : null,
    ]);
  await addDamaged(comparison, { file, kindName: file, table });
  await db.run(sql('add_damaged'), [file]);
  const removing = mapping.messages.flatMap(({ removed }, at) => (removed ? [kindOf(at)] : []));
  await db.run(`SET VARIABLE removing_kinds = string_split($1, ',')`, [removing.join(',')]);
  for (const statement of [timeZoneOf(mapping.cells), sql('tables'), sql('macros')]) await db.run(statement);
  const { isDelta = false } = mapping;
  comparison.isTableOfChanges = isDelta;
  const naming = namingIn(mapping);
  const context: Context = {
    ...mapped,
    mapping,
    comparison,
    naming,
    meaning: { ...naming, cells: { empty: [...usualBlanks], ...naming.cells } },
    conditions: conditionsOf(mapping),
    acceptedIds: await acceptedIdsIn(db, mapping),
    idColumns: columnsOfIds(naming),
  };
  const withoutMessage = await readRows(table, context);
  if (isDelta) await db.run(sql('take_latest'));
  comparison.takeSample?.(await sampleOfTable(db, file, table));
  await db.run(sql('name_claims'));
  comparison.nameMoves = await nameMovesBy(db, sql('count_moves'));
  const [latest] = (await db.row<[number | null]>('SELECT max(said_at_ms) FROM claims')) ?? [];
  comparison.saidMs = latest ?? undefined;
  await keepEmptied(context);
  if (isDelta) await db.run(sql('claim_still'));
  await compareWanted(comparison);
  await leaveSame(comparison);
  comparison.effects = await settleEnrollments(comparison, {
    file,
    column: columnsOfKey(mapping.messages[0]?.key ?? []).join(', '),
  });
  await checkRemovals(comparison);
  await countWanted(comparison);
  await countRows(comparison, { file, rows: table.rows, withoutMessage });
  await db.run(sql('write_data'));
  await writeChanges(comparison);
  await writeState(comparison);
  const read = { columns: table.columns, rows: table.rows, used: table.used };
  const hadRows = Object.values(comparison.acceptedCounts).some((count) => count > 0);
  const { reasons, ...columns } = columnsOf(
    [{ ...read, name: comparison.feed, file, isWhole: !isDelta, hadRows }],
    last,
  );
  return {
    ...totals(comparison),
    ...columns,
    by,
    unknownRoles: new Map(),
    isDelta,
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

const open = async ({ path, file, mapping }: MappedFile, comparison: Comparison): Promise<Table> => {
  const { separator } = mapping.cells;
  const table = await readTable(createReadStream(path), join(comparison.folder, 'rows'), {
    file,
    delimiterIn: (header) => separator ?? delimiterIn(header),
  });
  const missing = [...columnsIn(mapping)].filter(([column]) => !table.columns.includes(column));
  const inOtherCase = missing.flatMap(([column]) => {
    const found = table.columns.find((each) => each.toLowerCase() === column.toLowerCase());
    return found === undefined ? [] : [`has ${found}, the mapping reads ${column}`];
  });
  if (inOtherCase.length > 0)
    throw new UnusableSnapshot(
      `${file} ${inOtherCase.join('; it ')}: they differ only by case. Write the columns in the mapping as the file has them`,
    );
  const headerAt = missing.length > 0 ? await lineWith(path, missing) : 0;
  if (headerAt > 1)
    throw new UnusableSnapshot(
      `${file} has its header in line ${headerAt}. Export it without the lines above, or remove them`,
    );
  if (missing.length > 0)
    throw new UnusableSnapshot(
      `${file} has no column ${missing.map(([column, reader]) => `${column} (which ${reader} reads)`).join(', ')}. The first row must name the columns${table.columns.length > 1 ? '' : '. It has one cell: name what separates cells as "separator" under "cells" of the mapping'}`,
    );
  return table;
};

/** Titles above a header are short. */
const headBytes = 65_536;

/** The first line that has the names of all these columns; 0: none. */
const lineWith = async (
  path: string,
  columns: readonly (readonly [string, ...unknown[]])[],
): Promise<number> => {
  await using handle = await openHandle(path);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  const lines = buffer.toString('utf8', 0, bytesRead).split(/\r?\n/);
  return 1 + lines.findIndex((line) => columns.every(([column]) => line.includes(column)));
};

/** The parts of the resource's key. */
const columnsOfKey = (key: readonly Origin[]): string[] => key.map(({ name }) => name);

/** By the id of a row, the one by which the state knows it. */
type AcceptedIds = ReadonlyMap<string, string>;

/**
 * A row may have been accepted while its key was read in another way, as by a mapping without `strip`. It keeps the id that it had: by that,
 * creations are known again. Accepted rows whose keys are the same now get one id.
 */
const acceptedIdsIn = async (db: Comparison['db'], mapping: SnapshotMapping): Promise<AcceptedIds> => {
  const found = new Map<string, string>();
  const isAsWritten = ({ rules }: Origin): boolean =>
    Object.values(rules).every((rule) => rule === undefined);
  if (mapping.messages.every(({ key }) => key.every(isAsWritten))) return found;
  for await (const batch of db.rows<[string]>(sql('list_accepted_ids'))) {
    const others: [string, string][] = [];
    for (const [id] of batch) {
      const now = idNow(id, mapping);
      if (now === id) continue;
      const accepted = found.get(now);
      if (accepted === undefined) found.set(now, id);
      others.push([accepted === undefined ? now : id, accepted ?? id]);
    }
    if (others.length > 0) await db.add('renamed_rows', others);
  }
  if (found.size > 0) await db.run(sql('rename_rows'));
  return found;
};

/** The id of an accepted row if its key is read as now. */
const idNow = (id: string, { messages }: SnapshotMapping): string => {
  const [kind = '', ...cells] = id.split(separator);
  const key = messages.find((_, at) => kindOf(at) === kind)?.key;
  if (key?.length !== cells.length) return id;
  return [kind, ...key.map((origin, at) => keyText(cells[at] ?? '', origin))].join(separator);
};

type RowTarget = { template: string; orgUnit: string | null; user: string | null };

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
const targetOf = (
  body: string,
  { integration, nowMs }: { integration: Integration<unknown>; nowMs: number },
): RowTarget => {
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

type MappedData = { function: string; data: object };

/** Adds what all messages make of a row. Answers what is wrong with it, and whether some message is, or may be, for it. */
const readRow = (
  { row, line }: Pick<OneRow, 'row' | 'line'>,
  context: Context,
  taken: RowBatches,
): { problems: Problem[]; isTaken: boolean } => {
  const { mapping } = context;
  const before = lengthsOf(taken);
  const each = mapping.messages.map((message, at): OneRow => ({ row, line, at, message }));
  const problems = each.flatMap((one) => take(one, context, taken));
  const after = lengthsOf(taken);
  const isTaken = after.rows > before.rows;
  if (isTaken) taken.excluded_rows.length = before.excluded;
  // A row of which nobody has said whether it adds or removes says nothing of what its key had.
  const isClear = after.rows - after.unnamed > before.rows - before.unnamed;
  if (mapping.isDelta && (isClear || isDrop(row, mapping)))
    taken.named_rows.push(...each.map((one) => namedRow(one, context)));
  return { problems, isTaken };
};

const lengthsOf = ({ mapped_rows, unmapped_rows, unnamed_rows, excluded_rows }: RowBatches) => ({
  rows: mapped_rows.length + unmapped_rows.length,
  unnamed: unnamed_rows.length,
  excluded: excluded_rows.length,
});

/** Returns the number of rows that no message applies to. */
const readRows = async (table: Table, context: Context): Promise<number> => {
  const { mapping, comparison } = context;
  const { db } = comparison;
  const wanted = [...columnsIn(mapping).keys()];
  const names = Object.fromEntries(wanted.map((column, at) => [`w${at}`, column]));
  let withoutMessage = 0;
  const excluded = new Map<string, number>();
  for await (const batch of db.rows<[number, ...(string | null)[]]>(rowsOf(table, names), [table.path])) {
    const taken: RowBatches = {
      mapped_rows: [],
      unmapped_rows: [],
      unnamed_rows: [],
      excluded_rows: [],
      problems: [],
      named_rows: [],
    };
    for (const [line, ...cells] of batch) {
      const row = new Map(wanted.map((column, at): [string, Cell] => [column, cellOf(cells[at] ?? null)]));
      const { problems, isTaken } = readRow({ row, line }, context, taken);
      if (!isTaken && !(mapping.isDelta && isDrop(row, mapping))) {
        withoutMessage += 1;
        const by = excludingValue(row, mapping);
        const code = by && `${by.column}${separator}${by.value}`;
        if (code) excluded.set(code, (excluded.get(code) ?? 0) + 1);
      }
      // Several messages may read the same column.
      const unique = new Map(problems.map((each) => [`${each.column}${separator}${each.problem}`, each]));
      for (const each of unique.values())
        taken.problems.push([context.file, String(line), each.column, each.problem, '1', 'true']);
    }
    for (const [table, rows] of Object.entries(taken)) if (rows.length > 0) await db.add(table, rows);
  }
  comparison.excluded = codesOf(excluded);
  return withoutMessage;
};

/** A column with more values, or with longer ones, has no codes: its values may be about people. */
const maxCodes = 30;
const longestCode = 40;

const codesOf = (rowsByValue: ReadonlyMap<string, number>): Excluded => {
  const all = [...rowsByValue].map(([code, rows]): Excluded[number] => {
    const [column = '', value = ''] = code.split(separator);
    return [column, value, rows];
  });
  const columns = [...Map.groupBy(all, ([column]) => column).values()];
  return columns
    .filter((codes) => codes.length <= maxCodes && codes.every(([, value]) => value.length <= longestCode))
    .flatMap((codes) => codes.sort(([, , one], [, , other]) => other - one));
};

type RowBatches = Record<
  'mapped_rows' | 'unmapped_rows' | 'unnamed_rows' | 'excluded_rows' | 'problems' | 'named_rows',
  (string | null)[][]
>;

const cellOf = (text: string | null): Cell => ({ text: text ?? '', quoted: text !== null });

type OneRow = { row: ReadonlyMap<string, Cell>; line: number; at: number; message: Message };

// biome-ignore lint/suspicious/noControlCharactersInRegex: what is to be found.
const control = /[\u0000-\u001f\u007f]/;

/** An id of the SIS may be any single line that is not too long. */
const isId = (text: string): boolean => text !== '' && text.length <= 255 && !control.test(text);

/** By what the row is known again, and the columns of its key that cannot be used. */
const idOf = (
  { row, at, message }: OneRow,
  { acceptedIds, idColumns, mapping }: Context,
): { id: string; wrong: string[] } => {
  const cells = keyOf(row, message, mapping.cells);
  const wrong = columnsOfKey(message.key).filter((_, place) => !isId(cells[place] ?? ''));
  const key = cells.join(separator);
  // Rows of several people may have the same word: none of them is known again by it.
  const isKey =
    wrong.length === 0 &&
    !message.key.some(({ name }, place) => idColumns.has(name) && isNoId(cells[place], mapping.cells));
  const id = `${kindOf(at)}${isKey ? `${separator}${key}` : `#${hash('sha256', key).slice(0, 20)}`}`;
  return { id: acceptedIds.get(id) ?? id, wrong };
};

const problemsOfKey = (wrong: readonly string[]): Problem[] =>
  wrong.map((column) => ({ column: ownText(column), problem: safe`must be one line, and not empty` }));

/** Whatever the row does, a time that cannot be read does not order it. */
const problemsOfTime = ({ message }: OneRow, made: ProducedMessage | undefined): Problem[] => {
  const problem = made?.time === undefined ? undefined : timeIn(made.time, {}).problem;
  return problem && message.time ? [{ column: ownText(labelOf(message.time)), problem }] : [];
};

/** A row of a table of changes, also one that makes no message: it replaces what was accepted by its key. */
const namedRow = (one: OneRow, context: Context): (string | null)[] => {
  const { naming, comparison } = context;
  const { row, line, at } = one;
  const [made] = eventsOf(row, naming, at).events ?? [];
  const saidMs = made && changedMs(made, comparison.droppedMs);
  return [idOf(one, context).id, String(line), saidMs ? String(saidMs) : null];
};

/** Adds what a message makes of a row, and returns why it makes nothing. */
const take = (one: OneRow, context: Context, taken: RowBatches): Problem[] => {
  const { row, line, at, message } = one;
  const { mapping, meaning, conditions } = context;
  const { events, problems = [] } = eventsOf(row, mapping, at);
  const [made] = events ?? [];
  const isFor = made !== undefined || problems.length > 0;
  const drops = isDrop(row, mapping);
  if (!isFor && drops) return takeDrop(one, context, taken);
  const { id, wrong } = idOf(one, context);
  const unnamed = isFor ? undefined : unnamedValue(row, message, { conditions, cells: mapping.cells });
  if (!isFor && unnamed === undefined) {
    if (wrong.length === 0) taken.excluded_rows.push([id, String(line), null]);
    return [];
  }
  const removal = message.removed && removalsOf(row, mapping, at);
  const all: Problem[] = [
    ...problemsOfKey(wrong),
    ...problems,
    ...(removal?.problems ?? []),
    ...problemsOfTime(one, made),
  ];
  const target = made && all.length === 0 ? targetIn({ ...one, made, id }, context) : { problems: all };
  if (made === undefined || 'problems' in target) {
    // The part of an unusable row that identifies whom it is about.
    const named = eventsOf(row, meaning, at).events?.[0]?.data;
    const whom = (field: 'orgUnitId' | 'userId') => (named ? tokenOf(named, field) : null);
    taken.unmapped_rows.push([message.function, id, whom('orgUnitId'), whom('userId'), String(line)]);
    if (unnamed === undefined) return 'problems' in target ? target.problems : [];
    taken.unnamed_rows.push([String(line), unnamed.columns, unnamed.value]);
    return [];
  }
  const [gone] = removal?.events ?? [];
  taken.mapped_rows.push([
    kindOf(at),
    message.function,
    target.template,
    target.orgUnit,
    target.user,
    JSON.stringify(made.data),
    gone ? JSON.stringify({ function: gone.function, data: gone.data } satisfies MappedData) : null,
    id,
    changedMs(made, context.comparison.droppedMs)?.toString() ?? null,
    String(line),
  ]);
  return [];
};

/** Behind all names: of two refused rows with one key, the one that names somebody counts. */
const nobody = '~';

/** Adds a row that ends what its key had. */
const takeDrop = (one: OneRow, context: Context, taken: RowBatches): Problem[] => {
  const { row, line, at, message } = one;
  const { id, wrong } = idOf(one, context);
  const { events, problems = [] } = eventsOf(row, context.naming, at);
  const all = [...problemsOfKey(wrong), ...problems, ...problemsOfTime(one, events?.[0])];
  // What a row would end, of which that is unknown, nobody wants by it: what other rows end, ends.
  if (all.length > 0) taken.unmapped_rows.push([message.function, id, nobody, nobody, String(line)]);
  else taken.excluded_rows.push([id, String(line), 'drop']);
  return all;
};

/** What the event is about, or why its function would refuse it. */
const targetIn = (
  { made, id, at, message }: OneRow & { made: ProducedMessage; id: string },
  { comparison, integrations }: Context,
): RowTarget | { problems: Problem[] } => {
  const column = ownText(columnsOfKey(message.key).join(', '));
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
    return { problems: [{ column, problem: safe`there is no function ${ownText(made.function)}` }] };
  try {
    return targetOf(body, { integration, nowMs: comparison.droppedMs });
  } catch (error) {
    return { problems: problemsByColumn(problemsIn(error), made, column) };
  }
};

const nameFields = new Set(sisFields.flat());

const columnsOfIds = ({ messages }: SnapshotMapping): ReadonlySet<string> =>
  new Set(
    messages.flatMap(({ fields }) => fields.flatMap(({ from }) => (from ? columnsOfOrigin(from) : []))),
  );

const namingIn = (mapping: SnapshotMapping): SnapshotMapping => ({
  ...mapping,
  messages: mapping.messages.map((message) => ({
    ...message,
    when: [],
    fields: message.fields.filter(({ path }) => nameFields.has(path)),
  })),
});

/** A time later than the file comes from a wrong clock. */
const changedMs = ({ time }: ProducedMessage, droppedMs: number): number | undefined =>
  time === undefined ? undefined : Math.min(Date.parse(time), droppedMs);

/**
 * An empty cell without quotation marks gives no value. If a message orders its fields separately, the platform then keeps what was
 * sent: that stays accepted, and the row is reported, as it would otherwise go unnoticed.
 */
const keepEmptied = async ({ mapping, integrations, comparison }: Context): Promise<void> => {
  const { db, droppedMs } = comparison;
  const optional = mapping.messages.flatMap(({ fields }, at) =>
    fields.flatMap(({ path, from, otherwise }) =>
      from === undefined || otherwise !== undefined || path.includes('.')
        ? []
        : [[kindOf(at), path, labelOf(from)]],
    ),
  );
  await db.add('optional', optional);
  await db.run(sql('find_last_values'));
  const examples = await db.all<[string, string, string, string]>(sql('list_emptied_fields'));
  for (const [kind, field, ...data] of examples) {
    const name = mapping.messages[Number.parseInt(kind, 36)]?.function ?? '';
    const [now, before] = data.map((text) => {
      const event = { kind, key: '', function: name, data: JSON.parse(text) };
      return orderedBy(eventOf(ofAnyNight(comparison), event), integrations.get(name), droppedMs);
    });
    if (now === undefined || before === undefined || isDeepStrictEqual(now, before))
      await db.run('DELETE FROM last_values WHERE state_kind = $1 AND field = $2', [kind, field]);
  }
  await db.run(sql('keep_last_values'));
};

/** The names by which a message is ordered; undefined: its function would refuse it, or it is ordered with the whole. */
const orderedBy = (body: string, integration: Integration<unknown> | undefined, nowMs: number) => {
  try {
    const message = integration && draftOf(body, integration, nowMs).message(standInIds);
    return message && integration.fields?.(message.data, message);
  } catch {
    return undefined;
  }
};

/** A mapping may list its fields in another order than before. */
const leaveSame = async ({ db }: Comparison): Promise<void> => {
  for await (const batch of db.rows<[string, string, string]>(sql('list_other_values'))) {
    const same = batch.flatMap(([key, ...values]) => {
      const [now, before] = values.map((value) => {
        const at = value.indexOf(' ');
        return [value.slice(0, at), JSON.parse(value.slice(at + 1))];
      });
      return isDeepStrictEqual(now, before) ? [[key]] : [];
    });
    if (same.length > 0) await db.add('same', same);
  }
  await db.run(sql('leave_same'));
};

const checkRemovals = async (comparison: Comparison): Promise<void> => {
  const { db, check } = comparison;
  for await (const batch of db.rows<[string, string]>(sql('list_removals'))) {
    const unfit = batch.flatMap(([key, text]) => {
      const removed = JSON.parse(text) as MappedData;
      const problem = check(removed.function, eventOf(comparison, { kind: '', key, ...removed }));
      return problem === undefined ? [] : [[key, null, problem]];
    });
    if (unfit.length > 0) await db.add('unfit_keys', unfit);
  }
};

/** Counts the rows of the table by result, after the comparison. */
const countRows = async (
  comparison: Comparison,
  { file, rows, withoutMessage }: { file: string; rows: number; withoutMessage: number },
): Promise<void> => {
  const { db } = comparison;
  const [refused = 0, held = 0, emptied = 0, unknownValue = 0, endedNothing = 0, keyUsed = 0] =
    (await db.row<[number, number, number, number, number, number]>(sql('count_rows'))) ?? [];
  await db.run(sql('report_emptied'), [file]);
  await db.run(sql('report_unnamed'), [file]);
  const excluded = { endedNothing, keyUsed, withoutMessage: withoutMessage - keyUsed };
  const results = { emptied, held, ...excluded, unknownValue, refused };
  const unused = Object.values(results).reduce((sum, count) => sum + count, 0);
  comparison.rows[file] = { used: rows - unused };
  for (const [result, count] of Object.entries(results) as [RowResult, number][])
    addRows(comparison, file, { result, count });
};
