import { UsageError } from '../../deployment/command-errors.ts';
import { hiddenFields, reasonField } from '../../markup/forms.ts';
import { type Html, html, notes, said } from '../../markup/html.ts';
import { type Columns, table } from '../../markup/table.ts';
import { decideSnapshot } from '../../snapshots/desk/decide.ts';
import { listSnapshots, type ShownSnapshot, showSnapshot } from '../../snapshots/desk/read.ts';
import type { Counts, SnapshotRecord } from '../../snapshots/record.ts';
import { ageOf, countOf } from '../../views/amounts.ts';
import * as wording from '../../views/snapshots.ts';
import { addScreen, addVerb, type Desk, reasonIn } from '../desk.ts';

export const addSnapshots = (desk: Desk): void => {
  const { target, audit, runs, readOnly } = desk;
  addScreen(desk, ['/snapshots', 'Snapshots'], async (_query, context) => {
    const { signal } = context.req.raw;
    const { snapshots, accepted, acceptedTables, all } = await listSnapshots(target, { limit: 50, signal });
    return html`${accepted ? html`<p>The next zip is compared with ${snapshotLink(accepted)}.</p>` : ''}
${Object.entries(acceptedTables).map(([name, id]) => html`<p>The next ${name} is compared with ${snapshotLink(id)}.</p>`)}
${table('Snapshots', snapshots, listColumns, { empty: wording.noSnapshotsText(desk.name) })}
${snapshots.length < all ? html`<p class="quiet">These are the newest ${snapshots.length} of ${all}.</p>` : ''}`;
  });

  addScreen(desk, ['/snapshots/:id', 'Snapshot'], async (_query, context) => {
    const id = context.req.param('id') ?? '';
    return snapshotOf(await showSnapshot(target, id, context.req.raw.signal), readOnly);
  });

  addVerb(desk, '/snapshot-decision', (form) => {
    const id = form.get('id') ?? '';
    const decision = form.get('decision');
    if (decision !== 'approved' && decision !== 'rejected') throw new UsageError('Approve it, or reject it?');
    const reason = reasonIn(form);
    const isApproval = decision === 'approved';
    const verb = isApproval ? 'Approve' : 'Reject';
    return runs.begin(`${verb} a snapshot`, async (at) => {
      const confirm = async (snapshot: SnapshotRecord): Promise<boolean> => {
        at.show('Plan', changesOf(snapshot));
        const act = isApproval ? `Approve, and send ${countOf(snapshot.of, 'message')}` : verb;
        const text = `${isApproval ? 'All' : 'None'} of its changes are sent. Reason: ${reason}`;
        return (await at.ask({ text, act })) !== undefined;
      };
      const options = { decision, reason, audit, signal: at.signal, confirm } as const;
      const decided = await decideSnapshot(target, id, options);
      if (decided.outcome !== 'not agreed')
        at.show('Result', notes([{ tone: 'good', text: wording.decidedText(decided, decision) }]));
    });
  });
};

const snapshotLink = (id: string): Html =>
  html`<a href="/snapshots/${encodeURIComponent(id)}">${said(id)}</a>`;

const counted = <Row>(countsOf: (row: Row) => Counts): Columns<Row> =>
  Object.fromEntries(
    wording.countNames.map((name) => [
      name.replace(/^./, (first) => first.toUpperCase()),
      (row) => countsOf(row)[name],
    ]),
  );

const stateOf = (each: SnapshotRecord): Html =>
  html`<span class="badge ${wording.snapshotTone(each)}">${wording.snapshotState(each)}</span>`;

const listColumns: Columns<SnapshotRecord> = {
  ...{ Snapshot: ({ id }) => snapshotLink(id), Age: ({ droppedAt }) => ageOf(Date.parse(droppedAt)) },
  ...{ State: stateOf, ...counted(({ counts }) => counts), File: ({ key }) => said(key) },
};

const changesOf = ({ byKind, counts }: SnapshotRecord): Html =>
  table('What it changes', [...Object.entries(byKind), ['all', counts] as const], {
    Kind: ([kind]) => said(kind),
    ...counted(([, each]) => each),
  });

const snapshotOf = (snapshot: ShownSnapshot, readOnly: boolean): Html => {
  const { id, key, state, droppedAt, refusedRows, report } = snapshot;
  const decide = html`<form method="post" action="/snapshot-decision">${hiddenFields({ id })}${reasonField(true)}
<button name="decision" value="approved">Approve</button> <button name="decision" value="rejected">Reject</button></form>`;
  const refused = html`<section><h2>Rows that were not used</h2><p>${wording.refusedRowsTitle(snapshot)}</p>
<ul>${refusedRows.map((row) => html`<li>${said(wording.refusedRowText(row))}</li>`)}</ul><p class="quiet">All of them are in ${said(report ?? '')}</p></section>`;
  return html`<p>${said(id)} ${stateOf(snapshot)}</p>
<p>${said(key)}, dropped ${ageOf(Date.parse(droppedAt))} ago; ${wording.sentText(snapshot)}.</p>${notes(wording.snapshotNotes(snapshot))}
${state === 'waiting-for-approval' && !readOnly ? decide : ''}
<section><h2>What it changes</h2>${changesOf(snapshot)}</section>${refusedRows.length === 0 ? '' : refused}`;
};
