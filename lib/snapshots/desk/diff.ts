import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { bucketOf } from '../../deployment/audit-log.ts';
import { RefusedError, UsageError } from '../../deployment/command-errors.ts';
import type { Integrations } from '../../deployment/integrations.ts';
import type { Target } from '../../deployment/target.ts';
import { examine } from '../examine.ts';
import { mappingKeysOf } from '../mapping-file.ts';
import { recordKey, type SnapshotRecord, snapshotRecord } from '../record.ts';
import { isTable, snapshotsPrefix } from '../request.ts';
import { createSnapshotStore, type SnapshotStore } from '../store.ts';
import { firstRows, type RefusedRow } from './read.ts';

/** What a file would change, were it dropped now. */
export type SnapshotDiff = Pick<
  SnapshotRecord,
  'counts' | 'byKind' | 'of' | 'removals' | 'lostColumns' | 'rows' | 'unknownRoles'
> & {
  /** The one that was accepted last; undefined: there is none. */
  against: string | undefined;
  /** Why nothing would be sent before a person agrees. */
  reasons: string[];
  refusedRows: RefusedRow[];
};

/** Nothing is sent by parts. */
const limits = { eventsPerPart: 10_000 };

/** A table is compared with the last one of its name. */
type Compared = {
  file: string;
  /** A mapping on this machine, in place of the one in the bucket. */
  map?: string | undefined;
};

/** Compares as an import does, and keeps nothing. @throws UsageError, RefusedError where the file cannot be compared. */
export const diffSnapshot = async (
  target: Target,
  { file, map }: Compared,
  integrations: Integrations,
): Promise<SnapshotDiff> => {
  for (const each of [file, map]) {
    const found = each === undefined ? undefined : await stat(each).catch(() => undefined);
    if (each !== undefined && !found?.isFile()) throw new UsageError(`There is no file ${each}.`);
  }
  if (map !== undefined && !isTable(file))
    throw new UsageError(`A mapping is for a table, and ${file} is none: its name must end in .csv.`);
  const key = `${snapshotsPrefix}${basename(file)}`;
  const store = createSnapshotStore({ s3: await target.s3(), bucket: await bucketOf(target) });
  const records: SnapshotRecord[] = [];
  let refusedRows: RefusedRow[] = [];
  const local: SnapshotStore = {
    ...store,
    // What lies in the bucket is read; what an import writes there is kept here, or not at all.
    download: async (_, path) => {
      await copyFile(file, path);
      const hash = createHash('sha256');
      for await (const piece of createReadStream(path)) hash.update(piece);
      return hash.digest('hex');
    },
    textIfAny: async (each) =>
      map !== undefined && mappingKeysOf(key).includes(each) ? readFile(map, 'utf8') : store.textIfAny(each),
    writeJson: async (key, value) => {
      const { data } = snapshotRecord.safeParse(value);
      if (data && key === recordKey(data.id)) records.push(data);
    },
    uploadFile: async (key, path) => {
      if (key.endsWith('/report.csv')) refusedRows = await firstRows(createReadStream(path));
    },
  };
  const examined = await examine(
    { key, etag: '', droppedMs: Date.now() },
    { services: { store: local, integrations, limits }, startedAt: new Date().toISOString() },
  );
  const record = records.at(-1);
  if (examined.is === 'over' || record === undefined)
    throw new RefusedError(`${file} cannot be compared: ${'message' in examined ? examined.message : ''}.`);
  const { counts, byKind, of, removals, lostColumns, rows, unknownRoles } = record;
  return {
    ...{ counts, byKind, of, against: examined.against, reasons: examined.reasons, refusedRows },
    ...{ ...(removals && { removals }), ...(lostColumns && { lostColumns }) },
    ...{ ...(rows && { rows }), ...(unknownRoles && { unknownRoles }) },
  };
};
