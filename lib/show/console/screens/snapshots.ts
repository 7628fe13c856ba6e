import { decideSnapshot } from '../../../operate/reviews/snapshots/decide.ts';
import {
  listSnapshots,
  type ProposedSnapshot,
  showSnapshot,
} from '../../../operate/reviews/snapshots/read.ts';
import { UsageError } from '../../../operate/stage/command-errors.ts';
import { countOf } from '../../views/amounts.ts';
import { decidedText, snapshotListView, snapshotPlanView, snapshotView } from '../../views/snapshots.ts';
import { addScreen, addVerb, type Desk, reasonIn } from '../desk.ts';

export const addSnapshots = (desk: Desk): void => {
  const { target, audit, runs } = desk;
  addScreen(desk, ['/snapshots', 'Snapshots'], async (_query, context) => {
    const { signal } = context.req.raw;
    return snapshotListView(await listSnapshots(target, { limit: 50, signal }), desk.name);
  });

  addScreen(desk, ['/snapshots/:id', 'Snapshot'], async (_query, context) => {
    const id = context.req.param('id') ?? '';
    return snapshotView(await showSnapshot(target, id, context.req.raw.signal));
  });

  addVerb(desk, '/snapshot-decision', (form) => {
    const id = form.get('id') ?? '';
    const decision = form.get('decision');
    if (decision !== 'approved' && decision !== 'rejected') throw new UsageError('Approve it, or reject it?');
    const reason = reasonIn(form);
    const isApproval = decision === 'approved';
    const verb = isApproval ? 'Approve' : 'Reject';
    return runs.begin(`${verb} a snapshot`, async (at) => {
      const confirm = async (snapshot: ProposedSnapshot): Promise<boolean> => {
        at.show('Plan', snapshotPlanView(snapshot));
        const act = isApproval ? `Approve, and send ${countOf(snapshot.of, 'message')}` : verb;
        const text = `${isApproval ? 'All' : 'None'} of its changes are sent. Reason: ${reason}`;
        return (await at.ask({ text, act })) !== undefined;
      };
      const options = { decision, reason, audit, signal: at.signal, confirm } as const;
      const decided = await decideSnapshot(target, id, options);
      if (decided.outcome !== 'not agreed')
        at.show('Result', [{ tone: 'good', text: decidedText(decided, decision) }]);
    });
  });
};
