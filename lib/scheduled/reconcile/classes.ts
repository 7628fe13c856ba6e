import { haveOneKey } from '../../delivery/ledger/digest.ts';
import type { Field } from '../../delivery/ledger/table.ts';

/** What became of a write, as the platform shows it. */
export const classes = ['same', 'missing', 'older', 'different', 'changed', 'extra', 'unreadable'] as const;
export type EffectClass = (typeof classes)[number];

/** Those that a person has to look at; `changed` and `extra` may have been decided on the platform. */
export const faultClasses = ['missing', 'older', 'different', 'unreadable'] as const satisfies EffectClass[];

/** What each class says of a write. */
export const classMeanings: Readonly<Record<EffectClass, string>> = {
  same: 'is as it was sent',
  missing: 'is not there',
  older: 'has its former value: the change was lost or rolled back',
  different: 'has another value than was sent, and the platform shows no later change',
  changed: 'was changed on the platform since, by a person or another program',
  extra: 'is on the platform, but not in the last snapshot of the SIS',
  unreadable: 'cannot be read',
};

/** What the platform shows of a resource; undefined: there is none. */
export type Shown = {
  /** By field, what it may be of: a grade may be read as of more than one type. Undefined: the platform does not show the field. */
  fields: Readonly<Record<string, readonly string[] | undefined>>;
  /** When it was changed last, on our clock; undefined: the platform does not tell. */
  changedMs: number | undefined;
  /** The same as the platform writes it. */
  changedAt?: string;
};

/** What a resource without an entry on the platform has, by field: a grade that is not there has no comment. */
export type Nothing = Readonly<Record<string, string>>;

/** What is compared of the last claim of a field. */
export type WrittenField = Pick<Field, 'messageId' | 'outcome' | 'claimedMs' | 'digest'>;

type Compared = {
  fields: Readonly<Record<string, WrittenField>>;
  shown: Shown | undefined;
  nothing: Nothing;
  /** The digests of a field with this value, one by each key that is known. */
  digestsOf(field: string, value: string): readonly string[];
  /** What was written is presumed done after so long, in milliseconds. */
  settledMs: number;
  /** How long the attempt that wrote it may have taken, in milliseconds. */
  attemptMs: number;
  nowMs: number;
};

/** The platform tells times by the second. */
const clockGrainMs = 1_000;

/** Where nothing can be said of a write: it is not over, left no outcome, or its digest is by a key that is gone. */
export type Judged =
  | {
      class: EffectClass;
      fields: string[];
      /** Undefined: sis-relay has not written it. */
      writtenMs?: number;
    }
  | { class: undefined; why: 'in progress' | 'no digest' | 'not shown' };

/** Compares what the platform shows with what was written last, field by field: the class is that of the worst field. */
export const judgeEffect = (compared: Compared): Judged => {
  const { fields, shown, nothing, digestsOf, nowMs, settledMs, attemptMs } = compared;
  const all = Object.entries(fields);
  const writtenMs = Math.max(0, ...all.map(([, { claimedMs }]) => claimedMs));
  const wrong: string[] = [];
  let isCompared = false;
  let isHidden = false;
  let isUnknown = false;
  for (const [field, { digest }] of all) {
    if (digest === undefined) {
      isUnknown = true;
      continue;
    }
    const values = shown === undefined ? [nothing[field]].flatMap((each) => each ?? []) : shown.fields[field];
    if (values === undefined) {
      isHidden = true;
      continue;
    }
    const made = digestsOf(field, '');
    // By a key that is gone nothing can be compared: that it differs would say nothing.
    if (!made.some((each) => haveOneKey(each, digest))) {
      isUnknown = true;
      continue;
    }
    isCompared = true;
    if (!values.some((value) => digestsOf(field, value).includes(digest))) wrong.push(field);
  }
  if (!isCompared) return { class: undefined, why: isHidden ? 'not shown' : 'no digest' };
  // That a part of it is there does not say that all of it is.
  if (wrong.length === 0 && isUnknown) return { class: undefined, why: 'no digest' };
  if (wrong.length === 0) return { class: 'same', fields: [], writtenMs };
  if (all.some(([, field]) => isInProgress(field, { settledMs, nowMs })))
    return { class: undefined, why: 'in progress' };
  if (shown === undefined) return { class: 'missing', fields: wrong, writtenMs };
  return { class: classOfDifference(shown, { writtenMs, attemptMs }), fields: wrong, writtenMs };
};

/** Its message may still come back to its queue, waits there, or is a letter. */
const isInProgress = (
  { outcome, claimedMs }: WrittenField,
  { settledMs, nowMs }: { settledMs: number; nowMs: number },
): boolean =>
  outcome === 'unknown' || outcome === 'undone' || (outcome === 'claimed' && claimedMs + settledMs > nowMs);

/** By when the platform changed it last: before our write, with it, or since. */
const classOfDifference = (
  { changedMs }: Shown,
  { writtenMs, attemptMs }: { writtenMs: number; attemptMs: number },
): EffectClass => {
  if (changedMs === undefined) return 'different';
  if (changedMs < writtenMs - clockGrainMs) return 'older';
  return changedMs > writtenMs + attemptMs + clockGrainMs ? 'changed' : 'different';
};
