import { type DecisionOptions, decideSnapshot } from '../../../../operate/reviews/snapshots/decide.ts';
import type { ProposedSnapshot } from '../../../../operate/reviews/snapshots/read.ts';
import type { SnapshotRecord } from '../../../../sources/snapshots/state/record.ts';
import { countOf } from '../../../views/amounts.ts';
import { decidedText, snapshotPlanView } from '../../../views/snapshots.ts';
import { text } from '../../../views/view.ts';
import type { CommandContext } from '../../command-context.ts';
import { printedRecord } from './printed-record.ts';

type Decision = DecisionOptions['decision'];

const actOf =
  (decision: Decision) =>
  async (context: CommandContext, id: string, { reason }: { reason?: string }): Promise<void> => {
    const { target, audit, signal, isJson, print, agreed, withProgress, finish } = context;
    const confirm = async (snapshot: ProposedSnapshot): Promise<boolean> => {
      if (!isJson) print(undefined, () => snapshotPlanView(snapshot));
      return agreed(questionOf(snapshot, decision));
    };
    const decided = await withProgress('Sending the decision', () =>
      decideSnapshot(target, id, { decision, reason, audit, signal, confirm }),
    );
    const { snapshot, outcome } = decided;
    if (outcome === 'not agreed') return finish(false);
    print({ outcome, ...printedRecord(snapshot) }, () => [text(decidedText(decided, decision))]);
    finish(true);
  };

export const approve = actOf('approved');
export const reject = actOf('rejected');

const questionOf = ({ id, of }: SnapshotRecord, decision: Decision): string =>
  decision === 'approved' ? `Approve ${id}, and send ${countOf(of, 'message')}?` : `Reject ${id}?`;
