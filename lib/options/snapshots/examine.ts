import { hash } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { crosswalkKinds } from '../../crosswalk/kinds.ts';
import type { Integration } from '../../delivery/handle/integration.ts';
import { problemsText } from '../../message/failure.ts';
import { draftOf } from '../../message/message.ts';
import { maxMessageBytes, sqsProblem } from '../../message/sqs-limits.ts';
import { problemsIn } from '../../platform/client/failure-of.ts';
import { inFolder } from '../../runtime/files/folder.ts';
import { openSqlEngine, type SqlEngine, SqlEngineTooSlowError } from '../../runtime/files/tables/engine.ts';
import { UnusableFile } from '../../runtime/files/tables/unusable-file.ts';
import { type ComparisonResult, compareOneRoster } from './compare/compare.ts';
import { type Comparison, type EventCheck, noCounts } from './compare/comparison.ts';
import { loadKnownNames } from './compare/filled-names.ts';
import { createGrades } from './compare/grades.ts';
import { compareMapped } from './compare/mapped.ts';
import { loadOthers, roleOrderIn } from './compare/others.ts';
import { reasonsOfAge, reasonsOfFeed, reasonsOfNames } from './compare/reasons.ts';
import { type RemovedNames, removedNamesIn } from './compare/sample.ts';
import { constants } from './compare/statements.ts';
import { createTables } from './compare/wanted.ts';
import { emptyPackage, emptyTable, endingIn, endingText, settingsThen } from './ending.ts';
import { feedFor, feedOf, fileNameOf, isTable, zipFeed } from './feed.ts';
import { mappingFor } from './package/mapping-file.ts';
import { openExport } from './package/oneroster-export.ts';
import { settingsIn, settingsKey, snapshotSettings } from './package/settings-file.ts';
import { createProgress, type OnProgress, type Progress } from './progress.ts';
import { refusalsIn, writeReport } from './report.ts';
import type { SnapshotServices } from './snapshot-services.ts';
import { loadState } from './state/accepted.ts';
import { lastAccepted, lastSentMs, othersNow } from './state/accepted-snapshot.ts';
import { createPackedLines } from './state/packed-lines.ts';
import { reassignedKeyOf } from './state/reassigned-names.ts';
import {
  type AcceptedSnapshot,
  acceptedKeyOf,
  acceptedSnapshot,
  changesKey,
  droppedMsOf,
  partsKey,
  recordKey,
  reportKey,
  type SnapshotRecord,
  snapshotRecord,
  stateKey,
} from './state/record.ts';
import type { ComparisonStore, SourceFile } from './state/store.ts';
import { missingBefore } from './state/unaccepted.ts';
import { UnusableSnapshot } from './unusable.ts';

type Services = Pick<SnapshotServices, 'integrations'> & {
  store: ComparisonStore;
  limits: Pick<SnapshotServices['limits'], 'eventsPerPart' | 'compareMs'>;
  onProgress?: OnProgress;
  isTrial?: boolean;
  takeSample?: Comparison['takeSample'];
  /** Receives whom it removes; undefined: nobody looks at it. */
  takeRemoved?(removed: RemovedNames): void;
  /** Called with the snapshot's id once its content is known: what follows may end the process. */
  onId?(id: string): Promise<void>;
};

/** The next action for a snapshot. It is recorded as the result of a step, so it stays small. */
export type ExaminationResult =
  /** There is nothing to do, or nothing more. */
  | { is: 'over'; outcome: string; id?: string; message: string }
  | {
      is: 'to be sent';
      id: string;
      /** Why a person must look at it first. */
      reasons: string[];
      parts: number;
      /** The snapshot that it was compared with; undefined: none was accepted before. */
      against?: string | undefined;
      accepted: AcceptedSnapshot;
      /** What else was accepted then: if that changes before this is sent, it is compared again. */
      others: string;
    };

/**
 * Ids sort by the time when the files were put into the bucket. Files of two feeds may have the same content, so the mark includes the
 * feed.
 */
export const idOf = (file: SourceFile, sha256: string): string => {
  const feed = feedOf(file);
  const { droppedMs } = file;
  const mark = feed === zipFeed ? sha256 : hash('sha256', `${feed}\n${sha256}`);
  return `${new Date(droppedMs).toISOString().replace(/[-:]|\.\d+/g, '')}-${mark.slice(0, 8)}`;
};

const putTimeOf = (id: string): string => id.slice(0, 16);

/** Compares the file with the last accepted one, and stores the events to send. */
export const examine = (
  file: SourceFile,
  { services, startedAt }: { services: Services; startedAt: string },
): Promise<ExaminationResult> =>
  inFolder(async (folder) => {
    const { store } = services;
    const path = join(folder, 'dropped');
    const last = await lastAccepted(store, feedOf(file));
    if (file.isEnd && last === undefined)
      return { is: 'over', outcome: 'known', message: `No ${feedOf(file)} is accepted.` };
    const sha256 = await downloadAndHash(file, { last, store, path }).catch(async (error: unknown) => {
      if (!(error instanceof UnusableFile)) throw error;
      return error;
    });
    if (sha256 instanceof UnusableFile) {
      const id = idOf(file, hash('sha256', file.etag));
      await end(store, { ...newRecord(file, { id, startedAt }), state: 'failed', why: sha256.message });
      return { is: 'over', outcome: 'failed', id, message: sha256.message };
    }
    if (sha256 === undefined)
      return {
        is: 'over',
        outcome: 'replaced',
        message:
          file.versionId === undefined
            ? 'The file was replaced in the meantime. The new file is imported by itself.'
            : 'This version of the file was deleted in the meantime.',
      };
    const id = idOf(file, sha256);
    await services.onId?.(id);
    const before = snapshotRecord.safeParse(await store.readJsonIfAny(recordKey(id))).data;
    const done = before && overBefore(before, id);
    if (done) return done;
    const record = newRecord(file, { id, startedAt });
    if (last !== undefined && putTimeOf(id) < putTimeOf(last.id)) {
      await end(store, {
        ...record,
        state: 'superseded',
        why: `${last.id} was put into the bucket later, and is accepted already`,
      });
      return {
        is: 'over',
        outcome: 'superseded',
        id,
        message: 'A snapshot that was put into the bucket later is accepted already.',
      };
    }
    if (before?.sendingAt !== undefined && last?.id !== id) return await resumed(before, last, store);
    await store.writeJson(recordKey(id), record);
    try {
      return await compare(path, { folder, record, last, dropped: file, services });
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      await end(store, { ...record, state: 'failed', why: error.message });
      return { is: 'over', outcome: 'failed', id, message: error.message };
    }
  });

type ToRead = { last: AcceptedSnapshot | undefined; store: ComparisonStore; path: string };

/** The SHA-256 of its content; undefined: it was replaced or deleted since. The end of a feed has what was accepted for its content. */
const downloadAndHash = async (
  file: SourceFile,
  { last, store, path }: ToRead,
): Promise<string | undefined> => {
  if (!file.isEnd || last === undefined) return store.download(file, path);
  await writeFile(path, '');
  return hash('sha256', `end of ${last.id}`);
};

/** Of a file whose comparison begins. */
export const newRecord = (
  file: SourceFile,
  { id, startedAt }: { id: string; startedAt: string },
): SnapshotRecord => {
  const { key, versionId, droppedMs } = file;
  return {
    id,
    key,
    feed: feedOf(file),
    ...(versionId !== undefined && { versionId }),
    state: 'comparing',
    startedAt,
    droppedAt: new Date(droppedMs).toISOString(),
    counts: noCounts(),
    byKind: {},
    sent: 0,
    of: 0,
  };
};

const end = (store: ComparisonStore, record: SnapshotRecord): Promise<void> =>
  store.writeJson(recordKey(record.id), { ...record, endedAt: new Date().toISOString() });

/** A notice may come twice, and a person may ask again. */
const overBefore = ({ state }: SnapshotRecord, id: string): ExaminationResult | undefined =>
  state === 'accepted' || state === 'rejected' || state === 'superseded'
    ? { is: 'over', outcome: 'known', id, message: `The snapshot was imported already, and is ${state}.` }
    : undefined;

const plan = z.object({
  parts: z.array(z.object({ bytes: z.number(), lines: z.number() })),
  accepted: acceptedSnapshot,
});
export type Plan = z.output<typeof plan>;

export const planOf = async (store: ComparisonStore, id: string): Promise<Plan> =>
  plan.parse(await store.readJson(partsKey(id)));

/** Its events may be on their queues already: what is sent now must be the same. */
const resumed = async (
  { id }: SnapshotRecord,
  last: AcceptedSnapshot | undefined,
  store: ComparisonStore,
): Promise<ExaminationResult> => {
  const { parts, accepted } = await planOf(store, id);
  return { is: 'to be sent', id, reasons: [], parts: parts.length, against: last?.id, accepted, others: '' };
};

type CompareOptions = {
  folder: string;
  record: SnapshotRecord;
  last: AcceptedSnapshot | undefined;
  dropped: SourceFile;
  services: Services;
};

/** Less than an invocation lasts. */
const compareMs = 840_000;
/** The process needs half as much again beside it. */
const memoryMb = 288;

const compare = async (path: string, given: CompareOptions): Promise<ExaminationResult> => {
  const { folder, last, services } = given;
  const { store } = services;
  // Without it everything would be sent again, and nothing removed.
  if (last !== undefined && (await store.etagOf(stateKey(last.id))) === undefined)
    throw new UnusableSnapshot(
      `The bucket no longer has the state of ${last.id}, the last accepted snapshot. Restore the object ${stateKey(last.id)} from an earlier version`,
    );
  // A second thread costs more than it saves if there is little to do.
  const threads = (await stat(path)).size < 4_000_000 ? 1 : 2;
  const progress = createProgress(services.onProgress, usualStatements);
  using db = await openSqlEngine({
    folder,
    threads,
    memoryMb,
    totalMs: services.limits.compareMs ?? compareMs,
    onRun: progress.onRun,
  });
  try {
    return await compareWith(db, path, { ...given, progress });
  } catch (error) {
    // Another attempt would take as long.
    if (!(error instanceof SqlEngineTooSlowError)) throw error;
    throw new UnusableSnapshot(
      `${error.message}. Nothing was sent. Put an export with fewer rows into the bucket`,
      {
        cause: error,
      },
    );
  }
};

/** Approximate number of statements in a comparison of a OneRoster export. */
const usualStatements = 40;

const compareWith = async (
  db: SqlEngine,
  path: string,
  given: CompareOptions & { progress: Progress },
): Promise<ExaminationResult> => {
  const { folder, record, last, dropped: file, services, progress } = given;
  const { store } = services;
  const { id } = record;
  const at = (name: string): string => join(folder, name);
  const settings = await settingsOf(store);
  const feed = feedOf(file);
  const [lastMs, others] = [await lastSentMs(store), await othersNow(store, feed)];
  await using changes = await createPackedLines(at('changes'), services.limits.eventsPerPart);
  const comparison = newComparison(given, { db, changes, settings, lastMs });
  await prepareTables(comparison);
  const packed = last && (await store.open(stateKey(last.id)));
  await loadState(comparison, { path: at('state-before'), packed });
  await loadKnownNames(crosswalkKinds, comparison);
  await loadOthers(comparison);
  await createGrades(comparison);
  const outcome = await outcomeOf({ path, ...file }, { comparison, last, services, progress });
  const { counts, byKind, removals, lostColumns, unknownRoles } = outcome;
  services.takeRemoved?.(await removedNamesIn(db));
  const ending = file.isEnd && (await endingIn(comparison));
  const reasons = ending
    ? [endingText(feed, ending)]
    : [
        ...outcome.reasons,
        ...(await reasonsOfAge(comparison, last)),
        ...reasonsOfNames(comparison),
        ...(await reasonsOfFeed(comparison, settings.feeds)),
      ];
  if (outcome.isDelta) await reportMissing(file, comparison);
  const accepted = acceptedOf(outcome, comparison, last);
  await writeReport(db, at('report.csv'));
  const refusals = await refusalsIn(db);
  const parts = await changes.end();
  if (comparison.passedNames) await store.writeJson(reassignedKeyOf(feed), comparison.passedNames);
  // The record last: a reader of the record finds the other objects.
  await store.uploadFile(reportKey(id), at('report.csv'), 'text/csv');
  await store.uploadFile(changesKey(id), at('changes'), 'application/gzip');
  await store.uploadFile(stateKey(id), at('state'), 'application/vnd.apache.parquet');
  await store.writeJson(partsKey(id), { parts, accepted } satisfies Plan);
  await store.writeJson(recordKey(id), {
    ...record,
    counts,
    byKind,
    of: parts.reduce((sum, { lines }) => sum + lines, 0),
    ...(removals && { removals }),
    ...(ending && { ending }),
    ...(lostColumns && { lostColumns }),
    ...(Object.keys(comparison.rows).length > 0 && { rows: comparison.rows }),
    ...(comparison.excluded.length > 0 && { excluded: comparison.excluded }),
    ...(refusals.length > 0 && { refusals }),
    ...(unknownRoles.size > 0 && { unknownRoles: [...unknownRoles] }),
    ...(reasons.length > 0 && { why: reasons.join('; ') }),
  } satisfies SnapshotRecord);
  return { is: 'to be sent', id, reasons, parts: parts.length, against: last?.id, accepted, others };
};

type ComparisonStart = Pick<Comparison, 'db' | 'changes' | 'settings'> & {
  /** The latest time of a message that was sent for anything that is accepted. */
  lastMs: number;
};

const noEffects = { accepted: 0, ended: 0, changed: 0 };

const newComparison = (
  { folder, record, last, dropped: file, services }: CompareOptions,
  { db, changes, settings, lastMs }: ComparisonStart,
): Comparison => {
  const feed = feedOf(file);
  // If other feeds were accepted meanwhile, what is sent must be later than theirs.
  const droppedMs = file.droppedMs < lastMs ? lastMs + 1_000 : file.droppedMs;
  return {
    folder,
    snapshotId: record.id,
    feed,
    droppedMs,
    number: last?.number ?? 0,
    db,
    store: services.store,
    // Ids have no milliseconds.
    lastDroppedMs: lastMs === 0 ? 0 : lastMs + 999,
    changes,
    byKind: {},
    rows: {},
    acceptedCounts: {},
    movedCounts: {},
    changedCounts: {},
    settings: file.isEnd && last && !isTable(file.key) ? settingsThen(settings, last) : settings,
    check: eventCheck(services.integrations, droppedMs),
    hasBefore: last !== undefined,
    isOf10: last !== undefined && last.contents === undefined,
    lastRoleOrder: last?.roleOrder ?? [],
    acceptedKey: acceptedKeyOf(feed),
    effects: { ...noEffects, ofFeed: noEffects },
    isEnd: file.isEnd ?? false,
    others: [],
    heldBack: {},
    nameMoves: { names: 0, claims: 0, people: 0, orgUnits: 0 },
    saidMs: undefined,
    passedNames: undefined,
    excluded: [],
    stateBefore: last && stateKey(last.id),
    isTableOfChanges: false,
    isDeclared: feed !== feedFor(file.key) || Object.hasOwn(settings.feeds, feed),
    isTrial: services.isTrial ?? false,
    takeSample: services.takeSample,
  };
};

/** Reports the files of this feed whose changes a delta lacks. */
const reportMissing = async (
  { key, droppedMs, sequencer }: SourceFile,
  { db, store, snapshotId: id, feed, isTrial }: Comparison,
): Promise<void> => {
  const putAt = new Date(droppedMs).toISOString();
  for (const name of await missingBefore(store, { id, feed, putAt, sequencer, isTrial }))
    await db.run('INSERT INTO problems (file, problem, is_refusal) VALUES ($1, $2, false)', [
      isTable(key) ? fileNameOf(key) : 'manifest.csv',
      `the changes of ${name}, which was not accepted, are missing. Put ${isTable(key) ? 'them' : 'a bulk export'} into the bucket`,
    ]);
};

const acceptedOf = (
  outcome: ComparisonResult,
  comparison: Comparison,
  last: AcceptedSnapshot | undefined,
): AcceptedSnapshot => {
  const { snapshotId: id, number, settings, droppedMs, isEnd } = comparison;
  const { columns, by } = outcome;
  return {
    id,
    number: number + 1,
    columns,
    by,
    holds: 'tables',
    ...(droppedMs > droppedMsOf(id) + 999 && { sentMs: droppedMs }),
    roleOrder: roleOrderIn(settings),
    ...saidIn(comparison, last),
    contents: [...(last?.contents ?? []).filter((each) => each !== id), id].slice(-maxContents),
    ...(isWholeExport(outcome, comparison, last) && { isWhole: true as const }),
    ...heldBackIn(comparison, last),
    ...(isEnd && { isEnd: true as const }),
  };
};

const prepareTables = async ({ db, droppedMs, number, isOf10 }: Comparison): Promise<void> => {
  await createTables(db);
  await db.run(constants({ dropped_ms: droppedMs, snapshot_number: number, is_state_of_10: isOf10 }));
};

/** Together with what was held back before, by what is still accepted. */
const heldBackIn = (
  { others, heldBack }: Comparison,
  last: AcceptedSnapshot | undefined,
): Pick<AcceptedSnapshot, 'heldBack'> => {
  const counts = others.map(({ id }) => [id, (last?.heldBack?.[id] ?? 0) + (heldBack[id] ?? 0)] as const);
  const some = counts.filter(([, count]) => count > 0);
  return some.length === 0 ? {} : { heldBack: Object.fromEntries(some) };
};

/** Three months of nights. */
const maxContents = 100;

const saidIn = (
  { saidMs }: Comparison,
  last: AcceptedSnapshot | undefined,
): Pick<AcceptedSnapshot, 'saidMs'> => {
  const latest = Math.max(saidMs ?? 0, last?.saidMs ?? 0);
  return latest === 0 ? {} : { saidMs: latest };
};

/** Whether it has each file that was ever accepted, and all of them are bulk. */
const isWholeExport = (
  { isDelta }: ComparisonResult,
  { rows, feed }: Comparison,
  last: AcceptedSnapshot | undefined,
): boolean =>
  !isDelta &&
  (isTable(feed) || Object.keys(last?.columns ?? {}).every((name) => rows[`${name}.csv`] !== undefined));

type ComparisonContext = {
  comparison: Comparison;
  last: AcceptedSnapshot | undefined;
  services: Services;
  progress: Progress;
};

const outcomeOf = async (
  { path, key, isEnd }: Pick<SourceFile, 'key' | 'isEnd'> & { path: string },
  { comparison, last, services, progress }: ComparisonContext,
): Promise<ComparisonResult> => {
  const { folder, settings } = comparison;
  const ended = isEnd ? last : undefined;
  if (isTable(key)) {
    const { functions } = settings;
    const mapping = ended
      ? await emptyTable(path, ended)
      : await mappingFor(comparison.feed, { ...services, functions });
    return await compareMapped({ path, file: fileNameOf(key), mapping, ...services }, comparison, last);
  }
  const opened = ended
    ? emptyPackage(folder, ended, settings)
    : await openExport(path, folder, { onRead: progress.onRead, cells: settings.cells });
  return await compareOneRoster(opened, comparison, last).finally(() => opened.close());
};

const settingsOf = async (store: ComparisonStore) => {
  const text = await store.textIfAny(settingsKey);
  if (text === undefined) return snapshotSettings.parse({});
  const read = settingsIn(text);
  if ('problem' in read) throw new UnusableSnapshot(`${settingsKey} in the bucket ${read.problem}`);
  return read.settings;
};

const eventCheck =
  (integrations: ReadonlyMap<string, Integration<unknown>>, droppedMs: number): EventCheck =>
  (functionName, body) => {
    const integration = integrations.get(functionName);
    if (integration === undefined) return `there is no function ${functionName}`;
    try {
      draftOf(body, integration, droppedMs);
    } catch (error) {
      return problemsText(problemsIn(error));
    }
    return sqsProblem({ body, attributes: {} }, maxMessageBytes - 1_024);
  };
