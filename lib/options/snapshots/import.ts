import { hash } from 'node:crypto';
import { ownText, safe } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import type { Job } from '../../runtime/jobs/engine.ts';
import { type JobRun, jobOf } from '../../runtime/jobs/job.ts';
import { waitForOlderExecutions } from '../../runtime/jobs/older-executions.ts';
import { type ExaminationResult, examine, idOf, newRecord, planOf } from './examine.ts';
import { feedOf, fileNameOf, isSnapshot } from './feed.ts';
import { mayImportNow, unacceptedOf } from './import-order.ts';
import { type ImportRequest, requestIn } from './import-request.ts';
import { hasUnknownCodes, refusalsOf, rowsTold } from './package/rows.ts';
import { feedPatternsIn, settingsKey } from './package/settings-file.ts';
import { sendStretch, stretchesOf } from './send.ts';
import type { SnapshotServices } from './snapshot-services.ts';
import { acceptSnapshot, adoptable, lastAccepted, othersNow } from './state/accepted-snapshot.ts';
import {
  type AcceptedSnapshot,
  acceptedKeyOf,
  type Decision,
  decision,
  recordKey,
  recordsPrefix,
  type SnapshotRecord,
  snapshotRecord,
} from './state/record.ts';
import type { SnapshotStore, SourceFile } from './state/store.ts';
import {
  carryLost,
  forgetUnaccepted,
  nameOf,
  noteUnaccepted,
  readUnaccepted,
  settleUnaccepted,
  type UnacceptedFile,
} from './state/unaccepted.ts';
import { isWholeFile } from './whole-file.ts';

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
    requestIn,
    whatOf: () => safe`the import of a snapshot`,
    services,
    executions: () => executionsPrefix,
    work: async (request, run) => {
      run.failed = (error) => fail(error, run);
      await waitForTurn(run, request);
      const answer = await importFile(run, request);
      const { id } = answer;
      return id === undefined ? answer : { ...answer, record: run.services.store.addressOf(recordKey(id)) };
    },
  });
  return {
    ...job,
    run: async (request, engine) =>
      isPassing(request.key)
        ? { outcome: 'ignored', message: 'The file is not complete, or is none of an export.' }
        : job.run(request, engine),
  };
};

type ImportRun = JobRun<SnapshotServices>;

/** A folder, or what programs write while they put a file. */
const isPassing = (key: string): boolean =>
  /(^|\/)(|[.~][^/]*|[^/]*\.(filepart|part|partial|tmp|crdownload))$/i.test(key);

/** `again`: after a person decided, as others were imported meanwhile. */
const waitForTurn = async (run: ImportRun, request: ImportRequest, again?: number): Promise<void> => {
  const { engine, services } = run;
  const { running, store, limits } = services;
  const { executionArn } = engine;
  await waitForOlderExecutions(engine, {
    running,
    backoff: limits.backoff,
    again,
    isItsTurn: (all) =>
      mayImportNow(all, {
        store,
        executionArn,
        request,
        replace: (held, own) => replaceHeld(held, own, services),
      }),
  });
};

const importFile = async (run: ImportRun, request: ImportRequest): Promise<ImportAnswer> => {
  const { services, step, engine } = run;
  const { store } = services;
  const { dropped, startedAt, hasContentSince } = await step('begin', async () => {
    const { executionArn } = engine;
    const found = (await readUnaccepted(store, executionArn)) ?? (await store.find(request));
    if (
      found?.sizeBytes === 0 &&
      !found.isEnd &&
      ((await store.find({ key: found.key }))?.sizeBytes ?? 0) > 0
    ) {
      await forgetUnaccepted(store, executionArn);
      return { dropped: null, startedAt: '', hasContentSince: true };
    }
    const entry =
      found && ('seenAt' in found ? found : await unacceptedOf(found, { store, executionArn, request }));
    await carryLost(store);
    if (entry !== undefined) await adopt(store, feedOf(entry));
    return {
      dropped: entry === undefined ? null : droppedOf(entry),
      startedAt: new Date().toISOString(),
      hasContentSince: false,
    };
  });
  if (dropped === null)
    return {
      outcome: 'replaced',
      message: hasContentSince
        ? 'The file was empty, and its content was put after it.'
        : 'The file was deleted in the meantime.',
    };
  if (!isSnapshot(dropped.key)) return ignore(dropped, run);
  const feed = feedOf(dropped);
  await finishLast(run, feed);
  const onId = (id: string) => noteUnaccepted(store, engine.executionArn, { id });
  const compare = (name: string) =>
    step(name, () => examine(dropped, { services: { ...services, onId }, startedAt }));
  let examined = await compare('compare');
  for (let asked = 1; ; asked += 1) {
    if (examined.is === 'over') {
      const { is: _, ...answer } = examined;
      await reportResult(answer.outcome, run, () => noteOver(answer, run, feed));
      return answer;
    }
    const { id, reasons, others } = examined;
    run.failed = (error) => fail(error, run, id);
    if (reasons.length === 0) return send(examined, run, feed);
    const decided = await decisionOn(examined, run, asked);
    if (decided?.decision !== 'approved') {
      const outcome = decided?.decision ?? 'undecided';
      await reportResult(outcome, run);
      return { outcome: decided?.decision ?? 'rejected', message: 'Nothing was sent.', id };
    }
    await waitForTurn(run, request, asked);
    // What others had accepted meanwhile may change what this one does.
    if ((await step(`what others want now, ${asked}`, () => othersNow(store, feed))) === others)
      return send(examined, run, feed);
    const again: ExaminationResult = await compare(`compare again, ${asked}`);
    if (again.is === 'to be sent' && again.reasons.every((reason) => reasons.includes(reason))) {
      await step(`as decided, ${asked}`, () => change(store, id, { decided }));
      return send(again, run, feed);
    }
    examined = again;
  }
};

/** What was accepted before the settings gave its feed this name. */
const adopt = async (store: SnapshotStore, feed: string): Promise<void> => {
  const found = await adoptable(store, feed, feedPatternsIn(await store.textIfAny(settingsKey)));
  if (found === undefined) return;
  await store.writeJson(acceptedKeyOf(feed), found.json);
  await store.remove(found.from);
};

/** A file that nobody can import is listed, so that somebody sees it. */
const ignore = async (dropped: SourceFile, run: ImportRun): Promise<ImportAnswer> => {
  const { engine, services } = run;
  const id = idOf(dropped, hash('sha256', dropped.etag));
  const why = `${fileNameOf(dropped.key)} is neither a zip nor a CSV file, by its name. Put a table with a name that ends in .csv, unpacked, or the zip of OneRoster`;
  await reportResult('failed', run, async () => {
    const startedAt = new Date().toISOString();
    const record = newRecord(dropped, { id, startedAt });
    await services.store.writeJson(recordKey(id), { ...record, state: 'failed', why, endedAt: startedAt });
    await noteUnaccepted(services.store, engine.executionArn, { is: 'ignored', id, why });
  });
  return { outcome: 'failed', message: why, id };
};

const droppedOf = ({ key, feed, versionId, etag, putAt, sequencer, isEnd }: UnacceptedFile): SourceFile => ({
  key,
  feed,
  etag,
  droppedMs: Date.parse(putAt),
  ...(versionId !== undefined && { versionId }),
  ...(sequencer !== undefined && { sequencer }),
  ...(isEnd && { isEnd }),
});

/** Notes what became of a file that is not sent. */
const noteOver = async (
  { outcome, message: why, id }: Pick<ImportAnswer, 'outcome' | 'message' | 'id'>,
  { engine, services: { store } }: ImportRun,
  feed: string,
): Promise<void> => {
  const { executionArn } = engine;
  if (outcome === 'failed' || outcome === 'replaced')
    return noteUnaccepted(store, executionArn, { is: outcome, why, ...(id !== undefined && { id }) });
  // `known`: the earlier import of this content has an entry of its own. `superseded`: the changes are missing, unless the last accepted
  // export is whole: that has them, too.
  const isMissing = outcome === 'superseded' && (await lastAccepted(store, feed))?.isWhole !== true;
  if (isMissing) return noteUnaccepted(store, executionArn, { is: 'superseded' });
  return forgetUnaccepted(store, executionArn);
};

type ToBeSent = Extract<ExaminationResult, { is: 'to be sent' }>;

const decisionOn = async (
  { id, reasons, accepted }: ToBeSent,
  { engine, services, step }: ImportRun,
  asked: number,
): Promise<Decision | undefined> => {
  const { store, limits, observe } = services;
  const { approvalSeconds: timeoutSeconds, backoff } = limits;
  const times = asked === 1 ? '' : `, ${asked}`;
  const answer = await engine.approval(`approval${times}`, {
    timeoutSeconds,
    backoff,
    answerIn: (given) => decision.parse(given),
    submitted: async (callbackId) => {
      await change(store, id, { state: 'waiting-for-approval', callbackId, why: reasons.join('; ') });
      await noteUnaccepted(store, engine.executionArn, { is: 'held' });
      countOutcome('waiting-for-approval', observe);
      observe.warn(safe`the snapshot ${ownText(id)} waits for approval`, { count: reasons.length });
      observe.flush();
    },
  });
  await step(`decided${times}`, async () => {
    if (answer?.decision === 'approved') return change(store, id, { callbackId: undefined, decided: answer });
    const is = answer === undefined ? 'undecided' : answer.decision;
    // Nothing is missing if a feed goes on.
    if (accepted.isEnd) await forgetUnaccepted(store, engine.executionArn);
    else await noteUnaccepted(store, engine.executionArn, { is });
    const endedAt = new Date().toISOString();
    const over = { state: 'rejected', callbackId: undefined, endedAt } as const;
    if (answer?.decision === 'superseded')
      return change(store, id, { ...over, state: 'superseded', why: answer.reason });
    if (answer !== undefined) return change(store, id, { ...over, decided: answer });
    const why = `${reasons.join('; ')}. It was not approved or rejected within ${Math.round(timeoutSeconds / 3_600)} hours`;
    return change(store, id, { ...over, why });
  });
  return answer;
};

/** A later whole file of its feed states everything that a held one would have changed: nothing is missing without that. */
const replaceHeld = async (
  held: UnacceptedFile,
  own: UnacceptedFile,
  services: SnapshotServices,
): Promise<void> => {
  const { store, answer } = services;
  if (held.isEnd || own.isEnd || held.id === undefined) return;
  const { data: record } = snapshotRecord.safeParse(await store.readJsonIfAny(recordKey(held.id)));
  if (record?.state !== 'waiting-for-approval' || record.callbackId === undefined) return;
  if (!(await isWholeFile(droppedOf(own), services))) return;
  const reason = `a later whole file took its place: ${nameOf(own)}`;
  const by = { by: 'snapshot-import', at: new Date().toISOString(), decision: 'superseded' as const, reason };
  await answer(record.callbackId, by);
};

const send = async (examined: ToBeSent, run: ImportRun, feed: string): Promise<ImportAnswer> => {
  const { store } = run.services;
  const { id, parts, against, accepted } = examined;
  const isStill = await run.step('begin to send', async () => {
    const last = await lastAccepted(store, feed);
    if (last?.id !== against && last?.id !== id) return false;
    await change(store, id, { state: 'sending', sendingAt: new Date().toISOString(), why: undefined });
    // From here on the platform has some of it. If this import ends early, the next one finishes it first, and is compared with
    // it.
    await store.writeJson(acceptedKeyOf(feed), { ...accepted, sending: true } satisfies AcceptedSnapshot);
    return true;
  });
  if (!isStill) {
    await run.step('superseded', async () => {
      const why = 'another snapshot was accepted in the meantime';
      await change(store, id, { state: 'superseded', why, endedAt: new Date().toISOString() });
      await noteUnaccepted(store, run.engine.executionArn, { is: 'superseded' });
    });
    await reportResult('superseded', run);
    return { outcome: 'superseded', message: 'Another snapshot was accepted in the meantime.', id };
  }
  return sendAll({ id, parts, accepted }, run, feed);
};

/** Finishes a snapshot whose import ended while it was being sent. */
const finishLast = async (run: ImportRun, feed: string): Promise<void> => {
  const { store, observe } = run.services;
  const last = await run.step('what is left of the last one', async () => {
    const last = await lastAccepted(store, feed);
    if (!last?.sending) return null;
    const { sending: _, ...accepted } = last;
    const { id } = accepted;
    observe.warn(safe`the rest of the snapshot ${ownText(id)} is sent now`);
    const { parts } = await planOf(store, id);
    return { id, parts: parts.length, accepted };
  });
  if (last !== null) await sendAll(last, run, feed);
};

type SnapshotToSend = Pick<ToBeSent, 'id' | 'parts' | 'accepted'>;

const sendAll = async (
  { id, parts, accepted }: SnapshotToSend,
  { engine, services, step }: ImportRun,
  feed: string,
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
    await acceptSnapshot(store, feed, accepted);
    const { counts, sent, ...facts } = await readRecord(store, id);
    // Before the record says so: whoever reads "accepted" finds nothing else of this file.
    const refused = refusalsOf(facts);
    await settleUnaccepted(store, { id, feed, isWhole: accepted.isWhole === true, refused });
    await change(store, id, { state: 'accepted', endedAt: new Date().toISOString(), why: undefined });
    const isGood = refused?.is !== 'refused';
    countOutcome(!isGood ? 'mostly-refused' : hasUnknownCodes(facts) ? 'unknown-codes' : 'accepted', observe);
    for (const [change, count = 0] of Object.entries(counts))
      observe.count('SnapshotRows', { change }, count);
    observe.info(safe`the snapshot ${ownText(id)} is accepted`, { count: sent });
    observe.flush();
    const message = [`${sent} events were sent.`, ...(sent === 0 ? rowsTold(facts) : [])].join(' ');
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
  ...(['accepted', 'unknown-codes', 'mostly-refused', 'waiting-for-approval', 'rejected'] as const),
  ...(['undecided', 'superseded', 'failed'] as const),
];

/** Every outcome is reported each time, so that an alarm about one of them ends. */
const countOutcome = (outcome: string, { count }: SnapshotServices['observe']): void => {
  for (const each of outcomes) count('SnapshotImports', { outcome: each }, each === outcome ? 1 : 0);
};

const reportResult = (
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
