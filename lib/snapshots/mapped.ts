import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Cell, delimiterIn } from '../mapping/columns.ts';
import {
  columnsBehind,
  eventsOf,
  type Made,
  type Problem,
  problemsByColumn,
  removalsOf,
} from '../mapping/events.ts';
import { columnsIn } from '../mapping/mapping.ts';
import { pairsOf } from '../sets/sorted.ts';
import { instantMsIn, isId } from './cells.ts';
import { columnsOf, type LastAccepted, type Outcome, totals, withRemovals } from './compare.ts';
import {
  addEvent,
  type Comparison,
  countsOf,
  createBreath,
  createRowSorter,
  type Entry,
  type RowSorter,
  separator,
  stateLine,
  type Times,
  timeOf,
} from './comparison.ts';
import { createLookup, type Lookup } from './lookup.ts';
import type { SnapshotMapping } from './mapping-file.ts';
import { openTable, type Row } from './table.ts';
import { UnusableSnapshot } from './unusable.ts';

type Sent = { function: string; data: object };

/** What a message of a row was when it was accepted. */
type Accepted = Times & {
  data: object;
  /** What is sent when the row is gone. */
  removed?: Sent;
};

/** A row, by its line: `refused`, or what it makes. */
type MappedRow = { line: number; refused?: true; made?: Accepted };

type Message = SnapshotMapping['messages'][number];

type Context = {
  file: string;
  mapping: SnapshotMapping;
  comparison: Comparison;
  sorter: RowSorter;
  /** What the rows hold that removals would take away; undefined: no two rows can hold the same. */
  held: Lookup | undefined;
  /** By message: not even the key of some row can be read, so that a row that seems to be missing may be that one. */
  illegible: Set<number>;
};

type Given = { path: string; file: string; mapping: SnapshotMapping };

/** Compares a table with the one of the same name that was accepted last. @throws UnusableSnapshot */
export const compareMapped = async (
  { path, file, mapping }: Given,
  comparison: Comparison,
  last: LastAccepted | undefined,
): Promise<Outcome> => {
  const by = JSON.stringify(mapping.messages.map(({ function: name, key }) => [name, ...key]));
  if (last !== undefined) checkKeys(by, last.by, file);
  const sorter = createRowSorter(comparison.folder);
  const held = mayHoldTheSame(mapping) ? createLookup(join(comparison.folder, 'held')) : undefined;
  const context: Context = { file, mapping, comparison, sorter, held, illegible: new Set() };
  try {
    const read = await readAll(path, context);
    await settle(context);
    const { reasons, ...columns } = columnsOf(
      [
        {
          ...read,
          name: file,
          file,
          isWhole: true,
          hadRows: Object.values(comparison.acceptedCounts).some((count) => count > 0),
        },
      ],
      last,
    );
    return {
      ...{ ...totals(comparison), ...columns, by, unknownRoles: new Map() },
      ...withRemovals(comparison, last === undefined, reasons),
    };
  } finally {
    sorter.remove();
    held?.close();
  }
};

/** What was accepted is known by the place of its message, and by its key: both must hold for ever. */
const checkKeys = (by: string, before: string, file: string): void => {
  const [now, then] = [by, before].map((each) => JSON.parse(each) as string[][]);
  const other = then?.findIndex((each, at) => !isDeepStrictEqual(each, now?.[at])) ?? -1;
  if (other < 0) return;
  const [name, ...key] = then?.[other] ?? [];
  throw new UnusableSnapshot(
    `The mapping no longer has, at messages[${other}], ${name} with the key ${key.join(', ')}, by which rows of ${file} were accepted: put that back, and new messages behind those that there are; or give the file another name, under which everything is sent anew and nothing is removed`,
  );
};

/**
 * Where a removal does not name all of the key, or two messages have one, a row may be gone and another may hold the same: the
 * person is in the course still.
 */
const mayHoldTheSame = ({ messages }: SnapshotMapping): boolean => {
  const names = messages.flatMap(({ removed }) => removed?.function ?? []);
  return (
    new Set(names).size < names.length ||
    messages.some(({ key, removed }) => {
      const named = removed?.fields.flatMap(({ from, values, types }) =>
        from === undefined || values || types.has('number') || types.has('integer') ? [] : from,
      );
      return named !== undefined && !key.every((column) => named.includes(column));
    })
  );
};

/** By the kinds of a state's lines, the functions of the messages that a table was accepted by; `by` is as in `accepted.json`. */
export const functionsOf = (by: string): Map<string, string> =>
  new Map((JSON.parse(by) as string[][]).map(([name = ''], at) => [kindOf(at), name]));

/** Of a message, by its place in the mapping. */
const kindOf = (at: number): string => at.toString(36);

const emptyInQuotes = '\u0000';

const readAll = async (path: string, context: Context): Promise<{ columns: string[]; rows: number }> => {
  const { file, mapping, comparison, illegible } = context;
  const table = await openTable(createReadStream(path), {
    ...{ file, emptyInQuotes, delimiter: delimiterIn(await headerOf(path)) },
  });
  const wanted = columnsIn(mapping);
  const missing = [...wanted].filter(([column]) => !table.columns.includes(column));
  if (missing.length > 0)
    throw new UnusableSnapshot(
      `${file} has no column ${missing.map(([column, reader]) => `${column} (which ${reader} reads)`).join(', ')}: its first row must name its columns`,
    );
  const places = [...wanted.keys()].map((column) => [column, table.columns.indexOf(column)] as const);
  const take = ({ line, cells, problem }: Row): void => {
    if (problem !== undefined) {
      countsOf(comparison, file).refused += 1;
      comparison.report.add({ file, line, problem });
      for (const at of mapping.messages.keys()) illegible.add(at);
      return;
    }
    const row = new Map(places.map(([column, place]) => [column, cellOf(cells[place] ?? '')]));
    const told = new Set<string>();
    for (const [at, message] of mapping.messages.entries())
      takeMessage({ row, line, told }, { at, message }, context);
  };
  let rows = 0;
  for await (const batch of table.rows) {
    rows += batch.length;
    batch.forEach(take);
  }
  return { columns: table.columns, rows };
};

const cellOf = (text: string): Cell =>
  text === emptyInQuotes ? { text: '', quoted: true } : { text, quoted: false };

/** Enough of the first row to tell what is between its cells. */
const headerOf = async (path: string): Promise<string> => {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64 * 1024));
  return buffer.toString('utf8', 0, bytesRead).split(/[\r\n]/, 1)[0] ?? '';
};

type OneRow = { row: ReadonlyMap<string, Cell>; line: number; told: Set<string> };
type One = { at: number; message: Message };

const takeMessage = ({ row, line, told }: OneRow, { at, message }: One, context: Context): void => {
  const { mapping, comparison, sorter, held, illegible, file } = context;
  const { events, problems = [] } = eventsOf(row, mapping, at);
  const [made] = events ?? [];
  if (made === undefined && problems.length === 0) return;
  const cells = message.key.map((column) => row.get(column)?.text ?? '');
  const wrong = message.key.filter((_, place) => !isId(cells[place] ?? ''));
  const removal = message.removed && removalsOf(row, mapping, at);
  const [gone] = removal?.events ?? [];
  const removed = gone && { function: gone.function, data: gone.data };
  // Also where the row is refused: what was accepted of it stays.
  if (removed) held?.set(textOf(removed), '');
  const time = made && timeIn(made, message);
  const all: Problem[] = [
    ...wrong.map((column) => ({ column, problem: 'is no key: it must be one line, and not empty' })),
    ...problems,
    ...(removal?.problems ?? []),
    ...(time?.problem ?? []),
  ];
  const key = `${kindOf(at)}${separator}${cells.join(separator)}`;
  if (made === undefined || all.length > 0) {
    countsOf(comparison, message.function).refused += 1;
    for (const { column, problem } of all) {
      // Several messages may read one column.
      const text = `${column}\n${problem}`;
      if (told.has(text)) continue;
      told.add(text);
      comparison.report.add({ file, line, column, problem });
    }
    if (wrong.length > 0) illegible.add(at);
    else sorter.add(key, { line, refused: true } satisfies MappedRow);
    return;
  }
  const accepted: Accepted = {
    ...{ data: made.data, ...(time?.atMs !== undefined && { atMs: time.atMs }) },
    ...(removed && { removed }),
  };
  sorter.add(key, { line, made: accepted } satisfies MappedRow);
};

const textOf = ({ function: name, data }: Sent): string => JSON.stringify([name, data]);

const timeIn = ({ time }: Made, message: Message): { atMs?: number | undefined; problem?: Problem[] } => {
  const text = time?.trim() ?? '';
  if (message.time === undefined || text === '') return {};
  const atMs = instantMsIn(text);
  if (atMs !== undefined) return { atMs };
  return { problem: [{ column: message.time, problem: 'must be a time as in 2026-01-31T09:30:00Z' }] };
};

/** All that was accepted, in the order of the rows: by message, and by key. */
function* acceptedIn({ comparison, mapping }: Context): Generator<Entry, void, undefined> {
  for (const at of mapping.messages.keys())
    for (const { key, value } of comparison.accepted(kindOf(at)))
      yield { key: `${kindOf(at)}${separator}${key}`, value };
}

const settle = async (context: Context): Promise<void> => {
  const breathe = createBreath();
  for (const { key, old, new: now } of pairsOf(acceptedIn(context), context.sorter.groups())) {
    await breathe();
    const at = Number.parseInt(key, 36);
    const message = context.mapping.messages[at];
    if (message === undefined) continue;
    const before = old?.value as Accepted | undefined;
    const rows = (now?.rows ?? []) as MappedRow[];
    const known = { at, message, key: key.slice(2), before };
    apply({ ...known, ...decide(known, rows, context) }, context);
  }
};

type Known = One & { key: string; before: Accepted | undefined };
type Decided = { next: Accepted | undefined; line?: number | undefined };

/** What holds from now on. */
const decide = (
  { at, message, before }: Known,
  rows: MappedRow[],
  { comparison, file, illegible }: Context,
): Decided => {
  if (rows.length === 0) return { next: illegible.has(at) ? before : undefined };
  if (rows.some(({ refused }) => refused)) return { next: before };
  const [first] = rows;
  if (new Set(rows.map(({ made }) => JSON.stringify(made))).size === 1)
    return { next: first?.made, line: first?.line };
  for (const { line } of rows) {
    countsOf(comparison, message.function).refused += 1;
    const problem = 'another row has the same key, and differs';
    comparison.report.add({ file, line, column: message.key.join(', '), problem });
  }
  return { next: before };
};

const apply = ({ at, message, key, before, next, line }: Known & Decided, context: Context): void => {
  const { comparison, file, held } = context;
  const { acceptedCounts, state } = comparison;
  const counts = countsOf(comparison, message.function);
  const kind = kindOf(at);
  const refuse = (problem: string, event: Parameters<typeof columnsBehind>[0]): void => {
    counts.refused += 1;
    const columns = columnsBehind(event, message.time);
    const [first = { column: message.key.join(', '), problem }, ...others] = problemsByColumn(problem, {
      columns,
    });
    for (const each of [first, ...others]) comparison.report.add({ file, line, ...each });
    if (before !== undefined) state.add(stateLine(kind, key, before));
  };
  if (before !== undefined) acceptedCounts[message.function] = (acceptedCounts[message.function] ?? 0) + 1;
  if (next === undefined) {
    const { removed } = before ?? {};
    if (before === undefined || (removed && held?.get(textOf(removed)) !== undefined)) return;
    // Without a message for it, the platform keeps what was sent.
    const problem = message.removed && removed && addEvent(comparison, { ...{ kind, key }, ...removed });
    if (problem === undefined) counts.removed += 1;
    else refuse(problem, message.removed ?? message);
    return;
  }
  if (before !== undefined && isDeepStrictEqual(before.data, next.data)) {
    counts.unchanged += 1;
    const { sentMs } = before;
    state.add(stateLine(kind, key, { ...next, ...(sentMs !== undefined && { sentMs }) }));
    return;
  }
  const timeMs = timeOf(before, next, comparison);
  const event = { kind, key, function: message.function, data: next.data, timeMs };
  const problem = addEvent(comparison, event);
  if (problem !== undefined) {
    refuse(problem, message);
    return;
  }
  counts[before === undefined ? 'created' : 'updated'] += 1;
  state.add(stateLine(kind, key, { ...next, sentMs: timeMs }));
};
