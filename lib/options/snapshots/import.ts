import { hash } from 'node:crypto';
import { ownText, safe } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import type { Job } from '../../runtime/jobs/engine.ts';
import { jobOf, type Run } from '../../runtime/jobs/job.ts';
import { waitForOlderExecutions } from '../../runtime/jobs/older-executions.ts';
import { type Examined, examine, idOf, newRecord, planOf } from './examine.ts';
import { mostlyRefused, rowsTold } from './package/rows.ts';
import { type ImportRequest, isSnapshot, requestIn } from './request.ts';
import { sendStretch, stretchesOf } from './send.ts';
import type { SnapshotServices } from './services.ts';
import { acceptSnapshot, lastAccepted } from './state/accepted-snapshot.ts';
import {
  type AcceptedSnapshot,
  acceptedKeyOf,
  decision,
  recordKey,
  recordsPrefix,
  type SnapshotRecord,
  snapshotRecord,
} from './state/record.ts';
import type { Dropped, SnapshotStore } from './state/store.ts';
import {
  carryLost,
  forgetUnaccepted,
  noteUnaccepted,
  readUnaccepted,
  settleUnaccepted,
  type Unaccepted,
} from './state/unaccepted.ts';
import { isItsTurn } from './turn.ts';

export type ImportAnswer = {
  /** `known`: it was imported before. `replaced`: the bucket no longer has it. `ignored`: it is no snapshot. */
  outcome: string;
  message: string;
  id?: string;
  record?: string;
};

const executionsPrefix = `${recordsPrefix}executions/`;

/** Sends what has changed in the SIS since the last accepted snapshot. */
export const importJob = (services: () => Promise<SnapshotServices>): Job<ImportRequest, ImportAnswer> => {
  const job = jobOf<ImportRequest, ImportAnswer, SnapshotServices>({
    ...{ requestIn, whatOf: () => safe`the import of a snapshot`, services },
    executions: () => executionsPrefix,
    work: async (request, run) => {
      const { engine, services } = run;
      const { running, store, limits } = services;
      const { executionArn } = engine;
      run.failed = (error) => fail(error, run);
      await waitForOlderExecutions(engine, {
        ...{ running, backoff: limits.backoff },
        isItsTurn: (all) => isItsTurn(all, { store, executionArn, request }),
      });
      const answer = await importFile(run, request);
      const { id } = answer;
      return id === undefined ? answer : { ...answer, record: services.store.addressOf(recordKey(id)) };
    },
  });
  return {
    ...job,
    run: async (request, engine) =>
      isSnapshot(request.key)
        ? job.run(request, engine)
        : { outcome: 'ignored', message: 'The file is neither a zip nor a CSV file.' },
  };
};

type ImportRun = Run<SnapshotServices>;

const importFile = async (run: ImportRun, request: ImportRequest): Promise<ImportAnswer> => {
  const { services, step, engine } = run;
  const { store } = services;
  const { key } = request;
  const { dropped, startedAt } = await step('begin', async () => {
    const entry = await readUnaccepted(store, engine.executionArn);
    await carryLost(store);
    const dropped = entry === undefined ? await store.find(request) : droppedOf(entry);
    return { dropped: dropped ?? null, startedAt: new Date().toISOString() };
  });
  if (dropped === null) return { outcome: 'replaced', message: 'The file was deleted in the meantime.' };
  await finishLast(run, key);
  const onId = (id: string) => noteUnaccepted(store, engine.executionArn, { id });
  const examined = await step('compare', () =>
    examine(dropped, { services: { ...services, onId }, startedAt }),
  );
  if (examined.is === 'over') {
    const { is: _, ...answer } = examined;
    await tell(answer.outcome, run, () => noteOver(answer, run, key));
    return answer;
  }
  run.failed = (error) => fail(error, run, examined.id);
  const decided = examined.reasons.length > 0 ? await decisionOn(examined, run) : 'approved';
  if (decided !== 'approved') {
    await tell(decided, run);
    return { outcome: 'rejected', message: 'Nothing was sent.', id: examined.id };
  }
  return send(examined, run, key);
};

const droppedOf = ({ key, versionId, etag, putAt, sequencer, isEnd }: Unaccepted): Dropped => ({
  ...{ key, etag, droppedMs: Date.parse(putAt) },
  ...(versionId !== undefined && { versionId }),
  ...(sequencer !== undefined && { sequencer }),
  ...(isEnd && { isEnd }),
});

/** Notes what became of a file that is not sent. */
const noteOver = async (
  { outcome, message: why, id }: Pick<ImportAnswer, 'outcome' | 'message' | 'id'>,
  { engine, services: { store } }: ImportRun,
  key: string,
): Promise<void> => {
  const { executionArn } = engine;
  if (outcome === 'failed' || outcome === 'replaced')
    return noteUnaccepted(store, executionArn, { is: outcome, why, ...(id !== undefined && { id }) });
  // Of what is known, the import before has noted it; and a whole export that was put later has the changes, too.
  const isMissing = outcome === 'superseded' && (await lastAccepted(store, key))?.isWhole !== true;
  if (isMissing) return noteUnaccepted(store, executionArn, { is: 'superseded' });
  return forgetUnaccepted(store, executionArn);
};

type ToBeSent = Extract<Examined, { is: 'to be sent' }>;

/** `undecided`: nobody decided in time, which rejects it. */
const decisionOn = async (
  { id, reasons, accepted }: ToBeSent,
  { engine, services, step }: ImportRun,
): Promise<'approved' | 'rejected' | 'undecided'> => {
  const { store, limits, observe } = services;
  const { approvalSeconds: timeoutSeconds, backoff } = limits;
  const answer = await engine.approval('approval', {
    ...{ timeoutSeconds, backoff, answerIn: (given) => decision.parse(given) },
    submitted: async (callbackId) => {
      await change(store, id, { state: 'waiting-for-approval', callbackId });
      countOutcome('waiting-for-approval', observe);
      observe.warn(safe`the snapshot ${ownText(id)} waits for approval`, { count: reasons.length });
      observe.flush();
    },
  });
  await step('decided', async () => {
    if (answer?.decision === 'approved') return change(store, id, { callbackId: undefined, decided: answer });
    const is = answer === undefined ? 'undecided' : 'rejected';
    // Nothing is missing if a feed goes on.
    if (accepted.isEnd) await forgetUnaccepted(store, engine.executionArn);
    else await noteUnaccepted(store, engine.executionArn, { is });
    const endedAt = new Date().toISOString();
    const over = { state: 'rejected', callbackId: undefined, endedAt } as const;
    if (answer !== undefined) return change(store, id, { ...over, decided: answer });
    const why = `${reasons.join('; ')}. It was not approved or rejected within ${Math.round(timeoutSeconds / 3_600)} hours`;
    return change(store, id, { ...over, why });
  });
  return answer?.decision ?? 'undecided';
};

const send = async (examined: ToBeSent, run: ImportRun, key: string): Promise<ImportAnswer> => {
  const { store } = run.services;
  const { id, parts, against, accepted } = examined;
  const isStill = await run.step('begin to send', async () => {
    const last = await lastAccepted(store, key);
    if (last?.id !== against && last?.id !== id) return false;
    await change(store, id, { state: 'sending', sendingAt: new Date().toISOString(), why: undefined });
    // From here on the platform has some of it. If this import ends early, the next one finishes it first, and is compared with
    // it.
    await store.writeJson(acceptedKeyOf(key), { ...accepted, sending: true } satisfies AcceptedSnapshot);
    return true;
  });
  if (!isStill) {
    await run.step('superseded', async () => {
      const why = 'another snapshot was accepted in the meantime';
      await change(store, id, { state: 'superseded', why, endedAt: new Date().toISOString() });
      await noteUnaccepted(store, run.engine.executionArn, { is: 'superseded' });
    });
    await tell('superseded', run);
    return { outcome: 'superseded', message: 'Another snapshot was accepted in the meantime.', id };
  }
  return sendAll({ id, parts, accepted }, run, key);
};

/** Finishes a snapshot whose import ended while it was being sent. */
const finishLast = async (run: ImportRun, key: string): Promise<void> => {
  const { store, observe } = run.services;
  const last = await run.step('what is left of the last one', async () => {
    const last = await lastAccepted(store, key);
    if (!last?.sending) return null;
    const { sending: _, ...accepted } = last;
    const { id } = accepted;
    observe.warn(safe`the rest of the snapshot ${ownText(id)} is sent now`);
    const { parts } = await planOf(store, id);
    return { id, parts: parts.length, accepted };
  });
  if (last !== null) await sendAll(last, run, key);
};

type Sending = Pick<ToBeSent, 'id' | 'parts' | 'accepted'>;

const sendAll = async (
  { id, parts, accepted }: Sending,
  { engine, services, step }: ImportRun,
  key: string,
): Promise<ImportAnswer> => {
  const { store, limits, observe } = services;
  for (const stretch of stretchesOf(parts)) {
    const pauseSeconds = await step(`send ${stretch.from + 1} to ${stretch.to}`, async () => {
      await sendStretch(id, stretch, services);
      const { parts } = await planOf(store, id);
      const sent = parts.slice(0, stretch.to).reduce((sum, { lines }) => sum + lines, 0);
      await change(store, id, { sent });
      // A wait shorter than the invocation's remaining time would end within it.
      const leftMs = engine.leftMs();
      return leftMs > limits.reserveMs ? 0 : Math.ceil(leftMs / 1_000) + 1;
    });
    if (pauseSeconds > 0) await engine.wait('until the next invocation', pauseSeconds);
  }
  return step('accept', async () => {
    await acceptSnapshot(store, key, accepted);
    const { counts, sent, ...told } = await readRecord(store, id);
    // Before the record says so: whoever reads "accepted" finds nothing else of this file.
    await settleUnaccepted(store, {
      ...{ id, key, isWhole: accepted.isWhole === true, why: mostlyRefused(told) },
    });
    await change(store, id, { state: 'accepted', endedAt: new Date().toISOString(), why: undefined });
    countOutcome('accepted', observe);
    for (const [change, count = 0] of Object.entries(counts))
      observe.count('SnapshotRows', { change }, count);
    observe.info(safe`the snapshot ${ownText(id)} is accepted`, { count: sent });
    observe.flush();
    const message = [`${sent} events were sent.`, ...(sent === 0 ? rowsTold(told) : [])].join(' ');
    return { outcome: 'accepted', message, id };
  });
};

const readRecord = async (store: SnapshotStore, id: string): Promise<SnapshotRecord> =>
  snapshotRecord.parse(await store.readJson(recordKey(id)));

/** Only this job writes the record, one execution at a time. */
const change = async (
  store: SnapshotStore,
  id: string,
  changes: { [Field in keyof SnapshotRecord]?: SnapshotRecord[Field] | undefined },
): Promise<SnapshotRecord> => {
  const record = await readRecord(store, id);
  // Leaves out undefined members.
  const changed = JSON.parse(JSON.stringify({ ...record, ...changes })) as SnapshotRecord;
  await store.writeJson(recordKey(id), changed);
  return changed;
};

const outcomes = [
  'accepted',
  'waiting-for-approval',
  'rejected',
  'undecided',
  'superseded',
  'failed',
] as const;

/** Every outcome is reported each time, so that an alarm about one of them ends. */
const countOutcome = (outcome: string, { count }: SnapshotServices['observe']): void => {
  for (const each of outcomes) count('SnapshotImports', { outcome: each }, each === outcome ? 1 : 0);
};

const tell = (
  outcome: string,
  { services: { observe }, step }: ImportRun,
  note?: () => Promise<void>,
): Promise<void> =>
  step('tell', async () => {
    await note?.();
    const reported = outcomes.find((each) => each === outcome);
    if (reported === undefined) return;
    countOutcome(reported, observe);
    const log = reported === 'failed' ? observe.warn : observe.info;
    log(safe`the import of a snapshot is over`, { outcome: safe`${reported}` });
    observe.flush();
  });

/** Each import that failed has a record that says so, even if its file could not be read. */
const fail = async (
  error: unknown,
  { engine, services: { observe, store } }: ImportRun,
  id?: string,
): Promise<void> => {
  countOutcome('failed', observe);
  observe.flush();
  // The engine wraps the error of a step.
  const why = failureOf(error instanceof Error && error.cause instanceof Error ? error.cause : error).message;
  // If these cannot be written, the execution still has the error.
  await noteFailed(store, engine.executionArn, { why, id }).catch(() => undefined);
};

const noteFailed = async (
  store: SnapshotStore,
  executionArn: string,
  { why, id: known }: { why: string; id: string | undefined },
): Promise<void> => {
  const endedAt = new Date().toISOString();
  const entry = await readUnaccepted(store, executionArn);
  const id = known ?? entry?.id ?? (entry && idOf(droppedOf(entry), hash('sha256', entry.etag)));
  if (id === undefined) return;
  await noteUnaccepted(store, executionArn, { is: 'failed', id, why });
  const before = snapshotRecord.safeParse(await store.readJsonIfAny(recordKey(id))).data;
  const record = before ?? (entry && newRecord(droppedOf(entry), { id, startedAt: entry.seenAt }));
  if (record !== undefined)
    await store.writeJson(recordKey(id), { ...record, state: 'failed', why, endedAt });
};
