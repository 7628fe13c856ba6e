import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Checkpoint, Task } from './export-checkpoint.ts';
import { exportOperations, partsOf } from './export-parts.ts';
import type { ExportStore } from './export-store.ts';
import { createTurns, type TurnLimits, type TurnResult } from './export-turns.ts';
import { dispositions, type Failure, failureOf } from './failure.ts';
import type { Observe } from './observe.ts';
import type { Platform, PlatformClient } from './platform/client.ts';
import { listOrgUnits } from './platform/org-units.ts';

export type ExportServices = {
  platform: PlatformClient;
  store: ExportStore;
  observe: Observe;
  limits: TurnLimits & {
    /** All keys begin with it. */
    prefix: string;
    /** So many org units are exported at once. */
    concurrency: number;
    /** Kept at the end of an invocation for its checkpoint. */
    reserveMs: number;
  };
  nowMs(): number;
};

/** So much of a run can be lost: it is done again. */
const saveEveryMs = 10_000;
/**
 * No queue stands behind an export, so that it waits by itself. That costs as much as to work: for longer than this, the
 * next invocation goes on.
 */
const longestPauseMs = 60_000;
/** A turn that begins with less time left would most likely be cut off. */
const leastTurnMs = 10_000;

const timeIsUp = 'the time of the invocation is up';

/** Carries a run on until it is over or the time is up; why it is not over, or undefined. The checkpoint is kept up to date. */
export const carryOn = async (
  checkpoint: Checkpoint,
  { key, deadlineMs }: { key: string; deadlineMs: number },
  services: ExportServices,
): Promise<string | undefined> => {
  const { store, observe, limits, nowMs } = services;
  const timeMs = Math.max(1, deadlineMs - nowMs());
  const lastBeginMs = deadlineMs - Math.min(leastTurnMs, timeMs / 10);
  const signal = AbortSignal.timeout(timeMs);
  // Every call that is under way listens.
  setMaxListeners(0, signal);
  const platform = services.platform.for({
    actor: undefined,
    operations: exportOperations,
    signal,
    onCall: observe.call,
  });
  // Before anything else: a bucket that cannot be written to fails the invocation, and nobody else begins the same.
  await store.writeJson(key, { ...checkpoint, leaseMs: deadlineMs + limits.reserveMs });
  try {
    checkpoint.orgUnitIds ??= await listCourses(platform, checkpoint);
  } catch (error) {
    const failure = failureOf(error);
    if (dispositions[failure.kind] === 'wait') {
      await store.writeJson(key, { ...checkpoint, leaseMs: 0 });
      return failure.message;
    }
    // It would be refused again, and without a list there is nothing to go on with.
    await store.remove(key);
    if (failure.kind === 'defect') throw error;
    throw new Error(`The courses could not be listed: ${failure.message}. ${failure.remedy}`);
  }
  const turns = createTurns(checkpoint, limits);

  let savedMs = 0;
  let saving = Promise.resolve();
  const save = async (leaseMs: number): Promise<void> => {
    savedMs = nowMs();
    saving = saving.catch(() => {}).then(() => store.writeJson(key, turns.snapshot(leaseMs)));
    await saving;
    observe.flush();
  };
  /** One that cannot be written costs nothing but work that is done twice, if at all. */
  const saveNow = (): Promise<void> =>
    save(deadlineMs + limits.reserveMs).catch((error: unknown) =>
      observe.error('the checkpoint of a course export could not be written', {}, error),
    );

  const perform = async (task: Task): Promise<void> => {
    const result = await exportOrgUnit(task, checkpoint, { platform, signal, services });
    turns.end(task, result, nowMs());
  };

  const work = async (): Promise<string | undefined> => {
    for (;;) {
      if (nowMs() >= lastBeginMs) return timeIsUp;
      const turn = turns.take(nowMs());
      if (turn === undefined) return undefined;
      if ('orgUnitId' in turn) {
        if (nowMs() - savedMs >= saveEveryMs) await saveNow();
        await perform(turn);
        continue;
      }
      const pauseMs = turn.untilMs - nowMs();
      if (pauseMs > longestPauseMs || turn.untilMs >= lastBeginMs) return turn.reason;
      await sleep(pauseMs);
    }
  };

  while (nowMs() < lastBeginMs) {
    const suspect = turns.takeSuspect();
    if (suspect === undefined) break;
    await saveNow();
    await perform(suspect);
  }
  const reasons = await Promise.all(Array.from({ length: limits.concurrency }, work));
  await save(0);
  return turns.isOver() ? undefined : (reasons.find((reason) => reason !== undefined) ?? timeIsUp);
};

/**
 * Ids alone: of a hundred thousand courses they are a megabyte. Those of which somebody wants details are among them, as
 * a course that is gone would else be left out without a word.
 */
const listCourses = async (platform: Platform, { request }: Checkpoint): Promise<number[]> => {
  const ids = new Set<number>();
  for await (const { Identifier } of listOrgUnits(platform, { type: request.orgUnitType }))
    ids.add(Number(Identifier));
  for (const id of Object.keys(request.details)) ids.add(Number(id));
  return [...ids];
};

/** Stores one part after the other. What is refused is written down, and what cannot be had now is left, that one last. */
const exportOrgUnit = async (
  { orgUnitId, left }: Task,
  { request, runId }: Checkpoint,
  { platform, signal, services }: { platform: Platform; signal: AbortSignal; services: ExportServices },
): Promise<TurnResult> => {
  const { store, observe, limits } = services;
  const all = partsOf(orgUnitId, request.details[orgUnitId]);
  const parts = left?.flatMap((file) => all.find((part) => part.file === file) ?? []) ?? all;
  const result: TurnResult = { stored: [], failed: [], left: [] };
  for (const [at, part] of parts.entries()) {
    const { file, isOrgUnit } = part;
    const rest = parts.slice(at + 1).map((each) => each.file);
    const items: TurnResult['failed'] = [];
    const refused = (item: string, failure: Failure) => void items.push([`${file} ${item}`, failure]);
    try {
      signal.throwIfAborted();
      const key = `${limits.prefix}${runId}/${file}`;
      result.stored.push([file, await part.store(key, { platform, store, refused })]);
      result.failed.push(...items);
    } catch (error) {
      if (signal.aborted) return { ...result, left: [...rest, file] };
      const failure = failureOf(error);
      if (dispositions[failure.kind] === 'wait') return { ...result, left: [...rest, file], failure };
      if (failure.kind === 'defect') observe.error('a defect of sis-relay', {}, error);
      result.failed.push([file, failure]);
      // Of what does not exist there is nothing to ask.
      if (isOrgUnit && failure.status === 404) return result;
    }
  }
  return result;
};
