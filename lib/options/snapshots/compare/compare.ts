import { kindWords } from '../kind-words.ts';
import { type FileName, fileNames, type Modes } from '../package/manifest.ts';
import type { OneRosterExport } from '../package/oneroster-export.ts';
import type { FilesRead } from '../package/reading.ts';
import { mostlyRefused } from '../package/rows.ts';
import { userField } from '../package/settings-file.ts';
import type { FileRead } from '../state/accepted.ts';
import type { Counts, SnapshotRecord } from '../state/record.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { type Comparison, noCounts } from './comparison.ts';
import { compareExport, type UnknownRoles } from './oneroster.ts';

/** Facts of the last accepted snapshot, beside its state. */
export type LastAccepted = {
  /** By file, over all accepted snapshots. */
  columns: Record<string, string[]>;
  /** The columns that identified classes and users; for a table, the columns that identified its rows. */
  by: string;
};

export type ComparisonResult = Pick<SnapshotRecord, 'counts' | 'byKind' | 'removals' | 'lostColumns'> & {
  /** Why a person must look at it before anything is sent. */
  reasons: string[];
  columns: Record<string, string[]>;
  by: string;
  unknownRoles: UnknownRoles;
  /** Some file has only what changed. */
  isDelta: boolean;
};

/**
 * Compares an export of OneRoster with the last accepted one.
 * @throws UnusableSnapshot
 */
export const compareOneRoster = async (
  given: OneRosterExport,
  comparison: Comparison,
  last: LastAccepted | undefined,
): Promise<ComparisonResult> => {
  const { settings } = comparison;
  const { modes } = given;
  if (Object.keys(settings.roles).length === 0)
    throw new UnusableSnapshot(
      'snapshot-settings.json in the bucket has no roles. Add `roles`, which give each role of the SIS its id on the platform',
    );
  const delta = fileNames.find((name) => modes[name] === 'delta');
  if (last === undefined && delta !== undefined)
    throw new UnusableSnapshot(
      `${delta}.csv is a delta, but no export was accepted before. First put an export into the bucket whose files are all bulk`,
    );
  const by = JSON.stringify([settings.orgUnitCode, settings.user.field, settings.user.column]);
  if (last !== undefined && last.by !== by && [modes.classes, modes.users].some((mode) => mode !== 'bulk'))
    throw new UnusableSnapshot(
      'snapshot-settings.json names other columns than when the last snapshot was accepted. Put an export into the bucket whose classes.csv and users.csv are bulk',
    );
  const lastField =
    last === undefined ? settings.user.field : userField.parse((JSON.parse(last.by) as unknown[])[1]);
  const { read, unknownRoles } = await compareExport(given, comparison, { lastField });
  // A later empty one waits for a person, as everything would be removed.
  if (last === undefined && Object.values(read).every(({ rows }) => rows === 0))
    throw new UnusableSnapshot(
      `The zip has no rows, as ${Object.keys(read)
        .map((name) => `${name}.csv`)
        .join(', ')} have only headers. Export it again, with its rows`,
    );
  return { ...judge({ read, modes }, comparison, last), by, unknownRoles, isDelta: delta !== undefined };
};

type JudgeOptions = { read: FilesRead; modes: Modes };

/** The first snapshot cannot lack anything. */
const judge = (
  { read, modes }: JudgeOptions,
  comparison: Comparison,
  last: LastAccepted | undefined,
): Omit<ComparisonResult, 'by' | 'unknownRoles' | 'isDelta'> => {
  const present = fileNames.filter((name) => modes[name] !== 'absent');
  const { reasons, ...columns } = columnsOf(
    present.map((name) => {
      const { columns = [], rows = 0, used = new Set<string>() } = read[name] ?? {};
      const isWhole = modes[name] === 'bulk';
      const had = hadRows(name, comparison, last);
      return { name, file: `${name}.csv`, columns, rows, used, isWhole, hadRows: had };
    }),
    last,
  );
  // An export of changes leaves out files without changes.
  if (!present.some((name) => modes[name] === 'delta'))
    for (const name of Object.keys(last?.columns ?? {}))
      if (!(present as string[]).includes(name))
        reasons.push(`${name}.csv is missing; an accepted snapshot had it`);
  return { ...totals(comparison), ...columns, ...withRemovals(comparison, last === undefined, reasons) };
};

type ReadFile = FileRead & {
  name: string;
  file: string;
  isWhole: boolean;
  /** The last accepted snapshot had rows of it: a term begins without results, which needs no person. */
  hadRows: boolean;
};

/** The columns of files before and now, and the reasons for a person to look if a file lost what the import reads. */
export const columnsOf = (
  files: ReadFile[],
  last: LastAccepted | undefined,
): Pick<ComparisonResult, 'columns' | 'lostColumns' | 'reasons'> => {
  const columns = { ...last?.columns };
  const lostColumns: NonNullable<SnapshotRecord['lostColumns']> = [];
  const reasons: string[] = [];
  for (const { name, file, rows, used, isWhole, hadRows, ...read } of files) {
    const now = read.columns.map((column) => column.toLowerCase());
    const before = columns[name];
    const lost = (before ?? []).filter((column) => !now.includes(column));
    if (lost.length > 0) lostColumns.push({ file, columns: lost });
    const needed = lost.filter((column) => used.has(column));
    if (needed.length > 0) reasons.push(`${file} has lost ${needed.length} of the columns that are read`);
    if (rows === 0 && isWhole && hadRows) reasons.push(`${file} has no rows`);
    columns[name] = now;
  }
  return { columns, reasons, ...(lostColumns.length > 0 && { lostColumns }) };
};

const hadRows = (name: FileName, { acceptedCounts }: Comparison, last: LastAccepted | undefined): boolean =>
  name === 'classes' || name === 'users'
    ? last?.columns[name] !== undefined
    : (acceptedCounts[name] ?? 0) > 0;

/** Fewer changes of roles or grades need no approval: two of five grades may be corrected in a night. */
const minChanges = 10;

/** How many of a kind something happens to. */
type Part = {
  kind: string;
  count: number;
  of: number;
  /** They are of this feed alone, and not of all. */
  feed?: string;
};

const isOfEnrollments = (kind: string): boolean => kind === 'enrollments' || kind.startsWith('enrollment-');

/**
 * Why a person must look before this is sent, beside the given reasons: too much ends, moves or changes on the platform. The share is that
 * of what was accepted of this feed: a small feed may lose all its rows, which are few of all. What it does to enrollments of other feeds
 * counts by what all accepted files want, from the first file on.
 */
export const withRemovals = (
  comparison: Comparison,
  isFirst: boolean,
  given: string[],
): Pick<ComparisonResult, 'reasons' | 'removals'> => {
  const { byKind, acceptedCounts, movedCounts, changedCounts, effects, settings, isTableOfChanges } =
    comparison;
  const unread = mostlyRefused(comparison, minChanges);
  // The first file cannot lack anything.
  const reasons = [...(isFirst ? [] : given), ...(unread === undefined ? [] : [unread])];
  const limit = settings.maxRemovalsPercent;
  const percentOf = ({ count, of }: Part, atLeast: number): number =>
    count < atLeast ? 0 : (100 * count) / Math.max(of, 1);
  const addReason = ({ kind, count, of, feed }: Part, what: string): number =>
    reasons.push(
      `${count} of ${of} ${kindWords(kind)}${feed === undefined ? '' : ` of ${feed}`} would ${what}`,
    );
  /** Of a kind that no other feed weighs. */
  const own = (kind: string, count: number): Part => ({ kind, count, of: acceptedCounts[kind] ?? 0 });
  /** Of all feeds or of this one: the larger share. */
  const ofEnrollments = (what: 'ended' | 'changed', atLeast: number): Part => {
    const all: Part = { kind: 'enrollments', count: effects[what], of: effects.accepted };
    const { [what]: count, accepted: of } = effects.ofFeed;
    const ofFeed: Part = { kind: 'enrollments', count, of, feed: comparison.feed };
    return percentOf(ofFeed, atLeast) > percentOf(all, atLeast) ? ofFeed : all;
  };
  // What rows state is no sign of a file that is cut off.
  const minEnded = isTableOfChanges ? minChanges : 0;
  const kinds = Object.entries(byKind);
  const endings = [
    ...(kinds.some(([kind]) => isOfEnrollments(kind)) ? [ofEnrollments('ended', minEnded)] : []),
    ...kinds.flatMap(([kind, { removed }]) => (isOfEnrollments(kind) ? [] : own(kind, removed))),
  ];
  const share = Math.max(0, ...endings.map((each) => percentOf(each, minEnded)));
  for (const each of endings) if (percentOf(each, minEnded) > limit) addReason(each, 'be removed');
  // A column of names that is shifted by a row removes nothing, but moves everything to other users.
  for (const [kind, moved] of Object.entries(movedCounts))
    if (percentOf(own(kind, moved), minEnded) > limit)
      addReason(own(kind, moved), 'move to other users or org units');
  const changes = Object.entries(changedCounts).flatMap(([kind, changed]) =>
    isOfEnrollments(kind) ? [] : own(kind, changed),
  );
  for (const each of [ofEnrollments('changed', minChanges), ...changes])
    if (percentOf(each, minChanges) > settings.maxChangesPercent) addReason(each, 'be changed');
  if (isFirst && effects.ended === 0) return { reasons };
  const [most] = endings.sort((one, other) => percentOf(other, 0) - percentOf(one, 0));
  if (!isTableOfChanges || most === undefined) return { reasons, removals: { share, limit } };
  const { kind, count, of } = most;
  return { reasons, removals: { share, limit, ofChanges: { kind, count, of, atLeast: minEnded } } };
};

export const totals = ({ byKind }: Comparison): Pick<ComparisonResult, 'counts' | 'byKind'> => {
  const counts = noCounts();
  for (const each of Object.values(byKind))
    for (const [name, count] of Object.entries(each) as [keyof Counts, number][])
      counts[name] = (counts[name] ?? 0) + count;
  return { counts, byKind };
};
