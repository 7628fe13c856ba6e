import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Checkpoint, checkpointSchema, type ExportRequest, newCheckpoint } from './export-checkpoint.ts';
import { carryOn, type ExportServices } from './export-run.ts';

/** What came of one invocation. */
export type ExportAnswer = {
  /** `busy`: another invocation is at work on it; `idle`: there is no unfinished run to go on with. */
  state: 'finished' | 'unfinished' | 'busy' | 'idle';
  /** In words, with what has to be done next. */
  message: string;
  runId?: string;
  /** Where its files lie. */
  files?: string;
  manifest?: string;
  orgUnits?: OrgUnitCounts;
};

/** `incomplete`: something of them failed; the manifest says what, and why. */
type OrgUnitCounts = { wanted: number; handled: number; incomplete: number };

/**
 * Exports what is asked for, or goes on with it where an earlier invocation has begun; `unfinished`: goes on with
 * whatever has been begun, the oldest first.
 */
export const runExport = async (
  wanted: ExportRequest | 'unfinished',
  services: ExportServices,
  deadlineMs: number,
): Promise<ExportAnswer> => {
  const { store, limits, nowMs } = services;
  const begun = await unfinishedRuns(services);
  const candidates = begun.filter(
    ({ request }) => wanted === 'unfinished' || isDeepStrictEqual(request, wanted),
  );
  const free = candidates.find(({ leaseMs }) => leaseMs <= nowMs());
  if (free) return carry(free, services, deadlineMs);
  const [busy] = candidates;
  if (busy)
    return {
      state: 'busy',
      message: `Another invocation is at work on it, until ${new Date(busy.leaseMs).toISOString()} at the latest.`,
      runId: busy.runId,
      files: store.addressOf(`${limits.prefix}${busy.runId}/`),
    };
  if (wanted === 'unfinished') return { state: 'idle', message: 'There is no unfinished run.' };
  return carry(newCheckpoint(wanted, { runId: runIdAt(nowMs()), nowMs: nowMs() }), services, deadlineMs);
};

/** They sort as they began. */
const runIdAt = (nowMs: number): string =>
  `${new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(4).toString('hex')}`;

const folderOf = (prefix: string): string => `${prefix}unfinished/`;

const unfinishedRuns = async ({ store, observe, limits }: ExportServices): Promise<Checkpoint[]> => {
  const runs: Checkpoint[] = [];
  for (const key of await store.list(folderOf(limits.prefix))) {
    const parsed = checkpointSchema.safeParse(await store.readJson(key));
    if (parsed.success) runs.push(parsed.data);
    // One of another version of this code, or gone since it was listed.
    else
      observe.warn('a checkpoint of a course export cannot be read: its run is left alone', { reason: key });
  }
  return runs;
};

const carry = async (
  checkpoint: Checkpoint,
  services: ExportServices,
  deadlineMs: number,
): Promise<ExportAnswer> => {
  const { store, observe, limits, nowMs } = services;
  const { runId } = checkpoint;
  const key = `${folderOf(limits.prefix)}${runId}.json`;
  const files = `${limits.prefix}${runId}/`;
  const about = { runId, files: store.addressOf(files) };
  const reason = await carryOn(checkpoint, { key, deadlineMs }, services);
  const orgUnits = countsOf(checkpoint);
  const { wanted, handled, incomplete } = orgUnits;
  if (reason !== undefined) {
    observe.warn(`the course export ${runId} is unfinished: ${reason}`, { count: handled });
    const message = `${handled} of ${wanted} org units are done: ${reason}. The next invocation goes on.`;
    return { state: 'unfinished', message, ...about, orgUnits };
  }
  const manifest = `${files}manifest.json`;
  await store.writeJson(manifest, manifestOf(checkpoint, nowMs()));
  await store.remove(key);
  if (incomplete > 0) observe.warn(`the course export ${runId} is incomplete`, { count: incomplete });
  else observe.info(`the course export ${runId} is complete`, { count: wanted });
  const message = `${wanted - incomplete} of ${wanted} org units are complete.`;
  return { state: 'finished', message, ...about, manifest: store.addressOf(manifest), orgUnits };
};

const countsOf = ({ orgUnitIds = [], next, again, failures }: Checkpoint): OrgUnitCounts => ({
  wanted: orgUnitIds.length,
  handled: next - again.length,
  incomplete: new Set(failures.flatMap(({ files }) => files.map((file) => /\/(\d+)/.exec(file)?.[1]))).size,
});

const manifestOf = (checkpoint: Checkpoint, nowMs: number) => {
  const { runId, request, startedAt, counts, failures } = checkpoint;
  const finishedAt = new Date(nowMs).toISOString();
  const orgUnits = countsOf(checkpoint);
  const sorted = failures.map(({ files, ...failure }) => ({ ...failure, files: files.toSorted() }));
  return { runId, startedAt, finishedAt, request, orgUnits, parts: counts, failures: sorted };
};
