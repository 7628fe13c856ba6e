import type { OperatorContext } from '../../../desk/operator-actions/operator-context.ts';
import { countOf } from '../../../desk/views/format.ts';
import { text } from '../../../desk/views/view.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import type { CommandName } from '../../../stage/roles.ts';
import { type DecisionOptions, type DecisionResult, decideSnapshot } from './decide.ts';
import { type EndedFeed, endFeed, planEnds } from './end.ts';
import { withFiveCounts } from './read.ts';
import { acceptNames } from './reassigned-names.ts';
import { acceptedNamesView, reassignedPlanView } from './views/reassigned-names.ts';
import { decidedText, endedFeedView, plannedEndsView, snapshotPlanView } from './views/snapshots.ts';

export const decide = async (
  { target, audit, signal, show, ask }: OperatorContext,
  id: string,
  { decision, reason }: Pick<DecisionOptions, 'decision' | 'reason'>,
): Promise<DecisionResult> => {
  const isApproval = decision === 'approved';
  const decided = await decideSnapshot(target, id, {
    decision,
    reason,
    audit,
    signal,
    confirm: async (snapshot) => {
      show('Plan', snapshotPlanView(snapshot));
      const answer = await ask({
        hint: `${isApproval ? 'All' : 'None'} of its changes are sent. Reason: ${reason}`,
        act: isApproval
          ? `Approve ${snapshot.id}, and send ${countOf(snapshot.of, 'message')}`
          : `Reject ${snapshot.id}`,
      });
      return answer !== undefined;
    },
  });
  const { snapshot, outcome } = decided;
  if (outcome === 'not agreed') return decided;
  show('Result', [text(decidedText(decided, decision))], { outcome, ...withFiveCounts(snapshot) });
  return decided;
};

type Ends = {
  names: readonly string[];
  integrations: Integrations;
  reason?: string | undefined;
  patienceMs: number;
};

export const end = async (
  { target, audit, signal, show, ask }: OperatorContext,
  { names, integrations, reason, patienceMs }: Ends,
): Promise<EndedFeed[]> => {
  const plans = await planEnds(target, { names, integrations, signal });
  show('Plan', plannedEndsView(plans));
  const messages = plans.reduce((sum, { of }) => sum + of, 0);
  const act = `End ${countOf(plans.length, 'file')}, and send ${countOf(messages, 'message')}`;
  if ((await ask({ hint: `Reason: ${reason}`, act })) === undefined) return [];
  const ended: EndedFeed[] = [];
  const planned = plans.map(({ feed, ...plan }) => ({ feed: feed.name, against: feed.id, ...plan }));
  try {
    for (const plan of plans) {
      if (signal.aborted || ended.some(({ outcome }) => outcome === 'not reached')) break;
      const one = await endFeed(target, plan, { reason, audit, signal, patienceMs });
      ended.push(one);
      show('Result', endedFeedView(one), { planned, ended });
    }
  } finally {
    const left = plans.slice(ended.length).map(({ feed }) => feed.name);
    if (left.length > 0 && ended.length > 0) show('Rest', [text(`Not ended: ${left.join(', ')}.`)]);
  }
  return ended;
};

export const acceptUserNames = async (
  { target, audit, signal, show, ask }: OperatorContext,
  given: { names: readonly string[] | 'all'; reason?: string | undefined; command: CommandName },
): ReturnType<typeof acceptNames> => {
  const acceptedNames = await acceptNames(target, {
    ...given,
    audit,
    signal,
    confirm: async (chosen) => {
      show('Plan', reassignedPlanView(chosen));
      const act = `Accept ${countOf(chosen.length, 'user name')}`;
      return (await ask({ act })) !== undefined;
    },
  });
  if (acceptedNames) show('Result', acceptedNamesView(acceptedNames), { acceptedNames });
  return acceptedNames;
};
