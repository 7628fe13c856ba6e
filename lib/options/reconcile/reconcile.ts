import * as z from 'zod';
import type { Crosswalk } from '../../crosswalk/look-up.ts';
import { waitSeconds } from '../../message/backoff.ts';
import { safe } from '../../message/safe-text.ts';
import type { ReadAcceptedExports } from '../../option.ts';
import { bulkPlatform } from '../../runtime/jobs/bulk-platform.ts';
import type { Job } from '../../runtime/jobs/engine.ts';
import { enoughTime, inSteps, timeLeft } from '../../runtime/jobs/in-steps.ts';
import { type JobRun, jobOf } from '../../runtime/jobs/job.ts';
import type { JobServices } from '../../runtime/jobs/job-services.ts';
import { waitForOlderExecutions } from '../../runtime/jobs/older-executions.ts';
import { logText } from '../../runtime/privacy/log-text.ts';
import { reconcileOperations } from './check.ts';
import {
  type ChoiceServices,
  type ChosenFrom,
  chooseWrites,
  type Segment,
  segments,
} from './choose-writes.ts';
import { faultClasses } from './classes.ts';
import { chooseEnrollments, divide, type SnapshotSelection } from './divide.ts';
import {
  addCounts,
  type Counts,
  noCounts,
  type PassResult,
  type PassServices,
  type Progress,
  runPass,
} from './pass.ts';
import { type ReconcileRequest, requestIn } from './reconcile-request.ts';
import type { ReconcileSettings } from './reconcile-settings.ts';
import {
  acceptanceKeyOf,
  acceptedPrefix,
  decidedSchema,
  findingsKey,
  latestKey,
  newRunId,
  type Report,
  reconcilePrefix,
  reportKey,
  reportSchema,
} from './record.ts';
import type { Resend, ResendAnswer } from './resend.ts';
import { noReasons, reasons, type Selection } from './selection.ts';

export type ReconcileServices = PassServices &
  ChoiceServices &
  Pick<JobServices, 'running'> & {
    crosswalk: Crosswalk;
    /** Undefined: no option reads exports of the SIS. */
    readExports: ReadAcceptedExports | undefined;
    resend: Resend;
    /** By then a write in progress has ended, or its message was delivered again. */
    settledMs: number;
    limits: JobServices['limits'] & ReconcileSettings['limits'];
  };

type Run = JobRun<ReconcileServices> & { request: ReconcileRequest };

const dayMs = 24 * 3_600_000;

/** Compares the platform with the ledger and with the SIS' snapshots, and records the differences. It repairs nothing. */
export const reconcileJob = (
  services: () => Promise<ReconcileServices>,
): Job<ReconcileRequest, Report | ResendAnswer> =>
  jobOf<ReconcileRequest, Report | ResendAnswer, ReconcileServices>({
    requestIn,
    services,
    whatOf: ({ resend }) =>
      resend === undefined ? safe`the comparison with the platform` : safe`the resending of findings`,
    executions: () => `${reconcilePrefix}executions/`,
    work: async (request, jobRun) => {
      const { engine, services } = jobRun;
      const { running, limits } = services;
      // Runs beside a comparison, which may take all night, without harm.
      if (request.resend !== undefined) return services.resend(request.resend, engine);
      const run: Run = { ...jobRun, request };
      await waitForOlderExecutions(engine, { running, backoff: limits.backoff });
      await refuseKnown(run);
      const begun = await engine.step('begin', { work: () => begin(run), backoff: limits.backoff });
      jobRun.failed = (error) => tellFailure(run, begun, error);
      return compareAll(run, begun);
    },
  });

/** In a step of its own: `begin` may be repeated, and would take its own report for one of before. @throws Error if the run was there. */
const refuseKnown = async ({ request: { id }, services, step }: Run): Promise<void> => {
  if (id === undefined) return;
  const isKnown = await step(
    'is it new',
    async () => (await services.store.readJsonIfAny(reportKey(id))) !== undefined,
  );
  if (isKnown)
    throw new Error(
      `There is a comparison ${id} already: its report would be overwritten. Pass another id, or none`,
    );
};

const tellFailure = async (run: Run, begun: Begun, error: unknown): Promise<void> => {
  const { observe, store } = run.services;
  observe.count('ReconcileRuns', { outcome: 'failed' }, 1);
  observe.flush();
  // Includes what was found until then.
  const last = reportSchema.safeParse(await store.readJsonIfAny(reportKey(begun.runId))).data;
  const soFar = last ?? reportOf(run, { begun, sum: noCounts() });
  const report: Report = { ...soFar, endedMs: Date.now(), state: 'failed', why: causeOf(error) };
  await store.writeJson(reportKey(report.id), report);
  await store.writeJson(latestKey, { id: report.id });
};

/** The engine wraps the errors of a step. */
const causeOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? logText(cause.message) : 'The log of the function reconcile shows why';
};

type Begun = Selection & { startedMs: number };

/** The share of the sample follows from the ledger's size in the last run; the first run takes all. */
const begin = async (run: Run): Promise<Begun> => {
  const { request, services } = run;
  const { store, limits } = services;
  const startedMs = Date.now();
  const runId = request.id ?? newRunId();
  const latest = (await store.readJsonIfAny(latestKey)) as { id: string } | undefined;
  const before = latest && reportSchema.safeParse(await store.readJsonIfAny(reportKey(latest.id))).data;
  const begun: Begun = {
    startedMs,
    runId,
    nights: limits.nights,
    night: Math.floor(startedMs / dayMs),
    sinceMs: request.whole ? 0 : sinceAfter(before, { startedMs, recentMs: limits.recentMs }),
    share: request.whole ? 1 : shareAfter(before, limits.sampleSize),
  };
  await store.writeJson(reportKey(runId), reportOf(run, { begun, sum: noCounts() }));
  return begun;
};

/** Writes that a missed or short night left unchecked are recent to the next night; for a week at most. */
const sinceAfter = (
  before: Report | undefined,
  { startedMs, recentMs }: { startedMs: number; recentMs: number },
): number => {
  const seenMs =
    before === undefined ? startedMs : before.state === 'whole' ? before.startedMs : before.sinceMs;
  // The previous run did not see what was in progress when it began.
  const overlapMs = Math.max(0, recentMs - dayMs);
  return Math.min(startedMs - recentMs, Math.max(seenMs - overlapMs, startedMs - 7 * dayMs));
};

/** The share of older writes that makes a sample of this size, by the number of writes in the previous run. */
const shareAfter = (before: Report | undefined, sampleSize: number): number => {
  if (before === undefined) return 1;
  const { state, entries, share, sinceMs, tallies } = before;
  // It failed before it had read the ledger.
  if (state === 'failed' && entries === 0) return share;
  // In a run of all writes, all were recent.
  const older = entries - (sinceMs <= 0 ? 0 : tallies.recent.selected);
  return older <= sampleSize ? 1 : sampleSize / older;
};

const compareAll = async (run: Run, begun: Begun): Promise<Report> => {
  const { engine, services, folder } = run;
  const { settledMs, limits } = services;
  const chosen = await chooseAll(run, begun);
  const input = { begun, chosen, sum: noCounts() };
  for (const reason of reasons) input.sum.tallies[reason].selected = chosen.selected[reason];
  const first = await lookAtAll(run, input, {
    name: 'look',
    isLast: false,
    parts: chosen.parts,
    partKey: partKeyIn(folder),
    fromStep: 0,
  });
  let { steps, isWhole } = first;
  const { againKeys } = first;
  if (isWhole && againKeys.length > 0) {
    await engine.wait('until what is in progress is over', settledMs / 1_000);
    const second = await lookAtAll(run, input, {
      name: 'look again',
      isLast: true,
      parts: againKeys.length,
      fromStep: steps,
      partKey: (part) => againKeys[part] ?? '',
    });
    ({ steps, isWhole } = second);
  }
  const end: ReportInput = { ...input, steps, state: isWhole ? 'whole' : 'partial' };
  return engine.step('tell', { work: () => writeReport(run, end), backoff: limits.backoff });
};

const partKeyIn =
  (folder: string) =>
  (part: number): string =>
    `${folder}part-${part}.gz`;

type LookingAt = {
  name: string;
  parts: number;
  partKey(part: number): string;
  isLast: boolean;
  fromStep: number;
};

type LookedAtAll = { steps: number; isWhole: boolean; againKeys: string[] };

const lookAtAll = async (
  run: Run,
  input: ReportInput & { chosen: Selections },
  { name, parts, partKey, isLast, fromStep }: LookingAt,
): Promise<LookedAtAll> => {
  const { engine, services, folder } = run;
  const { backoff, maxRunMs } = services.limits;
  const { begun, sum } = input;
  const roles = new Set(input.chosen.roles);
  const all: LookedAtAll = { steps: fromStep, isWhole: true, againKeys: [] };
  let [unlucky, stuck] = [0, 0];
  if (parts === 0) return all;
  await inSteps<Progress, PassResult | { isOver: true }>(run, {
    name,
    from: { part: 0, group: 0 },
    first: fromStep + 1,
    work: async (from, { at, timeMs }) => {
      if (Date.now() >= begun.startedMs + maxRunMs) return { isOver: true };
      const accepted = await acceptedKeys(services);
      const againKey = (part: number): string => `${folder}again-${at}-${part}.gz`;
      const asked = { from, parts, partKey, againKey, isLast, stuck, roles, accepted, selection: begun };
      const done = await runPass({ ...asked, findingsKey: findingsKey(begun.runId, at), timeMs }, services);
      const now = structuredClone(sum);
      addCounts(now, done);
      const report = reportOf(run, { ...input, sum: now, steps: at });
      await services.store.writeJson(reportKey(report.id), report);
      if (done.waits) services.observe.failed(done.waits.kind);
      services.observe.flush();
      return done;
    },
    next: async (looked, from) => {
      if ('isOver' in looked) {
        all.isWhole = false;
        return undefined;
      }
      all.steps += 1;
      addCounts(sum, looked);
      all.againKeys.push(...looked.againKeys);
      const { next, waits } = looked;
      stuck = next?.part === from.part && next.group === from.group ? stuck + 1 : 0;
      // A run that makes progress need not wait longer each time.
      unlucky = waits ? (stuck > 0 ? unlucky + 1 : 1) : 0;
      if (waits) {
        const { retryAfterSeconds } = waits;
        const seconds = waitSeconds({ receiveCount: unlucky, retryAfterSeconds }, backoff);
        await engine.wait(`until it answers, ${all.steps}`, seconds);
      }
      return next;
    },
  });
  return all;
};

/** What operators have accepted, by `acceptanceKeyOf`. */
const acceptedKeys = async ({ store }: ReconcileServices): Promise<Set<string>> => {
  const keys = await store.keysUnder(acceptedPrefix);
  const all = await Promise.all(
    keys.map(async (key) => {
      const { data, error } = decidedSchema.safeParse(await store.readJson(key));
      if (data === undefined) throw new Error(`${key} is not valid: ${z.prettifyError(error)}`);
      return data;
    }),
  );
  return new Set(all.flatMap(({ findings }) => findings.map(acceptanceKeyOf)));
};

type SelectedKeys = ChosenFrom & { keys: string[] };

type Selections = SnapshotSelection & Pick<ChosenFrom, 'entries' | 'selected'> & { parts: number };

const chooseAll = async (run: Run, selection: Begun): Promise<Selections> => {
  const { engine, services, folder, request } = run;
  const { backoff } = services.limits;
  const keys: string[] = [];
  const selected = noReasons(() => 0);
  let entries = 0;
  await inSteps<Segment[], SelectedKeys>(run, {
    name: 'choose',
    from: Array.from({ length: segments }, (_, segment) => ({ segment })),
    work: async (from, { at, timeMs }) => {
      const keyOf = (segment: number): string => `${folder}chosen-${at}-${segment}.gz`;
      const chosen = await chooseWrites({ from, keyOf, untilMs: Date.now() + timeMs }, selection, services);
      return { ...chosen, keys: from.map(({ segment }) => keyOf(segment)) };
    },
    next: (chosen) => {
      keys.push(...chosen.keys);
      for (const reason of reasons) selected[reason] += chosen.selected[reason];
      entries += chosen.entries;
      return chosen.left.length > 0 ? chosen.left : undefined;
    },
  });
  await enoughTime(run, 'before asking the snapshots');
  const key = `${folder}told.gz`;
  const inSnapshots = await engine.step('ask the snapshots', {
    work: () => {
      const signal = AbortSignal.timeout(timeLeft(run));
      const platform = bulkPlatform(services, { operations: reconcileOperations, signal });
      return chooseEnrollments({ key, isWhole: request.whole }, selection, { ...services, platform });
    },
    backoff,
  });
  keys.push(key);
  selected.snapshot = inSnapshots.enrolled;
  await enoughTime(run, 'before dividing');
  const parts = await engine.step('divide', {
    work: () => divide({ keys, partKey: partKeyIn(folder) }, services.store),
    backoff,
  });
  return { ...inSnapshots, parts, entries, selected };
};

type ReportInput = {
  begun: Begun;
  sum: Counts;
  chosen?: Selections;
  steps?: number;
  /** Default: it runs. */
  state?: Report['state'];
};

const reportOf = (
  { services: { limits } }: Run,
  { begun, sum, chosen, steps = 0, state = 'running' }: ReportInput,
): Report => ({
  id: begun.runId,
  state,
  startedMs: begun.startedMs,
  endedMs: Date.now(),
  sinceMs: begun.sinceMs,
  entries: chosen?.entries ?? 0,
  share: begun.share,
  nights: limits.nights,
  snapshots: chosen?.snapshots ?? [],
  unknown: chosen?.unknown ?? 0,
  parts: steps,
  ...sum,
});

/** Reports the result in the bucket, in metrics and in the log. */
const writeReport = async (run: Run, input: ReportInput): Promise<Report> => {
  const { store, observe } = run.services;
  const report = reportOf(run, input);
  await store.writeJson(reportKey(report.id), report);
  await store.writeJson(latestKey, { id: report.id });
  // An alarm uses them: an accepted difference is no fault.
  for (const [name, count] of Object.entries(report.open))
    observe.count('ReconcileWrites', { class: name }, count);
  const same = reasons.reduce((sum, reason) => sum + report.tallies[reason].byClass.same, 0);
  observe.count('ReconcileWrites', { class: 'same' }, same);
  const faults = faultClasses.reduce((sum, name) => sum + report.open[name], 0);
  if (faults > 0)
    observe.warn(safe`the platform does not hold what was sent (\`sis-relay reconcile show\`)`, {
      count: faults,
    });
  observe.count('ReconcileRuns', { outcome: report.state }, 1);
  observe.flush();
  return report;
};
