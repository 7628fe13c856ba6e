import { createHash } from 'node:crypto';
import { withoutIds } from '../../../delivery/letters/letter-words.ts';
import { type EffectClass, faultClasses } from '../classes.ts';
import type { Finding } from '../record.ts';

/** Findings that need the same action. */
export type FindingGroup = {
  /** Identifies the group in a command; the same group has the same id in every run. */
  id: string;
  kind: Finding['subject']['kind'];
  class: EffectClass;
  fields: string[];
  /** Of unreadable resources: what failed, without ids, and the kind of failure. */
  error: string | undefined;
  failure: string | undefined;
  findings: number;
  orgUnits: number;
  users: number;
  /** When the writes were made; undefined: sis-relay has made none of them. */
  earliestMs: number | undefined;
  latestMs: number | undefined;
  /** The first of its resources. */
  examples: string[];
  remedy: string;
};

const maxExamples = 3;
const maxErrorLength = 300;

const remedies: Readonly<Record<EffectClass, string>> = {
  same: '',
  missing: 'Send it again. If it was right to remove it on the platform, accept it.',
  older:
    'Send it again. If the platform was restored from a backup, ask its administrators which days it has lost.',
  different: 'Send it again. If the platform is right, accept it.',
  changed:
    'Ask the person who changed it. If the platform is right, accept it. If not, have the SIS send its value again as a new message.',
  extra:
    'Ask the person who enrolled them on the platform. If the platform is right, accept it. If not, have the SIS send their removal.',
  unreadable:
    'Remove the cause of the error, then compare again. Until then, it is not known whether these differ.',
};

export const isFault = (each: EffectClass): boolean =>
  (faultClasses as readonly EffectClass[]).includes(each);

const errorOf = ({ class: its, error = '' }: Finding): string | undefined =>
  its === 'unreadable' ? withoutIds(error).slice(0, maxErrorLength) : undefined;

const keyOf = (finding: Finding): string => {
  const { subject, class: its, fields, kind = '' } = finding;
  // An unreadable resource fails for the same cause, whichever fields are meant.
  const error = errorOf(finding);
  return JSON.stringify([
    subject.kind,
    its,
    ...(error === undefined ? [[...fields].sort()] : [[], kind, error]),
  ]);
};

export const groupIdOf = (finding: Finding): string =>
  createHash('sha256').update(keyOf(finding)).digest('hex').slice(0, 8);

type CountedGroup = FindingGroup & { orgUnitIds: Set<number>; userIds: Set<number> };

/** Groups findings one by one. Faults come first, then the largest group. */
export const createGroups = (): { add(finding: Finding): void; all(): FindingGroup[] } => {
  const groups = new Map<string, CountedGroup>();
  return {
    add: (finding) => {
      const id = groupIdOf(finding);
      const group = groups.get(id) ?? newGroup(id, finding);
      groups.set(id, group);
      count(group, finding);
    },
    all: () =>
      [...groups.values()]
        .map(({ orgUnitIds, userIds, ...group }) => ({
          ...group,
          orgUnits: orgUnitIds.size,
          users: userIds.size,
        }))
        .sort(
          (one, other) =>
            Number(isFault(other.class)) - Number(isFault(one.class)) || other.findings - one.findings,
        ),
  };
};

const newGroup = (id: string, finding: Finding): CountedGroup => {
  const { class: its, subject, fields, kind } = finding;
  const error = errorOf(finding);
  return {
    id,
    kind: subject.kind,
    class: its,
    error,
    fields: error === undefined ? [...fields].sort() : [],
    failure: error === undefined ? undefined : kind,
    findings: 0,
    orgUnits: 0,
    users: 0,
    earliestMs: undefined,
    latestMs: undefined,
    examples: [],
    remedy: remedies[its],
    orgUnitIds: new Set<number>(),
    userIds: new Set<number>(),
  };
};

const count = (group: CountedGroup, { subject, resource, writtenMs }: Finding): void => {
  group.findings += 1;
  group.orgUnitIds.add(subject.orgUnitId);
  group.userIds.add(subject.userId);
  if (group.examples.length < maxExamples) group.examples.push(resource);
  if (writtenMs === undefined) return;
  group.earliestMs = Math.min(group.earliestMs ?? writtenMs, writtenMs);
  group.latestMs = Math.max(group.latestMs ?? writtenMs, writtenMs);
};

export const groupsOf = (findings: Iterable<Finding>): FindingGroup[] => {
  const groups = createGroups();
  for (const each of findings) groups.add(each);
  return groups.all();
};
