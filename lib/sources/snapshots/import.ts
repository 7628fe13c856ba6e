import type { Engine, Job } from '../../delivery/durable/job.ts';
import { waitForOlderExecutions } from '../../delivery/durable/older-executions.ts';
import { jobOf } from '../../delivery/durable/run.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { type Examined, examine, lastAccepted, planOf } from './examine.ts';
import { rowsTold } from './package/rows.ts';
import { isSnapshot, keyIn } from './request.ts';
import { sendStretch, stretchesOf } from './send.ts';
import type { SnapshotServices } from './services.ts';
import {
  type AcceptedSnapshot,
  acceptedKeyOf,
  decision,
  recordKey,
  recordsPrefix,
  type SnapshotRecord,
  snapshotRecord,
} from './state/record.ts';
import type { SnapshotStore } from './state/store.ts';

export type ImportAnswer = {
  /** `known`: it was imported before. `replaced`: the key has another file now. `ignored`: it is no snapshot. */
  outcome: string;
  message: string;
  id?: string;
  /** Key of its record. */
  record?: string;
};

const executionsPrefix = `${recordsPrefix}executions/`;

/** Sends what has changed in the SIS since the last accepted snapshot. */
export const importJob = (services: () => Promise<SnapshotServices>): Job<string, ImportAnswer> => {
  const job = jobOf<string, ImportAnswer, SnapshotServices>({
    ...{ requestIn: keyIn, whatOf: () => 'the import of a snapshot', services },
    executions: () => executionsPrefix,
    work: async (key, run) => {
      const { engine, services: world } = run;
      const progress: Progress = {};
      run.failed = (error) => fail(progress.id, error, world);
      await waitForOlderExecutions(engine, { running: world.running, backoff: world.limits.backoff });
      const answer = await importFile(engine, { world, progress, key });
      const { id } = answer;
      return id === undefined ? answer : { ...answer, record: world.store.addressOf(recordKey(id)) };
    },
  });
  return {
    ...job,
    run: async (key, engine) =>
      isSnapshot(key)
        ? job.run(key, engine)
        : { outcome: 'ignored', message: 'The file is neither a zip nor a CSV file.' },
  };
};

/** What is known so far, for the report of a failure. */
type Progress = { id?: string };
type World = { world: SnapshotServices; progress: Progress; key: string };

const importFile = async (engine: Engine, given: World): Promise<ImportAnswer> => {
  const { world, progress, key } = given;
  const { store, limits } = world;
  const { backoff } = limits;
  const { dropped, startedAt } = await engine.step('begin', {
    work: async () => ({ dropped: (await store.find(key)) ?? null, startedAt: new Date().toISOString() }),
    backoff,
  });
  if (dropped === null) return { outcome: 'replaced', message: 'The file was deleted in the meantime.' };
  await finishLast(engine, given);
  const examined = await engine.step('compare', {
    work: () => examine(dropped, { services: world, startedAt }),
    backoff,
  });
  if (examined.is === 'over') {
    const { is: _, ...answer } = examined;
    await tell(answer.outcome, engine, world);
    return answer;
  }
  progress.id = examined.id;
  if (examined.reasons.length > 0 && !(await isApproved(examined, engine, world))) {
    await tell('rejected', engine, world);
    return { outcome: 'rejected', message: 'Nothing was sent.', id: examined.id };
  }
  return send(examined, engine, given);
};

type ToBeSent = Extract<Examined, { is: 'to be sent' }>;

const isApproved = async (
  { id, reasons }: ToBeSent,
  engine: Engine,
  { store, limits, observe }: SnapshotServices,
): Promise<boolean> => {
  const { approvalSeconds: timeoutSeconds, backoff } = limits;
  const answer = await engine.approval('approval', {
    ...{ timeoutSeconds, backoff, answerIn: (given) => decision.parse(given) },
    submitted: async (callbackId) => {
      await change(store, id, { state: 'waiting-for-approval', callbackId });
      countOutcome('waiting-for-approval', observe);
      observe.warn(`the snapshot ${id} waits for approval`, { count: reasons.length });
      observe.flush();
    },
  });
  await engine.step('decided', {
    work: () => {
      if (answer?.decision === 'approved')
        return change(store, id, { callbackId: undefined, decided: answer });
      const endedAt = new Date().toISOString();
      const over = { state: 'rejected', callbackId: undefined, endedAt } as const;
      if (answer !== undefined) return change(store, id, { ...over, decided: answer });
      const why = `${reasons.join('; ')}. It was not approved or rejected within ${Math.round(timeoutSeconds / 3_600)} hours`;
      return change(store, id, { ...over, why });
    },
    backoff,
  });
  return answer?.decision === 'approved';
};

const send = async (examined: ToBeSent, engine: Engine, { world, key }: World): Promise<ImportAnswer> => {
  const { store, limits } = world;
  const { backoff } = limits;
  const { id, parts, against, accepted } = examined;
  const isStill = await engine.step('begin to send', {
    work: async () => {
      const last = await lastAccepted(store, key);
      if (last?.id !== against && last?.id !== id) return false;
      await change(store, id, { state: 'sending', sendingAt: new Date().toISOString(), why: undefined });
      // From here on the platform has some of it. If this import ends early, the next one finishes it first, and is compared with
      // it.
      await store.writeJson(acceptedKeyOf(key), { ...accepted, sending: true } satisfies AcceptedSnapshot);
      return true;
    },
    backoff,
  });
  if (!isStill) {
    await engine.step('superseded', {
      work: async () => {
        const why = 'another snapshot was accepted in the meantime';
        await change(store, id, { state: 'superseded', why, endedAt: new Date().toISOString() });
      },
      backoff,
    });
    await tell('superseded', engine, world);
    return { outcome: 'superseded', message: 'Another snapshot was accepted in the meantime.', id };
  }
  return sendAll({ id, parts, accepted }, engine, { world, key });
};

/** Finishes a snapshot whose import ended while it was being sent. */
const finishLast = async (engine: Engine, { world, key }: Pick<World, 'world' | 'key'>): Promise<void> => {
  const { store, limits, observe } = world;
  const last = await engine.step('what is left of the last one', {
    work: async () => {
      const last = await lastAccepted(store, key);
      if (!last?.sending) return null;
      const { sending: _, ...accepted } = last;
      const { id } = accepted;
      observe.warn(`the rest of the snapshot ${id} is sent now`);
      const { parts } = await planOf(store, id);
      return { id, parts: parts.length, accepted };
    },
    backoff: limits.backoff,
  });
  if (last !== null) await sendAll(last, engine, { world, key });
};

type Sending = Pick<ToBeSent, 'id' | 'parts' | 'accepted'>;

const sendAll = async (
  { id, parts, accepted }: Sending,
  engine: Engine,
  { world, key }: Pick<World, 'world' | 'key'>,
): Promise<ImportAnswer> => {
  const { store, limits, observe } = world;
  const { backoff } = limits;
  for (const stretch of stretchesOf(parts)) {
    const pauseSeconds = await engine.step(`send ${stretch.from + 1} to ${stretch.to}`, {
      work: async () => {
        await sendStretch(id, stretch, world);
        const { parts } = await planOf(store, id);
        const sent = parts.slice(0, stretch.to).reduce((sum, { lines }) => sum + lines, 0);
        await change(store, id, { sent });
        // A wait shorter than the invocation's remaining time would end within it.
        const leftMs = engine.leftMs();
        return leftMs > limits.reserveMs ? 0 : Math.ceil(leftMs / 1_000) + 1;
      },
      backoff,
    });
    if (pauseSeconds > 0) await engine.wait('until the next invocation', pauseSeconds);
  }
  return engine.step('accept', {
    work: async () => {
      await store.writeJson(acceptedKeyOf(key), accepted);
      const { counts, sent, ...told } = await change(store, id, {
        ...{ state: 'accepted', endedAt: new Date().toISOString(), why: undefined },
      });
      countOutcome('accepted', observe);
      for (const [change, count = 0] of Object.entries(counts))
        observe.count('SnapshotRows', { change }, count);
      observe.info(`the snapshot ${id} is accepted`, { count: sent });
      observe.flush();
      const message = [`${sent} events were sent.`, ...(sent === 0 ? rowsTold(told) : [])].join(' ');
      return { outcome: 'accepted', message, id };
    },
    backoff,
  });
};

/** Only this job writes the record, one execution at a time. */
const change = async (
  store: SnapshotStore,
  id: string,
  changes: { [Field in keyof SnapshotRecord]?: SnapshotRecord[Field] | undefined },
): Promise<SnapshotRecord> => {
  const record = snapshotRecord.parse(await store.readJson(recordKey(id)));
  // Leaves out undefined members.
  const changed = JSON.parse(JSON.stringify({ ...record, ...changes })) as SnapshotRecord;
  await store.writeJson(recordKey(id), changed);
  return changed;
};

const outcomes = ['accepted', 'waiting-for-approval', 'rejected', 'superseded', 'failed'];

/** Every outcome is reported each time, so that an alarm about one of them ends. */
const countOutcome = (outcome: string, { count }: SnapshotServices['observe']): void => {
  for (const each of outcomes) count('SnapshotImports', { outcome: each }, each === outcome ? 1 : 0);
};

const tell = (outcome: string, engine: Engine, { observe, limits }: SnapshotServices): Promise<void> =>
  engine.step('tell', {
    backoff: limits.backoff,
    work: async () => {
      if (!outcomes.includes(outcome)) return;
      countOutcome(outcome, observe);
      (outcome === 'failed' ? observe.warn : observe.info)('the import of a snapshot is over', { outcome });
      observe.flush();
    },
  });

const fail = async (id: string | undefined, error: unknown, world: SnapshotServices): Promise<void> => {
  const { observe, store } = world;
  countOutcome('failed', observe);
  observe.flush();
  if (id === undefined) return;
  const why = failureOf(error).message;
  // If the record cannot be written, the execution still has the error.
  await change(store, id, { state: 'failed', why, endedAt: new Date().toISOString() }).catch(() => undefined);
};
