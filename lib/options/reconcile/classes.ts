import { haveSameKey } from '../../delivery/ledger/digest.ts';
import type { FieldChange } from '../../delivery/ledger/item.ts';

/** The classes of a write, by what the platform shows. */
export const classes = ['same', 'missing', 'older', 'different', 'changed', 'extra', 'unreadable'] as const;
export type EffectClass = (typeof classes)[number];

/** Classes that a person has to look at; `changed` and `extra` may be decisions made on the platform. */
export const faultClasses = ['missing', 'older', 'different', 'unreadable'] as const satisfies EffectClass[];

export const classMeanings: Readonly<Record<EffectClass, string>> = {
  same: 'is as it was sent',
  missing: 'is not there',
  older: 'has its former value: the change was lost or rolled back',
  different: 'has another value than was sent, and the platform shows no later change',
  changed: 'was changed on the platform since, by a person or another program',
  extra: 'is on the platform, but not in the last snapshot of the SIS',
  unreadable: 'cannot be read',
};

/** What the platform shows of a resource; undefined: it does not exist. */
export type PlatformValue = {
  /** The candidates for each field's value: a grade may be of more than one type. Undefined: the platform does not show the field. */
  fields: Readonly<Record<string, readonly string[] | undefined>>;
  /** When it was last changed, by our clock; undefined: the platform does not report it. */
  changedMs: number | undefined;
  /** The same time in the platform's format. */
  changedAt?: string;
};

/** The fields of a resource that does not exist on the platform: a missing grade has no comment. */
export type Nothing = Readonly<Record<string, string>>;

/** The compared part of a field's last change. */
export type WrittenField = Pick<FieldChange, 'messageId' | 'outcome' | 'begunMs'> & {
  digest?: string | undefined;
};

type ComparedValues = {
  fields: Readonly<Record<string, WrittenField>>;
  shown: PlatformValue | undefined;
  nothing: Nothing;
  /** The digests of a field with this value, one by each known key. */
  digestsOf(field: string, value: string): readonly string[];
  /** The longest duration of the attempt that wrote it, in milliseconds. */
  attemptMs: number;
};

/** The platform's times have a resolution of one second. */
const timeResolutionMs = 1_000;

/** The class is undefined if nothing can be said: the write is not over, left no outcome, or its digest is by an unknown key. */
export type Judgement =
  | {
      class: EffectClass;
      fields: string[];
      /** Undefined: sis-relay has not written it. */
      writtenMs?: number;
    }
  | { class: undefined; why: 'in progress' | 'no digest' | 'not shown' };

/** Compares the platform's state with the last write, field by field. The result is the class of the worst field. */
export const judgeEffect = (compared: ComparedValues): Judgement => {
  const { fields, shown, nothing, digestsOf, attemptMs } = compared;
  const all = Object.entries(fields);
  const writtenMs = Math.max(0, ...all.map(([, { begunMs }]) => begunMs));
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
    // A digest by an unknown key cannot be compared: a difference would mean nothing.
    if (!made.some((each) => haveSameKey(each, digest))) {
      isUnknown = true;
      continue;
    }
    isCompared = true;
    if (!values.some((value) => digestsOf(field, value).includes(digest))) wrong.push(field);
  }
  if (!isCompared) return { class: undefined, why: isHidden ? 'not shown' : 'no digest' };
  // If one part is there, the others may still be missing.
  if (wrong.length === 0 && isUnknown) return { class: undefined, why: 'no digest' };
  if (wrong.length === 0) return { class: 'same', fields: [], writtenMs };
  if (all.some(([, field]) => isInProgress(field))) return { class: undefined, why: 'in progress' };
  if (shown === undefined) return { class: 'missing', fields: wrong, writtenMs };
  return { class: classOfDifference(shown, { writtenMs, attemptMs }), fields: wrong, writtenMs };
};

/** It is being sent, or its message waits on its queue or is a letter. */
export const isInProgress = ({ outcome }: WrittenField): boolean => outcome !== 'done';

/** By when the platform last changed it: before our write, with it, or since. */
const classOfDifference = (
  { changedMs }: PlatformValue,
  { writtenMs, attemptMs }: { writtenMs: number; attemptMs: number },
): EffectClass => {
  if (changedMs === undefined) return 'different';
  if (changedMs < writtenMs - timeResolutionMs) return 'older';
  return changedMs > writtenMs + attemptMs + timeResolutionMs ? 'changed' : 'different';
};
