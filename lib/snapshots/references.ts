import { join } from 'node:path';
import { pairsOf } from '../sets/sorted.ts';
import { type Cell, hasControl, isId } from './cells.ts';
import {
  type Comparison,
  countsOf,
  createBreath,
  createRowSorter,
  type Entry,
  type Mode,
  separator,
  stateLine,
} from './comparison.ts';
import { createLookup, type Lookup } from './lookup.ts';
import type { FileRead } from './reading.ts';
import { openTable } from './table.ts';
import type { Files } from './zip.ts';

/** What classes and users are known by on the platform. */
export type References = {
  /** The code of a class. */
  classes: Reference;
  /** The name or number of a user. */
  users: Reference;
  files: Partial<Record<'classes' | 'users', FileRead>>;
  close(): void;
};

type Reference = (sourcedId: string) => Cell<string>;

/** Before all others, as the others cannot be read without them. */
export const referenceKind = '0';

type ReferenceFile = { name: 'classes' | 'users'; letter: string; column: string; mode: Mode };

/** Reads classes and users, and keeps of each what it is known by. */
export const readReferences = async (
  files: Files,
  modes: { classes: Mode; users: Mode },
  comparison: Comparison,
): Promise<References> => {
  const { settings } = comparison;
  const read: References['files'] = {};
  const open: Lookup[] = [];
  const reference = async (file: ReferenceFile): Promise<Reference> => {
    const lookup = (name: string): Lookup => {
      const created = createLookup(join(comparison.folder, `${file.name}-${name}`));
      open.push(created);
      return created;
    };
    const known: Known = { names: lookup('names'), owners: lookup('owners'), shared: lookup('shared') };
    const rows = createRowSorter(comparison.folder);
    try {
      if (file.mode !== 'absent') read[file.name] = await readFile(files, file, { comparison, rows });
      await settle(file, { comparison, rows: rows.groups(), known });
      known.owners.close();
    } finally {
      rows.remove();
    }
    return (id) => resolved(id, file, known);
  };
  try {
    return {
      classes: await reference({
        ...{ name: 'classes', letter: 'c', column: settings.orgUnitCode, mode: modes.classes },
      }),
      users: await reference({ name: 'users', letter: 'u', column: settings.user.column, mode: modes.users }),
      files: read,
      close: () => {
        for (const each of open) each.close();
      },
    };
  } catch (error) {
    for (const each of open) each.close();
    throw error;
  }
};

type Reading = { comparison: Comparison; rows: ReturnType<typeof createRowSorter> };

/** A row is its name; null: the id is no longer in use. */
const readFile = async (
  files: Files,
  { name, column }: ReferenceFile,
  { comparison, rows: sorter }: Reading,
): Promise<FileRead> => {
  const file = `${name}.csv`;
  let count = 0;
  const table = await openTable(files.open(file), { file, required: ['sourcedId', column] });
  const [id, named, status] = [table.at('sourcedId'), table.at(column), table.at('status')];
  const refuse = (line: number, inColumn: string | undefined, problem: string): void => {
    countsOf(comparison, name).refused += 1;
    comparison.report.add({ file, line, column: inColumn, problem });
  };
  for await (const rows of table.rows)
    for (const { line, cells, problem } of rows) {
      count += 1;
      const sourcedId = cells[id] ?? '';
      const text = (cells[named] ?? '').trim();
      if (problem !== undefined) refuse(line, undefined, problem);
      else if (!isId(sourcedId))
        refuse(line, 'sourcedId', 'is no id: empty, too long, or with control characters');
      else if (hasControl(text) || text.length > 255)
        refuse(line, column, 'is no name: too long, or with control characters');
      else if (cells[status] === 'tobedeleted') sorter.add(sourcedId, [text, 0]);
      else sorter.add(sourcedId, [text, 1]);
    }
  return { columns: table.columns, rows: count };
};

type Settling = {
  comparison: Comparison;
  rows: Iterable<{ key: string; rows: unknown[] }>;
  known: Known;
};

type Known = {
  names: Lookup;
  /** Who has a name; needed until all are read. */
  owners: Lookup;
  /** Names of two. */
  shared: Lookup;
};

/** The name of an id that two different rows have. */
const ambiguous = '\u007f';

/** What holds from now on. */
const settle = async (
  { letter, mode }: ReferenceFile,
  { comparison, rows, known }: Settling,
): Promise<void> => {
  const breathe = createBreath();
  const prefix = `${letter}${separator}`;
  const accepted = mode === 'bulk' ? [] : withPrefix(comparison.accepted(referenceKind), prefix);
  for (const { key, old, new: now } of pairsOf(accepted, rows)) {
    await breathe();
    const value = now === undefined ? old?.value : holding(now.rows as [string, number][]);
    const [text, isActive] = value as [string, number];
    comparison.state.add(stateLine(referenceKind, `${prefix}${key}`, value));
    known.names.set(key, text);
    if (isActive === 0 || text === '' || text === ambiguous) continue;
    const owner = known.owners.get(text);
    if (owner === undefined) known.owners.set(text, key);
    else if (owner !== key) known.shared.set(text, '');
  }
};

const holding = (rows: [string, number][]): [string, number] => {
  const [first = ['', 0]] = rows;
  const isActive = Math.max(...rows.map(([, active]) => active));
  return [rows.some(([text]) => text !== first[0]) ? ambiguous : first[0], isActive];
};

function* withPrefix(entries: Iterable<Entry>, prefix: string): Generator<Entry> {
  for (const { key, value } of entries)
    if (key.startsWith(prefix)) yield { key: key.slice(prefix.length), value };
}

const resolved = (id: string, file: ReferenceFile, { names, shared }: Known): Cell<string> => {
  const value = names.get(id);
  if (value === undefined) return { problem: `names no row of ${file.name}.csv` };
  if (value === '') return { problem: `its row of ${file.name}.csv has no ${file.column}` };
  if (value === ambiguous) return { problem: `two rows of ${file.name}.csv have this sourcedId` };
  if (shared.get(value) !== undefined)
    return { problem: `two rows of ${file.name}.csv have the ${file.column} of this one` };
  return { value };
};
