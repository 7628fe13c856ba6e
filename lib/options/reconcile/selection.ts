import { hash } from 'node:crypto';

/** Why something is checked: it was written in the last day, it is its turn, it is in the random sample, or a snapshot contains it. */
export const reasons = ['recent', 'slice', 'sample', 'snapshot'] as const;
export type Reason = (typeof reasons)[number];

export const noReasons = <Value>(make: () => Value): Record<Reason, Value> =>
  Object.fromEntries(reasons.map((reason) => [reason, make()])) as Record<Reason, Value>;

export type Selection = {
  /** All writes since then are checked, in milliseconds. */
  sinceMs: number;
  /** Older writes take turns: each is checked once in this many nights. */
  nights: number;
  night: number;
  /** The share of the random sample among older writes, from 0 to 1. */
  share: number;
  /** Each run's id selects another sample. */
  runId: string;
};

/** The sample comes first: if it omitted writes because of their turn, it would be less representative. */
export const reasonFor = (
  { resource, subject, writtenMs }: { resource: string; subject: Subject; writtenMs: number },
  selection: Selection,
): Exclude<Reason, 'snapshot'> | undefined => {
  if (writtenMs >= selection.sinceMs) return 'recent';
  if (chanceOf(`${selection.runId} ${resource}`) < selection.share) return 'sample';
  const turn = subject.kind === 'enrollment' ? orgUnitSliceKey(subject.orgUnitId) : resource;
  return isDueTonight(turn, selection) ? 'slice' : undefined;
};

/** An org unit's enrollments have their turn together: one classlist shows them all. */
export const isOrgUnitDueTonight = (orgUnitId: number, selection: Selection): boolean =>
  isDueTonight(orgUnitSliceKey(orgUnitId), selection);

const orgUnitSliceKey = (orgUnitId: number): string => `enrollment/${orgUnitId}`;

const isDueTonight = (text: string, { nights, night }: Selection): boolean =>
  Math.floor(chanceOf(text) * nights) === night % nights;

/** From 0 to 1, evenly distributed over texts, and constant for a text. */
const chanceOf = (text: string): number => Number.parseInt(hash('sha256', text).slice(0, 12), 16) / 2 ** 48;

/** The parts of the ledger's keys: `grade/2001/5001/301`, `enrollment/2001/301`. */
export type Subject = {
  kind: 'grade' | 'enrollment';
  orgUnitId: number;
  userId: number;
  gradeObjectId?: number;
};

/** Undefined for a resource of another kind. */
export const subjectOf = (resource: string): Subject | undefined => {
  const [kind, ...ids] = resource.split('/');
  const numbers = ids.map(Number);
  const [orgUnitId = 0, second = 0, third = 0] = numbers;
  if (!numbers.every((id) => Number.isSafeInteger(id) && id > 0)) return undefined;
  if (kind === 'enrollment' && ids.length === 2) return { kind, orgUnitId, userId: second };
  if (kind === 'grade' && ids.length === 3) return { kind, orgUnitId, gradeObjectId: second, userId: third };
  return undefined;
};
