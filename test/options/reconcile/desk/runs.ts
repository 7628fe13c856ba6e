import type { EffectClass } from '../../../../lib/options/reconcile/classes.ts';
import {
  type Finding,
  findingsKey,
  latestKey,
  noClasses,
  noTally,
  type Report,
  reportKey,
  type Tally,
} from '../../../../lib/options/reconcile/record.ts';
import { type Bucket, putText } from '../../../local/bucket.ts';

const hourMs = 3_600_000;
let minutes = 0;

/** So many were looked at: what is not said is the same. */
export const tallyOf = (
  looked: number,
  {
    selected = looked,
    uncompared = 0,
    ...byClass
  }: Partial<Tally> & Partial<Record<EffectClass, number>> = {},
): Tally => {
  const others = Object.values(byClass).reduce<number>((sum, count) => sum + Number(count), 0);
  return {
    selected,
    looked,
    uncompared,
    byClass: { ...noClasses(), ...byClass, same: looked - uncompared - others },
  };
};

/** The report of a run, each newer than the one before. */
export const reportOf = ({
  tallies,
  ...changes
}: Partial<Omit<Report, 'tallies'>> & { tallies?: Partial<Report['tallies']> } = {}): Report => {
  minutes += 1;
  const startedMs = changes.startedMs ?? Date.now() - 40 * 24 * hourMs + minutes * 60_000;
  const grade = noClasses();
  for (const { byClass } of Object.values(tallies ?? {}))
    for (const [name, count] of Object.entries(byClass)) grade[name as EffectClass] += count;
  const id = `${new Date(startedMs).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z-0a1b2c3d`;
  return {
    id,
    state: 'whole',
    startedMs,
    endedMs: startedMs + 1_500_000,
    sinceMs: startedMs - 25 * hourMs,
    entries: 0,
    share: 0.01,
    nights: 28,
    snapshots: [],
    unknown: 0,
    findings: 0,
    accepted: 0,
    parts: 0,
    calls: 600_000,
    byKind: { grade, enrollment: noClasses() },
    open: noClasses(),
    ...changes,
    tallies: { recent: noTally(), slice: noTally(), sample: noTally(), snapshot: noTally(), ...tallies },
  };
};

let userId = 300;

export const findingOf = (changes: Partial<Finding> = {}): Finding => {
  userId += 1;
  const subject = { kind: 'grade' as const, orgUnitId: 2001, gradeObjectId: 5001, userId };
  return {
    class: 'missing',
    subject,
    resource: `grade/2001/5001/${userId}`,
    fields: ['grade'],
    reason: 'recent',
    writtenMs: Date.now() - 5 * hourMs,
    messageId: `message-${userId}`,
    ...changes,
  };
};

export const enrollmentOf = (changes: Partial<Finding> = {}): Finding => {
  userId += 1;
  const subject = { kind: 'enrollment' as const, orgUnitId: 2001, userId };
  return findingOf({ subject, resource: `enrollment/2001/${userId}`, fields: ['whole'], ...changes });
};

/** As the function writes it, its findings in two parts. */
export const writeRun = async (
  bucket: Bucket,
  report: Report,
  findings: readonly Finding[] = [],
): Promise<Report> => {
  const half = Math.ceil(findings.length / 2);
  const parts = findings.length === 0 ? [] : [findings.slice(0, half), findings.slice(half)];
  for (const [at, part] of parts.entries())
    await putText(
      bucket,
      findingsKey(report.id, at + 1),
      // Of nothing at all the client would say that its length is not known.
      part.map((each) => `${JSON.stringify(each)}\n`).join('') || '\n',
    );
  const whole = { ...report, parts: parts.length, findings: findings.length };
  await putText(bucket, reportKey(report.id), JSON.stringify(whole));
  if (report.state !== 'running') await putText(bucket, latestKey, JSON.stringify({ id: report.id }));
  return whole;
};
