import { removedEffect, roleEffect } from '../../delivery/handle/fields/enrollment.ts';
import { changesIn } from '../../delivery/ledger/item.ts';
import type { ReadResource } from '../../delivery/ledger/read.ts';
import type { Failure } from '../../message/failure.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import type { Platform } from '../../platform/client/client.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { getClasslistPages } from '../../platform/resources/classlists.ts';
import { getGradeValue } from '../../platform/resources/grades.ts';
import {
  type EffectClass,
  isInProgress,
  type Judgement,
  judgeEffect,
  type PlatformValue,
  type WrittenField,
} from './classes.ts';
import { enrollmentValueOf, nothingOf, readGradeValues, readRoles } from './platform-values.ts';
import type { Finding } from './record.ts';
import { type Reason, reasonFor, type Selection, type Subject } from './selection.ts';

/** Platform operations that a comparison may call. */
export const reconcileOperations = [getGradeValue, getClasslistPages];

/** In addition to the memory of a container that has just started. */
export const memoryAllowanceMb = 64;

/** A selected write, as the ledger had it then. */
export type Written = {
  resource: string;
  subject: Subject;
  reason: Exclude<Reason, 'snapshot'>;
  lockId: string;
  fields: Record<string, WrittenField>;
};

/** For an enrollment whose user the crosswalk does not know: any other user in the org unit may be that one. */
export const unknownUser = 0;

/** An enrollment in a snapshot of the SIS. */
export type SnapshotEnrollment = {
  resource: string;
  subject: Subject;
  reason: 'snapshot';
  roleId: number;
  /** When the snapshot was put. */
  toldMs: number;
};

export type SelectedWrite = Written | SnapshotEnrollment;

export type CheckResult = {
  resource: string;
  subject: Subject;
  reason: Reason;
  judged: Judgement;
  /** SQS' id of the message that wrote it. */
  messageId?: string | undefined;
  /** When the platform last changed it, in the platform's format. */
  changedAt?: string;
  error?: Pick<Failure, 'kind' | 'message'>;
  /** It is checked once more after the write in progress has ended. */
  again?: SelectedWrite;
  /** It was not selected, but found beside a selected one. */
  isBeside?: true;
  /** The run also checks the ledger's write of the same resource, and reports the difference there. */
  isFoundByLedger?: boolean;
};

export type CheckServices = {
  platform: Platform;
  readLedger: ReadResource;
  digestsOf(resource: string, field: string, value: string): readonly string[];
  attemptMs: number;
  nowMs(): number;
  /** The SIS does not manage users in other roles than those of its snapshots. */
  roles: ReadonlySet<number>;
  /** Which writes of the ledger the run checks. */
  selection: Selection;
};

/** The platform or AWS does not answer now: the unchecked writes are checked later. */
export class NotNow extends Error {
  override name = 'NotNow';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Checks a grade, or enrollments in one org unit. @throws NotNow */
export const checkGroup = async (
  group: readonly SelectedWrite[],
  checking: CheckServices,
): Promise<CheckResult[]> => {
  const [first] = group;
  if (first === undefined) return [];
  const { platform } = checking;
  if (first.subject.kind === 'enrollment') {
    const roles = await readOr(() => readRoles(platform, first.subject.orgUnitId));
    if ('failure' in roles)
      return Promise.all(
        group.map(async (chosen) => ({
          ...unreadable(chosen, roles.failure),
          ...(chosen.reason === 'snapshot' && {
            isFoundByLedger: isFoundByLedger(chosen, await itemNow(chosen.resource, checking), checking),
          }),
        })),
      );
    return checkEnrollments(group, roles.value, checking);
  }
  const shown = await readOr(() => readGradeValues(platform, first.subject));
  return Promise.all(
    group.map((chosen) =>
      'failure' in shown ? unreadable(chosen, shown.failure) : checkWritten(chosen, shown.value, checking),
    ),
  );
};

const readOr = async <Value>(
  read: () => Promise<Value>,
): Promise<{ value: Value } | { failure: Failure }> => {
  try {
    return { value: await read() };
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind === 'defect') throw error;
    if (isRetried(failure.kind)) throw new NotNow(failure);
    return { failure };
  }
};

export const unreadable = (chosen: SelectedWrite, { kind, message }: Failure): CheckResult => {
  const fields = chosen.reason === 'snapshot' ? {} : chosen.fields;
  // A write that may not have been done need not be on the platform.
  if (Object.values(fields).some(isInProgress))
    return { ...bare(chosen), judged: notCompared('in progress') };
  const writtenMs = writtenMsOf(fields);
  return {
    ...bare(chosen),
    judged: { class: 'unreadable', fields: Object.keys(fields), ...(writtenMs > 0 && { writtenMs }) },
    error: { kind, message },
  };
};

const bare = ({ resource, subject, reason }: SelectedWrite) => ({ resource, subject, reason });

export const writtenMsOf = (fields: Readonly<Record<string, WrittenField>>): number =>
  Math.max(0, ...Object.values(fields).map(({ begunMs }) => begunMs));

const judgedBy = (
  { resource, subject }: Pick<SelectedWrite, 'resource' | 'subject'>,
  { fields, shown }: { fields: Written['fields']; shown: PlatformValue | undefined },
  { digestsOf, attemptMs }: CheckServices,
): Judgement =>
  judgeEffect({
    fields,
    attemptMs,
    shown: shown && isRemoved(resource, fields.whole, digestsOf) ? enrolled : shown,
    nothing: nothingOf(subject),
    digestsOf: (field, value) => digestsOf(resource, field, value),
  });

/** A user who was to be removed and is still there has some role, even if privacy hides it. */
const enrolled: PlatformValue = { fields: { whole: [] }, changedMs: undefined };

/** Whether the last write of an enrollment was to remove it. */
export const isRemoved = (
  resource: string,
  whole: WrittenField | undefined,
  digestsOf: CheckServices['digestsOf'],
): boolean =>
  whole?.digest !== undefined && digestsOf(resource, 'whole', removedEffect).includes(whole.digest);

/** A difference counts only if nothing was written since the selection, and nothing is in progress. */
const checkWritten = async (
  chosen: SelectedWrite,
  shown: PlatformValue | undefined,
  checking: CheckServices,
): Promise<CheckResult> => {
  if (chosen.reason === 'snapshot') return { ...bare(chosen), judged: notCompared('not shown') };
  const { fields, lockId } = chosen;
  const judged = judgedBy(chosen, { fields, shown }, checking);
  if (judged.class === 'same') return { ...bare(chosen), judged };
  if (judged.class === undefined && judged.why !== 'in progress') return { ...bare(chosen), judged };
  const now = judged.class === undefined ? undefined : await itemNow(chosen.resource, checking);
  if (judged.class === undefined || now?.lockId !== lockId)
    return { ...bare(chosen), judged: notCompared('in progress'), again: chosen };
  const { changedAt } = shown ?? {};
  const messageId = messageIn(fields, judged.writtenMs);
  return { ...bare(chosen), judged, messageId, ...(changedAt !== undefined && { changedAt }) };
};

const notCompared = (why: 'in progress' | 'no digest' | 'not shown'): Judgement => ({
  class: undefined,
  why,
});

const messageIn = (fields: Written['fields'], writtenMs: number | undefined): string | undefined =>
  Object.values(fields).find(({ begunMs }) => begunMs === writtenMs)?.messageId;

const itemNow = async (
  resource: string,
  { readLedger }: CheckServices,
): Promise<Pick<Written, 'lockId' | 'fields'> | undefined> => {
  const read = await readOr(() => readLedger(resource));
  return 'value' in read && read.value
    ? { lockId: read.value.lockId, fields: changesIn(read.value) }
    : undefined;
};

/** The ledger no longer has it. */
export const notComparable = (chosen: SelectedWrite): CheckResult => ({
  ...bare(chosen),
  judged: notCompared('no digest'),
});

/** The ledger's current state; undefined: it no longer has the resource. */
export const chosenNow = async (
  chosen: SelectedWrite,
  checking: CheckServices,
): Promise<SelectedWrite | undefined> => {
  if (chosen.reason === 'snapshot') return chosen;
  const now = await itemNow(chosen.resource, checking);
  return now && { ...chosen, lockId: now.lockId, fields: now.fields };
};

type Roles = ReadonlyMap<number, readonly number[] | undefined>;

const checkEnrollments = async (
  group: readonly SelectedWrite[],
  shown: Roles,
  checking: CheckServices,
): Promise<CheckResult[]> => {
  const shownOf = (userId: number): PlatformValue | undefined =>
    shown.has(userId) ? enrollmentValueOf(shown.get(userId)) : undefined;
  const enrollments = group.filter((chosen) => chosen.reason === 'snapshot');
  const enrollmentsOf = Map.groupBy(enrollments, ({ subject }) => subject.userId);
  return [
    ...(await Promise.all(
      group.map((chosen) =>
        chosen.subject.userId === unknownUser
          ? notComparable(chosen)
          : chosen.reason === 'snapshot'
            ? checkEnrollment(
                { enrollment: chosen, all: enrollmentsOf.get(chosen.subject.userId) ?? [] },
                shownOf(chosen.subject.userId),
                checking,
              )
            : checkWritten(chosen, shownOf(chosen.subject.userId), checking),
      ),
    )),
    ...(await extrasIn(enrollments, shown, checking)),
  ];
};

/** Snapshots, or classes that share an org unit, may give a user several roles. It is unknown which one applies. */
const classWanted = (
  all: readonly SnapshotEnrollment[],
  shown: PlatformValue | undefined,
): EffectClass | undefined => {
  if (shown === undefined) return 'missing';
  const values = shown.fields.whole;
  if (values === undefined) return undefined;
  return all.some(({ roleId }) => values.includes(roleEffect(roleId))) ? 'same' : 'different';
};

/** Checks an enrollment of the SIS. A write after its snapshot takes precedence. */
const checkEnrollment = async (
  { enrollment, all }: { enrollment: SnapshotEnrollment; all: readonly SnapshotEnrollment[] },
  shown: PlatformValue | undefined,
  checking: CheckServices,
): Promise<CheckResult> => {
  const itsClass = classWanted(all, shown);
  if (itsClass === undefined) return { ...bare(enrollment), judged: notCompared('not shown') };
  if (itsClass === 'same') return { ...bare(enrollment), judged: { class: 'same', fields: [] } };
  return byLedger(enrollment, { shown, otherwise: itsClass }, checking);
};

/** Users who are enrolled on the platform, in a role that the SIS gives, and not in the SIS. */
const extrasIn = async (
  enrollment: readonly SnapshotEnrollment[],
  shown: Roles,
  checking: CheckServices,
): Promise<CheckResult[]> => {
  const [first] = enrollment;
  if (first === undefined || enrollment.some(({ subject }) => subject.userId === unknownUser)) return [];
  const known = new Set(enrollment.map(({ subject }) => subject.userId));
  const { orgUnitId } = first.subject;
  const others = [...shown].filter(
    ([userId, roleIds]) => !known.has(userId) && roleIds?.some((roleId) => checking.roles.has(roleId)),
  );
  return Promise.all(
    others.map(async ([userId, roleIds]): Promise<CheckResult> => {
      const resource = `enrollment/${orgUnitId}/${userId}`;
      const extra: SnapshotEnrollment = {
        ...first,
        resource,
        subject: { kind: 'enrollment', orgUnitId, userId },
      };
      const shownNow = enrollmentValueOf(roleIds);
      const { again: _, ...checked } = await byLedger(
        extra,
        { shown: shownNow, otherwise: 'extra' },
        checking,
      );
      return { ...checked, isBeside: true };
    }),
  );
};

/** Checks by the ledger what was written since the snapshot, and whether the platform has it. */
const byLedger = async (
  enrollment: SnapshotEnrollment,
  { shown, otherwise }: { shown: PlatformValue | undefined; otherwise: EffectClass },
  checking: CheckServices,
): Promise<CheckResult> => {
  const now = await itemNow(enrollment.resource, checking);
  const writtenMs = writtenMsOf(now?.fields ?? {});
  const judged = now && judgedBy(enrollment, { fields: now.fields, shown }, checking);
  if (now === undefined || judged === undefined)
    return { ...bare(enrollment), judged: { class: otherwise, fields: [] } };
  const messageId = messageIn(now.fields, writtenMs);
  const found = { isFoundByLedger: isFoundByLedger(enrollment, now, checking) };
  if (judged.class === undefined && judged.why === 'in progress')
    return { ...bare(enrollment), judged, again: enrollment };
  // The platform has the last write, or it is unknown: the SIS' data differ only if the snapshot is newer than that write.
  const isUnknownOrSame = judged.class === 'same' || judged.class === undefined;
  if (isUnknownOrSame && writtenMs > enrollment.toldMs) return { ...bare(enrollment), judged };
  if (isUnknownOrSame)
    return { ...bare(enrollment), judged: { class: otherwise, fields: [], writtenMs }, messageId };
  return { ...bare(enrollment), judged, messageId, ...found };
};

const isFoundByLedger = (
  { resource, subject }: SnapshotEnrollment,
  item: Pick<Written, 'fields'> | undefined,
  { selection }: CheckServices,
): boolean =>
  item !== undefined &&
  Object.keys(item.fields).length > 0 &&
  reasonFor({ resource, subject, writtenMs: writtenMsOf(item.fields) }, selection) !== undefined;

/** Undefined if it is as it was sent, cannot be judged, or is found elsewhere. */
export const findingIn = ({
  judged,
  messageId,
  error,
  again: _,
  isBeside: __,
  isFoundByLedger,
  ...checked
}: CheckResult): Finding | undefined => {
  if (judged.class === undefined || judged.class === 'same' || isFoundByLedger) return undefined;
  const { writtenMs } = judged;
  return {
    class: judged.class,
    ...checked,
    fields: judged.fields,
    ...(writtenMs !== undefined && { writtenMs }),
    ...(messageId !== undefined && { messageId }),
    ...(error && { error: error.message, kind: error.kind }),
  };
};
