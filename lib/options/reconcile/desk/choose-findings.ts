import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import type { DecidedFindings, Finding } from '../record.ts';
import { type FindingGroup, groupIdOf, groupsOf } from './groups.ts';
import { readComparison } from './read.ts';

export type SelectedFindings = {
  run: string;
  findings: Finding[];
  groups: FindingGroup[];
};

/** One command takes no more, because it writes one object. */
const maxChosen = 100_000;

export type Choice = {
  /** Default: the run that ended last. */
  run?: string | undefined;
  /** Ids of groups, or resources. */
  of: readonly string[];
  signal: AbortSignal;
};

/** The findings of these groups and resources that are not accepted. @throws UsageError, RefusedError if one matches none. */
export const chooseFindings = async (
  target: Target,
  { run, of, signal }: Choice,
): Promise<SelectedFindings> => {
  if (of.length === 0) throw new UsageError('Which findings? Name the id of a group, or a resource.');
  const { report, findings, omitted } = await readComparison(target, { run, of, limit: maxChosen, signal });
  if (omitted > 0)
    throw new RefusedError(
      `${findings.length + omitted} findings are too many for one command, which takes at most ${maxChosen}. Name groups or resources that have fewer.`,
    );
  const found = new Set(findings.flatMap((each) => [each.resource, groupIdOf(each)]));
  const unknown = of.filter((each) => !found.has(each));
  if (unknown.length > 0)
    throw new RefusedError(
      `Run ${report.id} has no group and no resource ${unknown.join(', ')} that differs and is not accepted.`,
    );
  return { run: report.id, findings, groups: groupsOf(findings) };
};

/** The decision in the form that the function reads. */
export const decisionOn = (
  findings: readonly Finding[],
  { by, why }: Pick<DecidedFindings, 'by' | 'why'>,
): DecidedFindings => ({
  by,
  atMs: Date.now(),
  why,
  findings: findings.map(({ resource, class: its, writtenMs, changedAt }) => ({
    resource,
    class: its,
    ...(changedAt !== undefined && { changedAt }),
    ...(writtenMs !== undefined && { writtenMs }),
  })),
});

/** SQS' ids, for the audit log. */
export const messagesOf = (findings: readonly Finding[]): string[] => [
  ...new Set(findings.flatMap(({ messageId }) => messageId || [])),
];
