import { reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import { audited } from '../../../desk/stage-state/execution.ts';
import { actorOf } from '../../../stage/actor.ts';
import type { Audit } from '../../../stage/audit.ts';
import type { Target } from '../../../stage/target.ts';
import { acceptedPrefix, newRunId } from '../record.ts';
import {
  type Choice,
  chooseFindings,
  decisionOn,
  messagesOf,
  type SelectedFindings,
} from './choose-findings.ts';

export type AcceptOptions = Choice & {
  reason: string;
  audit: Audit;
  confirm(chosen: SelectedFindings): Promise<boolean>;
};

/**
 * Accepts that the platform differs as these findings say. No run reports them again, unless the resource is written again or changes on
 * the platform. Undefined: the operator declined. @throws RefusedError
 */
export const acceptFindings = async (
  target: Target,
  { reason, audit, confirm, ...choice }: AcceptOptions,
): Promise<SelectedFindings | undefined> => {
  const chosen = await chooseFindings(target, choice);
  if (!(await confirm(chosen)) || choice.signal.aborted) return undefined;
  const { run, findings } = chosen;
  const count = findings.length;
  const entry = {
    command: 'reconcile accept' as const,
    done: 'accepted',
    count,
    filter: { run, of: choice.of },
    reason,
    counts: { findings: count },
    letters: messagesOf(findings),
  };
  await audited(audit, entry, async () => {
    const { writeJson } = await reviewBucketOf(target);
    const decision = decisionOn(findings, { by: await actorOf(target), why: reason });
    await writeJson(`${acceptedPrefix}${newRunId()}.json`, decision);
  });
  return chosen;
};
