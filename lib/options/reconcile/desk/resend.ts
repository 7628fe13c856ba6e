import { readListing } from '../../../desk/messages/letters/list.ts';
import { reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import { type PollOptions, pollUntilEnd, startExecution } from '../../../desk/stage-state/execution.ts';
import { actorOf } from '../../../stage/actor.ts';
import type { Audit } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import type { EffectClass } from '../classes.ts';
import {
  type Finding,
  newRunId,
  type ResendCounts,
  type ResendResult,
  resendCounts,
  resendKey,
  resendListKey,
  resendResultKey,
  resendResultSchema,
} from '../record.ts';
import {
  type Choice,
  chooseFindings,
  decisionOn,
  messagesOf,
  type SelectedFindings,
} from './choose-findings.ts';
import { groupsOf } from './groups.ts';

/** Findings whose message is a letter: its replay is the remedy. */
export type WithLetter = { resource: string; letter: string };

export type ResendPlan = SelectedFindings & {
  /** These are not sent. */
  withLetter: WithLetter[];
};

export type Resent = {
  plan: ResendPlan;
  /** `unheard`: the function has not recorded the result yet. */
  outcome: 'done' | 'failed' | 'unheard' | 'nothing to send' | 'not agreed';
  id?: string;
  counts?: ResendCounts;
  outcomes?: ResendResult['outcomes'];
  why?: string | undefined;
  /** Where the result is, or will be. */
  result?: string;
  /** The address of the list of what the SIS itself must send again; undefined: nothing. */
  listForSis?: string | undefined;
};

type ResendOptions = Choice &
  PollOptions & {
    reason: string;
    audit: Audit;
    confirm(plan: ResendPlan): Promise<boolean>;
  };

const whyNot: Partial<Record<EffectClass, string>> = {
  changed:
    'it was changed on the platform since, and sending it again would undo that. Ask the person who changed it. Then accept it, or have the SIS send its value as a new message',
  extra:
    'sis-relay has not written it, so there is nothing to send again. Accept it, or have the SIS send its removal',
  unreadable:
    'it could not be read, so it is not known whether it differs. Remove the cause of the error, then compare again',
};

const refuseOthers = (findings: readonly Finding[]): void => {
  for (const { class: its, resource } of findings) {
    const why = whyNot[its];
    if (why === undefined) continue;
    const count = findings.filter((each) => each.class === its).length;
    const others = count > 1 ? `, and ${count - 1} more,` : '';
    throw new RefusedError(`${resource}${others} cannot be sent again (${its}): ${why}.`);
  }
};

/**
 * Has the function send again what the platform lacks: it looks in the last snapshots of the SIS, and lists what no snapshot has.
 * @throws RefusedError if nothing of it can be sent again.
 */
export const resendFindings = async (target: Target, options: ResendOptions): Promise<Resent> => {
  const { reason, audit, confirm, signal, of } = options;
  const chosen = await chooseFindings(target, options);
  refuseOthers(chosen.findings);
  // The ledger and a snapshot may both show the same difference.
  const byResource = Map.groupBy(chosen.findings, ({ resource }) => resource);
  const each = [...byResource.values()].flatMap(([first]) => first ?? []);
  const letters = await lettersOf(target, signal);
  const withLetter = each.flatMap(({ resource }) => {
    const letter = letters.get(resource);
    return letter === undefined ? [] : [{ resource, letter }];
  });
  const findings = each.filter(({ resource }) => !letters.has(resource));
  const plan = { run: chosen.run, findings, groups: groupsOf(findings), withLetter };
  const agreed = await confirm(plan);
  if (findings.length === 0) return { plan, outcome: 'nothing to send' };
  if (!agreed || signal.aborted) return { plan, outcome: 'not agreed' };

  const id = newRunId();
  const execution = { of: 'reconcile', name: `resend-${id}` } as const;
  const { end } = await audit.begin({
    command: 'reconcile resend',
    filter: { run: chosen.run, of, id },
    reason,
    counts: { findings: findings.length },
    letters: messagesOf(findings),
  });
  const bucket = await reviewBucketOf(target);
  let isAsked = false;
  let resendResult: ResendResult | undefined;
  try {
    await bucket.writeJson(resendKey(id), decisionOn(findings, { by: await actorOf(target), why: reason }));
    await startExecution(target, execution, { resend: id });
    isAsked = true;
    const key = resendResultKey(id);
    const look = async (): Promise<ResendResult | undefined> => {
      const json = await bucket.jsonIfAny(key);
      return json === undefined ? undefined : resendResultSchema.parse(json);
    };
    resendResult = await pollUntilEnd(target, execution, { ...options, look });
  } finally {
    await end(
      resendResult === undefined
        ? { sent: 0, unheard: isAsked ? findings.length : 0 }
        : resendCounts(resendResult.outcomes),
    );
  }
  const result = bucket.addressOf(resendResultKey(id));
  if (resendResult === undefined) return { plan, outcome: 'unheard', id, result };
  const { state, why, outcomes } = resendResult;
  const counts = resendCounts(outcomes);
  const listForSis = counts['not-held'] > 0 ? bucket.addressOf(resendListKey(id)) : undefined;
  return { plan, outcome: state, id, counts, outcomes, why, result, listForSis };
};

/** The newest letter of each resource. */
const lettersOf = async (target: Target, signal: AbortSignal): Promise<Map<string, string>> => {
  if (target.deskTable === undefined) return new Map();
  const { all } = await readListing(target, 'letter', { filter: {}, signal });
  return new Map(
    all.flatMap(({ resource, message }) => (resource === undefined ? [] : [[resource, message]])),
  );
};
