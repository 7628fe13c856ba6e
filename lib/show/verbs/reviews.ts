import type { Integrations } from '../../operate/stage/integrations.ts';
import { acceptMove, type ShownName } from '../../options/crosswalk-fill/desk/names.ts';
import {
  acceptedNamesView,
  acceptedView,
  acceptQuestion,
  passedPlanView,
  touchedView,
} from '../../options/crosswalk-fill/desk/view.ts';
import { acceptFindings } from '../../options/reconcile/desk/accept.ts';
import type { Chosen } from '../../options/reconcile/desk/choose-findings.ts';
import { type Resent, resendFindings } from '../../options/reconcile/desk/resend.ts';
import { chosenView, resendPlanView } from '../../options/reconcile/desk/views/comparison.ts';
import { resentNotes } from '../../options/reconcile/desk/views/reconcile.ts';
import { type Decided, type DecisionOptions, decideSnapshot } from '../../options/snapshots/desk/decide.ts';
import { type EndedFeed, endFeed, planEnds } from '../../options/snapshots/desk/end.ts';
import { acceptNames } from '../../options/snapshots/desk/passed.ts';
import { withFiveCounts } from '../../options/snapshots/desk/read.ts';
import {
  decidedText,
  endedFeedView,
  plannedEndsView,
  snapshotPlanView,
} from '../../options/snapshots/desk/views/snapshots.ts';
import { countOf } from '../views/amounts.ts';
import { text } from '../views/view.ts';
import type { Operator } from './operator.ts';

export const decide = async (
  { target, audit, signal, show, ask }: Operator,
  id: string,
  { decision, reason }: Pick<DecisionOptions, 'decision' | 'reason'>,
): Promise<Decided> => {
  const isApproval = decision === 'approved';
  const decided = await decideSnapshot(target, id, {
    ...{ decision, reason, audit, signal },
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
  { target, audit, signal, show, ask }: Operator,
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

type Findings = { run?: string | undefined; of: readonly string[]; reason: string };

export const accept = async (
  { target, audit, signal, show, ask }: Operator,
  given: Findings,
): Promise<Chosen | undefined> => {
  const accepted = await acceptFindings(target, {
    ...{ ...given, audit, signal },
    confirm: async (chosen) => {
      show('Plan', chosenView(chosen));
      const act = `Accept ${countOf(chosen.findings.length, 'difference')}`;
      return (await ask({ hint: `Reason: ${given.reason}`, act })) !== undefined;
    },
  });
  if (accepted === undefined) return undefined;
  const { run, findings, groups } = accepted;
  const told = text(`${countOf(findings.length, 'difference')} accepted.`);
  show('Result', [told], { run, accepted: findings.length, groups });
  return accepted;
};

export const resend = async (
  { target, audit, signal, show, ask }: Operator,
  given: Findings & { patienceMs: number },
): Promise<Resent> => {
  const resent = await resendFindings(target, {
    ...{ ...given, audit, signal },
    confirm: async (plan) => {
      show('Plan', resendPlanView(plan));
      const count = plan.findings.length;
      const question = { hint: `Reason: ${given.reason}`, act: `Send ${countOf(count, 'write')} again` };
      return count > 0 && (await ask(question)) !== undefined;
    },
  });
  const { plan, ...told } = resent;
  const { run, findings, groups, withLetter } = plan;
  show('Result', resentNotes(resent), { run, asked: findings.length, groups, withLetter, ...told });
  return resent;
};

export const acceptCode = async (
  { target, audit, show, ask }: Operator,
  given: { code: string; reason?: string | undefined },
): Promise<ShownName | undefined> => {
  const accepted = await acceptMove(target, {
    ...{ ...given, audit },
    confirm: async (moved, touched) => {
      show('Plan', touchedView(moved, touched));
      return (await ask({ text: acceptQuestion(moved), act: 'Accept this move' })) !== undefined;
    },
  });
  if (accepted) show('Result', acceptedView(accepted), { accepted });
  return accepted;
};

export const acceptUserNames = async (
  { target, audit, signal, show, ask }: Operator,
  given: { names: readonly string[] | 'all'; reason?: string | undefined },
): ReturnType<typeof acceptNames> => {
  const acceptedNames = await acceptNames(target, {
    ...{ ...given, audit, signal },
    confirm: async (chosen) => {
      show('Plan', passedPlanView(chosen));
      const act = `Accept ${countOf(chosen.length, 'user name')}`;
      return (await ask({ act })) !== undefined;
    },
  });
  if (acceptedNames) show('Result', acceptedNamesView(acceptedNames), { acceptedNames });
  return acceptedNames;
};
