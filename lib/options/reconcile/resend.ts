import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { type Crosswalk, lookUpOperations } from '../../crosswalk/look-up.ts';
import type { Integration } from '../../delivery/handle/integration.ts';
import { type AddressedMessage, sendToFunctions } from '../../delivery/handle/send-to-functions.ts';
import { changesIn, type FieldChange } from '../../delivery/ledger/item.ts';
import type { ReadResource } from '../../delivery/ledger/read.ts';
import type { BackoffLimits } from '../../message/backoff.ts';
import { MessageFailure } from '../../message/failure.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import { bulkAttributes, messageType } from '../../message/message.ts';
import { safe } from '../../message/safe-text.ts';
import { sisIdsIn, withPlatformIds } from '../../message/sis-ids.ts';
import { decodeVersion } from '../../message/version.ts';
import type { ExportsQuery, ReadAcceptedExports } from '../../option.ts';
import type { Platform, PlatformClient } from '../../platform/client/client.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { getGradeValue } from '../../platform/resources/grades.ts';
import { inParallel } from '../../runtime/aws/parallel.ts';
import { inFolder } from '../../runtime/files/folder.ts';
import { keepMemoryBelow } from '../../runtime/files/memory-limit.ts';
import { withSqlEngine } from '../../runtime/files/tables/engine.ts';
import { bulkPlatform } from '../../runtime/jobs/bulk-platform.ts';
import type { Engine } from '../../runtime/jobs/engine.ts';
import { timeLeft } from '../../runtime/jobs/in-steps.ts';
import type { JobStore } from '../../runtime/jobs/store.ts';
import type { CallUsageRecorder } from '../../runtime/telemetry/call-usage.ts';
import type { Observe } from '../../runtime/telemetry/observe.ts';
import { isRemoved } from './check.ts';
import type { EffectClass } from './classes.ts';
import { readGradeValues } from './platform-values.ts';
import {
  type DecidedFindings,
  decidedSchema,
  type ResendCounts,
  type ResendResult,
  resendCounts,
  resendKey,
  resendListKey,
  resendResultKey,
} from './record.ts';
import { type Subject, subjectOf } from './selection.ts';

export type ResendServices = {
  /** The bucket that has the runs and the snapshots. */
  store: JobStore;
  readLedger: ReadResource;
  digestsOf(resource: string, field: string, value: string): readonly string[];
  crosswalk: Pick<Crosswalk, 'platformIds'>;
  platform: PlatformClient;
  /** Undefined: no option reads exports of the SIS. */
  readExports: ReadAcceptedExports | undefined;
  sqs(): Promise<SQSClient>;
  /** URL of the queue of the event's function. */
  queueUrlOf(functionName: string): string;
  integrations(): Promise<ReadonlyMap<string, Integration<unknown>>>;
  observe: Observe;
  callUsage: Pick<CallUsageRecorder, 'record' | 'write'>;
  limits: { reserveMs: number; backoff: BackoffLimits };
};

type ResendOutcome = ResendResult['outcomes'][number];
/** By resource. */
type Outcomes = Map<string, ResendOutcome>;

/** How many findings had each outcome. The details are in the bucket. */
export type ResendAnswer = { id: string; state: 'done'; outcomes: ResendCounts };

/** Does what an operator requested in `reconcile/resends/<id>.json`. */
export type Resend = (id: string, engine: Engine) => Promise<ResendAnswer>;

/** Platform operations that a resend may call, to look up names of grade objects and the current state. */
export const resendOperations = [...lookUpOperations, getGradeValue];

/** The other classes are decisions of others, or the state on the platform is unknown. */
const resentClasses: readonly EffectClass[] = ['missing', 'older', 'different'];

const memoryAllowanceMb = 96;
/** Number of events that are sent together. */
const batchSize = 1_000;

export const createResend =
  (services: ResendServices): Resend =>
  async (id, engine) => {
    const { store, limits, observe } = services;
    let outcomes: Outcomes = new Map();
    let why = '';
    try {
      return await engine.step('send again', {
        work: async () => {
          outcomes = new Map();
          const signal = AbortSignal.timeout(timeLeft({ engine, services }));
          await sendAgain(id, outcomes, { ...services, signal }).catch((error: unknown) => {
            why = failureOf(error).message;
            throw error;
          });
          await store.writeJson(resendResultKey(id), {
            id,
            state: 'done',
            outcomes: [...outcomes.values()],
          } satisfies ResendResult);
          const counts = resendCounts(outcomes.values());
          observe.info(safe`what was lost on the platform was sent again`, { count: counts.sent });
          observe.flush();
          return { id, state: 'done' as const, outcomes: counts };
        },
        backoff: limits.backoff,
      });
    } catch (error) {
      await engine.step('it was not sent again', {
        work: () =>
          store.writeJson(resendResultKey(id), {
            id,
            state: 'failed',
            why: why || failureOf(error).message,
            outcomes: [...outcomes.values()].filter(({ outcome }) => outcome === 'sent'),
          } satisfies ResendResult),
      });
      throw error;
    }
  };

/** `signal`: the time of the invocation is up. */
type TimedServices = ResendServices & { signal: AbortSignal };

/** What is searched for in the snapshots. */
type FindingToResend = {
  finding: DecidedFindings['findings'][number];
  subject: Subject;
  /** The digests of the written fields; undefined: the ledger has none, and the SIS' current data are sent. */
  digests: Record<string, string> | undefined;
  /** The time of the event to send, if the ledger gives it. */
  time: string | undefined;
  /** The user was removed. `isEnrolledSince`: by newer data of the SIS, the user is enrolled again. */
  isRemoval?: true;
  isEnrolledSince?: true;
  /** The SIS' names for it, if a snapshot contains it with other data than were written. */
  names?: Names;
};
type Names = { [Name in (typeof nameColumns)[number]]?: string };

/** An event to send, and its resource. */
type AddressedResend = AddressedMessage & { resource: string };

const sendAgain = async (id: string, outcomes: Outcomes, services: TimedServices): Promise<void> => {
  const asked = decidedSchema.parse(await services.store.readJson(resendKey(id)));
  const findings = new Map(asked.findings.map((finding) => [finding.resource, finding]));
  const wanted = new Map<string, FindingToResend>();
  const sender = createSender(outcomes, services);
  // Keeps the outcomes in the order of the findings.
  for (const resource of findings.keys()) outcomes.set(resource, { resource, outcome: 'not-held' });
  await inParallel(findings.values(), async (finding) => {
    const decided = await decide(finding, { id, services });
    if ('outcome' in decided) outcomes.set(finding.resource, decided);
    else wanted.set(finding.resource, decided);
  });
  await searchSnapshots(wanted, { id, sender, outcomes, services });
  for (const [resource, { subject, time = '', isRemoval, isEnrolledSince }] of wanted) {
    if (!isRemoval || isEnrolledSince) continue;
    const { orgUnitId, userId } = subject;
    wanted.delete(resource);
    const data = { orgUnitId, userId };
    await sender.add({ resource, ...eventOf(id, resource, { function: 'enrollment-remove', data, time }) });
  }
  await sender.send();
  await writeList(id, [...wanted.values()], services);
};

type ResendRun = { id: string; services: ResendServices };

/** Decides by the finding's ledger item alone: an outcome, or what to search for. */
const decide = async (
  finding: FindingToResend['finding'],
  { id, services }: ResendRun,
): Promise<ResendOutcome | FindingToResend> => {
  const { resource, writtenMs } = finding;
  const subject = subjectOf(resource);
  if (subject === undefined || !resentClasses.includes(finding.class))
    return { resource, outcome: 'not-for-us' };
  const item = await services.readLedger(resource);
  // A forgotten item cannot be distinguished from anything else in the snapshot.
  if (item === undefined)
    return { finding, subject, digests: writtenMs === undefined ? undefined : {}, time: undefined };
  const changes = changesIn(item);
  const fields = Object.entries(changes);
  const own = fields.find(([, { version }]) => decodeVersion(version).eventId === eventIdOf(id, resource));
  // This step was done before, and is repeated.
  if (own !== undefined) return { resource, outcome: 'sent', messageId: own[1].messageId };
  if (fields.some(([, { begunMs }]) => begunMs > (writtenMs ?? 0))) return { resource, outcome: 'newer' };
  const time = timeAfter(fields);
  if (subject.kind === 'enrollment' && isRemoved(resource, changes.whole, services.digestsOf))
    return { finding, subject, digests: {}, time, isRemoval: true };
  const digests = Object.fromEntries(
    fields.flatMap(([field, change]) =>
      change.outcome === 'done' && change.digest !== undefined ? [[field, change.digest]] : [],
    ),
  );
  return { finding, subject, digests, time };
};

/** Newer than what it repeats, and older than all later changes of the SIS. */
const timeAfter = (fields: [string, FieldChange][]): string =>
  fields
    .map(([, { version }]) => decodeVersion(version).nextTime)
    .sort()
    .at(-1) ?? '';

/** The same id each time: if a repeated step sends a second event, the ledger recognizes it as a duplicate. */
const eventIdOf = (id: string, resource: string): string =>
  `reconcile/${id}/${hash('sha256', resource).slice(0, 20)}`;

const eventOf = (
  id: string,
  resource: string,
  { function: name, data, time }: { function: string; data: object; time: string },
): AddressedMessage => ({
  function: name,
  message: {
    body: JSON.stringify({
      specversion: '1.0',
      id: eventIdOf(id, resource),
      source: '/sis-relay/reconcile',
      type: messageType(name),
      time,
      data,
    }),
    attributes: bulkAttributes,
  },
});

type Sender = { add(sending: AddressedResend): Promise<void>; send(): Promise<void> };

/** Sends events in batches, and records which are on their queues. */
const createSender = (outcomes: Outcomes, { sqs, queueUrlOf }: ResendServices): Sender => {
  let batch: AddressedResend[] = [];
  const send = async (): Promise<void> => {
    const now = batch;
    batch = [];
    await sendToFunctions(now, {
      sqs,
      queueUrlOf,
      taken: ({ resource }, messageId) => outcomes.set(resource, { resource, outcome: 'sent', messageId }),
    });
  };
  return {
    send,
    add: async (sending) => {
      batch.push(sending);
      if (batch.length >= batchSize) await send();
    },
  };
};

type Search = { id: string; sender: Sender; outcomes: Outcomes; services: TimedServices };

/** Sends what the snapshots contain as it was written, and removes it from what is wanted. */
const searchSnapshots = async (
  wanted: Map<string, FindingToResend>,
  { id, sender, outcomes, services }: Search,
): Promise<void> => {
  const { callUsage, signal, readExports } = services;
  if (wanted.size === 0 || readExports === undefined) return;
  const platform = bulkPlatform(services, { operations: resendOperations, signal });
  const integrations = await services.integrations();
  const use = async ({ droppedMs, ...event }: SnapshotMatch): Promise<void> => {
    const integration = integrations.get(event.function);
    const data = await withIds(event, { platform, services });
    const about = integration && readAs(integration, data);
    const found = about && wanted.get(about.resource);
    if (about === undefined || found === undefined) return;
    const { resource } = about;
    const sent = asWritten({ resource, data, integration }, found, services);
    if (sent === undefined) {
      const { writtenMs = 0 } = found.finding;
      if (found.isRemoval && droppedMs > writtenMs) found.isEnrolledSince = true;
      found.names ??= { ...event.names, ...namesIn(event.data) };
      return;
    }
    const time = found.time ?? new Date(droppedMs).toISOString();
    wanted.delete(resource);
    const now = await stateNow(found, platform);
    if (now === 'unreadable') wanted.set(resource, found);
    if (now === 'changed') {
      // This very event may have been sent by a step that was done before.
      const decided = await decide(found.finding, { id, services });
      outcomes.set(resource, 'outcome' in decided ? decided : { resource, outcome: 'newer' });
    }
    if (now !== 'as found') return;
    await sender.add({ resource, ...eventOf(id, resource, { function: event.function, data: sent, time }) });
  };
  await withSqlEngine(async (db, folder) => {
    const { store, crosswalk } = services;
    const reading = { db, folder, store, crosswalk, platform };
    for await (const found of findSaid([...wanted.values()], reading, readExports)) {
      if (signal.aborted)
        throw new MessageFailure('unavailable', safe`One invocation is too short to read all snapshots`);
      await inParallel(found, use);
      keepMemoryBelow(memoryAllowanceMb);
    }
  });
  await sender.send();
  await callUsage.write();
};

/** What a snapshot contains about a wanted org unit and user. */
type SnapshotMatch = {
  droppedMs: number;
  function: string;
  orgUnitId: number;
  userId: number;
  data: object;
  /** What the crosswalk gives for the ids: data have names only where it did not know them. */
  names: Names;
};
type FoundRow = [
  droppedMs: number,
  fn: string,
  orgUnitId: number,
  userId: number,
  data: string,
  names: string,
];

const foundIn = ([droppedMs, fn, orgUnitId, userId, data, names]: FoundRow): SnapshotMatch => ({
  droppedMs,
  function: fn,
  orgUnitId,
  userId,
  data: JSON.parse(data),
  names: JSON.parse(names),
});

const tables = `
  CREATE TABLE wanted (fn VARCHAR, org_unit_id BIGINT, user_id BIGINT);
  CREATE TABLE found (dropped_ms BIGINT, fn VARCHAR, org_unit_id BIGINT, user_id BIGINT, data VARCHAR);
`;

const addFound = `
  INSERT INTO found SELECT $1, fn, org_unit_id, user_id, data FROM said SEMI JOIN wanted USING (fn, org_unit_id, user_id)`;

const listFound = `
  WITH names_of_users AS (
    SELECT id, min(name) FILTER (field = 'userName') AS user_name, min(name) FILTER (field = 'orgDefinedId') AS org_defined_id
    FROM stands_for WHERE field <> 'orgUnitCode' GROUP BY id)
  SELECT f.*, to_json({'orgUnitCode': coalesce(o.name, ''), 'userName': coalesce(u.user_name, ''), 'orgDefinedId': coalesce(u.org_defined_id, '')})
  FROM found f LEFT JOIN (SELECT id, min(name) AS name FROM stands_for WHERE field = 'orgUnitCode' GROUP BY id) o ON o.id = f.org_unit_id
    LEFT JOIN names_of_users u ON u.id = f.user_id
  ORDER BY dropped_ms DESC`;

const functionOf = { enrollment: 'enrollment-create', grade: 'grade-push' } as const;

/** The newest snapshot comes first. */
async function* findSaid(
  wanted: readonly FindingToResend[],
  { db, ...reading }: Omit<ExportsQuery, 'functions' | 'insert'>,
  readExports: ReadAcceptedExports,
): AsyncGenerator<SnapshotMatch[]> {
  const subjects = wanted.map(({ subject }) => subject);
  await db.run(tables);
  await db.add(
    'wanted',
    subjects.map(({ kind, orgUnitId, userId }) => [functionOf[kind], String(orgUnitId), String(userId)]),
  );
  const functions = [...new Set(subjects.map(({ kind }) => functionOf[kind]))];
  const read = await readExports({ ...reading, db, functions, insert: addFound });
  if (read.length === 0) return;
  for await (const rows of db.rows<FoundRow>(listFound)) yield rows.map(foundIn);
}

/** The data with the platform's ids. Data with the id 0 (none) are skipped. */
const withIds = async (
  { orgUnitId, userId, data }: Pick<SnapshotMatch, 'orgUnitId' | 'userId' | 'data'>,
  { platform, services: { crosswalk } }: { platform: Platform; services: ResendServices },
): Promise<object> => {
  const { sisIds } = sisIdsIn(data);
  const ids: Record<string, number | undefined> = { orgUnitId, userId };
  const named = sisIds.filter(({ platformField }) => platformField === 'gradeObjectId');
  if (named.length > 0)
    Object.assign(
      ids,
      await crosswalk.platformIds(named, { platform, orgUnitId, sentMs: 0 }).catch(unlessItPasses),
    );
  return withPlatformIds(data, sisIds, ({ platformField }) => ids[platformField] ?? 0);
};

/** Protects what somebody has changed on the platform since the finding was made. A classlist does not show when that was. */
const stateNow = async (
  { finding, subject }: FindingToResend,
  platform: Platform,
): Promise<'as found' | 'changed' | 'unreadable'> => {
  if (subject.kind === 'enrollment') return 'as found';
  try {
    const shown = await readGradeValues(platform, subject);
    const isThere = finding.class !== 'missing';
    return (shown !== undefined) === isThere && shown?.changedAt === finding.changedAt
      ? 'as found'
      : 'changed';
  } catch (error) {
    if (isRetried(failureOf(error).kind)) throw error;
    return 'unreadable';
  }
};

type LedgerMessage = { integration: Integration<unknown> | undefined; resource: string; data: object };

/** The data as the function would parse them. Undefined if it would refuse them. */
const readAs = (
  integration: Integration<unknown>,
  data: object,
): { resource: string; fields: Record<string, string> } | undefined => {
  const { data: parsed, success } = integration.data.safeParse(data);
  if (!success) return undefined;
  const message = { id: '', source: '', time: '', sequence: undefined, data: parsed };
  return {
    resource: integration.resource(parsed, message),
    fields: integration.effect?.wanted(parsed) ?? {},
  };
};

/**
 * The data to send, if they contain all that was written: other data of the snapshot would overwrite something newer, or leave a part
 * unchanged. Undefined: they do not.
 */
const asWritten = (
  { integration, resource, data }: LedgerMessage,
  { digests }: FindingToResend,
  { digestsOf }: ResendServices,
): object | undefined => {
  if (digests === undefined) return data;
  const given = integration && readAs(integration, data)?.fields;
  if (integration === undefined || given === undefined) return undefined;
  // A snapshot does not mention a removed comment; an empty comment was sent then.
  const cleared = Object.keys(digests).filter((field) => !(field in given));
  const whole = { ...data, ...Object.fromEntries(cleared.map((field) => [field, ''])) };
  const fields = readAs(integration, whole)?.fields ?? {};
  const names = Object.keys(fields);
  // Data that the function would refuse have no field.
  const isSame = names.every((field) => {
    const digest = digests[field];
    return digest !== undefined && digestsOf(resource, field, fields[field] ?? '').includes(digest);
  });
  return names.length > 0 && isSame ? whole : undefined;
};

/** An unknown name, or a list that the platform refuses, concerns nothing that is wanted. */
const unlessItPasses = (error: unknown): undefined => {
  const { kind } = failureOf(error);
  if (kind === 'defect' || (kind !== 'unknown-id' && isRetried(kind))) throw error;
};

const nameColumns = ['orgUnitCode', 'userName', 'orgDefinedId', 'gradeObjectName'] as const;

const namesIn = (data: object): Names =>
  Object.fromEntries(sisIdsIn(data).sisIds.map(({ field, value }) => [field, value]));

/** What no snapshot has as it was written: a table for the people who run the SIS. */
const writeList = async (
  id: string,
  missing: FindingToResend[],
  { store }: ResendServices,
): Promise<void> => {
  if (missing.length === 0) return;
  await inFolder(async (folder) => {
    const rows = [
      ['class', 'kind', 'orgUnitId', 'userId', 'gradeObjectId', 'writtenAt', ...nameColumns].join(','),
    ];
    for (const { finding, subject, names = {} } of missing) {
      const { orgUnitId, userId, gradeObjectId = '' } = subject;
      const writtenAt = finding.writtenMs === undefined ? '' : new Date(finding.writtenMs).toISOString();
      const cells = [finding.class, subject.kind, orgUnitId, userId, gradeObjectId, writtenAt];
      const all = [...cells, ...nameColumns.map((name) => names[name] ?? '')];
      rows.push(all.map((each) => cell(String(each))).join(','));
    }
    const path = join(folder, 'list');
    writeFileSync(path, `${rows.join('\n')}\n`);
    await store.uploadFile(resendListKey(id), path, 'text/csv');
  });
};

/** Quotes a text so that no spreadsheet reads it as a formula. */
const cell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
