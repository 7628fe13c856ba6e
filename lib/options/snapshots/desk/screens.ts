import {
  addAction,
  addScreen,
  type ConsoleServices,
  reasonIn,
} from '../../../desk/console/console-services.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { decide } from './operator-actions.ts';
import { listSnapshots, showSnapshot } from './read.ts';
import { snapshotListView, snapshotView } from './views/snapshots.ts';

export const addScreens = (services: ConsoleServices): void => {
  const { target, runs } = services;
  addScreen(services, ['/snapshots', 'Snapshots'], async (_query, context) => {
    const { signal } = context.req.raw;
    return snapshotListView(await listSnapshots(target, { limit: 50, signal }), services.name);
  });

  addScreen(services, ['/snapshots/:id', 'Snapshot'], async (_query, context) => {
    const id = context.req.param('id') ?? '';
    return snapshotView(await showSnapshot(target, id, context.req.raw.signal));
  });

  addAction(services, '/snapshot-decision', (form) => {
    const id = form.get('id') ?? '';
    const decision = form.get('decision');
    if (decision !== 'approved' && decision !== 'rejected') throw new UsageError('Approve it, or reject it?');
    const reason = reasonIn(form);
    const title = decision === 'approved' ? 'Approve a snapshot' : 'Reject a snapshot';
    return runs.begin(title, (at) => decide(at, id, { decision, reason }), { about: id });
  });
};
