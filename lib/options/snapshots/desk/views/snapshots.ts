import { ageOf, countOf, numberOf } from '../../../../desk/views/format.ts';
import { quoted } from '../../../../desk/views/quoted.ts';
import {
  type Block,
  badge,
  type Columns,
  type Form,
  list,
  type Note,
  type Piece,
  part,
  section,
  type Tone,
  table,
  text,
  type View,
} from '../../../../desk/views/view.ts';
import { plain } from '../../../../runtime/privacy/printable.ts';
import { needsRole } from '../../../../stage/roles.ts';
import type { Sample } from '../../compare/sample.ts';
import { feedOf, fileNameOf, zipFeed } from '../../feed.ts';
import { kindWords } from '../../kind-words.ts';
import { mostlyRefused, rowsTold } from '../../package/rows.ts';
import type { Counts, SnapshotRecord } from '../../state/record.ts';
import type { DecisionResult } from '../decide.ts';
import type { SnapshotDiff } from '../diff.ts';
import type { EndedFeed, PlannedEnd } from '../end.ts';
import type { FeedToEnd } from '../feeds.ts';
import type { ProposedSnapshot, ShownSnapshot, SnapshotList } from '../read.ts';
import type { TroubledImport, WaitingFile } from '../unaccepted.ts';
import { refusedSection } from './refusals.ts';

const states: Record<SnapshotRecord['state'], [text: string, tone: Tone]> = {
  comparing: ['is being compared', 'plain'],
  'waiting-for-approval': ['waits for approval', 'todo'],
  sending: ['is being sent', 'plain'],
  accepted: ['accepted', 'good'],
  rejected: ['rejected', 'warn'],
  failed: ['failed', 'bad'],
  superseded: ['superseded by a newer one', 'plain'],
};

const snapshotState = ({ state }: Pick<SnapshotRecord, 'state'>): string => states[state][0];

const snapshotTone = ({ state }: Pick<SnapshotRecord, 'state'>): Tone => states[state][1];

/** The five counts in the order of their columns. */
const countNames = ['created', 'updated', 'removed', 'unchanged', 'refused'] as const;

/** Sent events, of all. */
const sentText = ({ sent, of }: Pick<SnapshotRecord, 'sent' | 'of'>): string =>
  `${numberOf(sent)} of ${countOf(of, 'message')} sent`;

const percent = (share: number): string => `${Math.round(share * 10) / 10} %`;

/** What is above the limit is never shown as equal to it. */
const shareText = ({ share, limit }: Removals): string =>
  share > limit && percent(share) === percent(limit) ? `more than ${percent(limit)}` : percent(share);

type Removals = NonNullable<SnapshotRecord['removals']>;

const removalText = (removals: Removals): string => {
  const { limit, ofChanges } = removals;
  if (ofChanges === undefined)
    return `Removals: ${shareText(removals)} of what was accepted before. Above ${percent(limit)}, a person decides.`;
  const { kind, count, of, atLeast } = ofChanges;
  return `Removals: ${numberOf(count)} of ${numberOf(of)} ${plain(kindWords(kind))} (${percent((100 * count) / Math.max(of, 1))}). In a table of changes, a person decides from ${atLeast} on, if they are more than ${percent(limit)}.`;
};

const changeNotes = ({
  removals,
  lostColumns = [],
}: {
  removals: SnapshotRecord['removals'];
  lostColumns: SnapshotRecord['lostColumns'];
}): View => [
  removals !== undefined && {
    tone: removals.share > removals.limit ? 'warn' : 'plain',
    text: removalText(removals),
  },
  ...lostColumns.map(
    ({ file, columns }): Note => ({
      tone: 'warn',
      text: `${plain(file)} has lost ${columns.length === 1 ? 'its column' : 'its columns'} ${columns.map(plain).join(', ')}.`,
    }),
  ),
];

const plainResults = ['sent', 'unchanged', 'used', 'read'];

/** Differences between the rows and the wanted state. */
const rowNotes = (snapshot: Pick<SnapshotRecord, 'rows' | 'unknownRoles' | 'excluded' | 'of'>): View => {
  const results = Object.values(snapshot.rows ?? {}).flatMap((counts) => Object.keys(counts));
  const isPlain = results.every((result) => plainResults.includes(result));
  if (snapshot.rows === undefined || (isPlain && snapshot.of > 0)) return [];
  return rowsTold(snapshot, plain).map((text): Note => ({ tone: 'plain', text }));
};

const diffTitle = ({ against, of }: SnapshotDiff): string =>
  `${countOf(of, 'message')} would be sent, compared with ${against ?? 'nothing: no snapshot was accepted yet'}`;

const diffNotes = ({ reasons, removals, lostColumns, ...diff }: SnapshotDiff): View => [
  reasons.length > 0 && {
    tone: 'warn',
    text: `Nothing would be sent until a person approves it: ${reasons.map(plain).join('; ')}.`,
  },
  ...changeNotes({ removals, lostColumns }),
  ...rowNotes(diff),
];

/** Notes that come before everything else. */
export const snapshotNotes = (snapshot: SnapshotRecord): View => {
  const { why, removals, lostColumns, decided, state, unknownRoles = [] } = snapshot;
  const roles = unknownRoles.map(([role, rows]) => `${plain(role)} (${countOf(rows, 'row')})`);
  return [
    why !== undefined && { tone: snapshotTone(snapshot), text: plain(why ?? '') },
    ...changeNotes({ removals, lostColumns }),
    ...rowNotes(snapshot),
    // Other records show it beside the rows.
    roles.length > 0 &&
      snapshot.rows === undefined && {
        tone: 'warn',
        text: `Rows were refused because snapshot-settings.json has no id for their role: ${roles.join(', ')}. Add these roles to \`roles\` in snapshot-settings.json.`,
      },
    decided && {
      tone: 'plain',
      text: `${plain(decided.by)} ${decided.decision} it ${ageOf(Date.parse(decided.at))} ago${decided.reason ? `: ${plain(decided.reason)}` : '.'}`,
    },
    state === 'waiting-for-approval' && {
      tone: 'plain',
      text: 'None of its changes were sent yet. If you approve it, all of them are sent. If you reject it, none are sent, and the next snapshot is compared with what was accepted before.',
    },
  ];
};

/** The result of an approval or a rejection. */
export const decidedText = ({ snapshot, outcome }: DecisionResult, decision: string): string => {
  const { id, decided } = snapshot;
  if (outcome === 'already')
    return `${plain(decided?.by ?? 'Somebody')} ${decision} snapshot ${id} already. Nothing was changed.`;
  if (outcome === 'unheard')
    return `Snapshot ${id} is ${decision}. Its import has not recorded that yet. Look at it again in a minute.`;
  const then = decision === 'rejected' ? 'None of its changes were sent.' : `It ${isOrWas(snapshot)}.`;
  return `Snapshot ${id} is ${decision}. ${then}`;
};

const isOrWas = (snapshot: SnapshotRecord): string =>
  snapshot.state === 'accepted' ? 'was sent' : snapshotState(snapshot);

/** A snapshot that waits for a person or is being imported, as `status` names it. */
export const openSnapshotText = ({ id, droppedAt, state, why }: SnapshotRecord): string =>
  `Snapshot ${id}, put ${ageOf(Date.parse(droppedAt))} ago, ${snapshotState({ state })}${why ? `: ${plain(why)}` : '.'}`;

/** A file that waits for the import of another, as `status` names it. */
export const waitingFileText = (waiting: WaitingFile): string => {
  const { key, versionId, sizeBytes, putAt, behind, isEnd } = waiting;
  const file = `${plain(key)}${versionId === undefined ? '' : `, version ${plain(versionId)}`}`;
  if (sizeBytes === 0 && behind === undefined && !isEnd)
    return `${file}, put ${ageOf(Date.parse(putAt))} ago, is empty, and waits a minute for its content`;
  const until = behind === undefined ? 'for its turn to be imported' : `behind ${plain(behind)}`;
  if (isEnd)
    return `The end of ${plain(feedOf(waiting))}, begun ${ageOf(Date.parse(putAt))} ago, waits ${until}`;
  return `${file}, ${countOf(sizeBytes, 'byte')}, put ${ageOf(Date.parse(putAt))} ago, waits ${until}`;
};

const troubles: Record<TroubledImport['is'], [what: string, todo: string]> = {
  'partly refused': [
    'is accepted without some of its rows',
    'Correct these rows in the student system, or name their codes in the mapping or the settings, and put the file again. This is shown until a file of its feed has no refused row',
  ],
  failed: ['failed', 'Correct what it names, and put the file into the bucket again, or a newer export'],
  undecided: [
    'was neither approved nor rejected in time',
    'Put the file into the bucket again, or a newer export, and decide on it',
  ],
  refused: [
    'used few of its rows',
    'Look at the rows that were refused, correct them or the settings, and put an export into the bucket',
  ],
  ignored: ['was not imported', 'Put it again with the ending that it needs'],
  'cut off': [
    'ended without a result: its execution was stopped, or its time ended',
    'Put the file into the bucket again, or a newer export',
  ],
};

/** An import that a person must see to. */
export const troubledImportView = (troubled: TroubledImport): readonly [Note, ...View] => {
  const { key, versionId, putAt, id, is, why, isEnd } = troubled;
  const [what, todo] = troubles[is];
  const version = versionId === undefined ? '' : `, version ${plain(versionId)}`;
  const because = why === undefined ? '' : `: ${plain(why)}`;
  return [
    {
      tone: is === 'partly refused' ? 'warn' : 'bad',
      to: id === undefined ? '/snapshots' : `/snapshots/${encodeURIComponent(id)}`,
      text: isEnd
        ? `The end of ${plain(feedOf(troubled))}, begun ${ageOf(Date.parse(putAt))} ago, ${what}${because}`
        : `The import of ${plain(key)}${version}, put ${ageOf(Date.parse(putAt))} ago, ${what}${because}`,
    },
    { tone: 'todo', text: isEnd ? `Run \`${endCommand(feedOf(troubled))}\` again` : todo },
    { command: id === undefined ? 'snapshots list' : `snapshots show ${id}` },
  ];
};

const endCommand = (feed: string): string => `snapshots end ${quoted(plain(feed))}`;

const maxFeeds = 3;

/** Files that have not come for long, the first ones, and how to end them. Those of one pattern are ended together. */
export const feedsToEndView = (feeds: readonly FeedToEnd[]): View => {
  const groups = [...Map.groupBy(feeds, ({ pattern, name }) => pattern ?? name)];
  const more = groups.length - maxFeeds;
  return [
    ...groups.slice(0, maxFeeds).flatMap(([name, each]): View => {
      const one = each.length === 1;
      const came = ageOf(Math.min(...each.map(({ droppedAt }) => Date.parse(droppedAt))));
      const which = one ? plain(each[0]?.name ?? name) : `${countOf(each.length, 'file')} of ${plain(name)}`;
      const { pattern, isOverdue, usualHours } = each[0] ?? {};
      const since =
        pattern !== undefined
          ? 'once, by the settings'
          : isOverdue
            ? `and before that about every ${countOf(usualHours ?? 0, 'hour')}`
            : 'and others have come since';
      const heldBack = each.reduce((sum, feed) => sum + feed.heldBack, 0);
      const holds =
        heldBack === 0
          ? `What ${one ? 'it wants' : 'they want'} is kept`
          : `${countOf(heldBack, 'enrollment')} that other files have no more ${heldBack === 1 ? 'is' : 'are'} kept`;
      const command = endCommand(name);
      return [
        {
          tone: heldBack > 0 ? 'warn' : 'plain',
          to: '/snapshots',
          text: `${which} came ${came} ago, ${since}. ${holds}, until ${one ? 'it comes again or is' : 'they are'} ended by \`${command}\``,
        },
      ];
    }),
    // False would count as something to do.
    ...(more > 0
      ? [text(`And ${numberOf(more)} more. \`snapshots end\` takes several names, and patterns with *.`)]
      : []),
  ];
};

export const plannedEndsView = (plans: readonly PlannedEnd[]): View => [
  ...plans.flatMap(
    ({ feed: { name, id, droppedAt }, why, of }): View => [
      { heading: `End ${plain(name)}`, tone: 'todo' },
      text('Its last accepted file is ', linkTo(id), `, put ${ageOf(Date.parse(droppedAt))} ago.`),
      {
        tone: 'plain',
        text: `${plain(why).replaceAll('; ', '. ')}. ${countOf(of, 'message')} would be sent.`,
      },
    ],
  ),
  text('A later file of the same name begins anew: everything in it is sent.'),
];

export const endedFeedView = ({ feed, outcome, snapshot, behind }: EndedFeed): View => {
  const name = plain(feed);
  if (outcome === 'ended') return [{ tone: 'good', text: `${name} is ended.` }];
  if (outcome === 'sending')
    return [
      text(`The end of ${name} is approved, and is being sent.`),
      { command: `snapshots show ${snapshot}` },
    ];
  return [
    {
      tone: 'warn',
      text: `${name} is not ended yet: its import waits${behind === undefined ? '' : ` behind ${plain(behind)}`}. Nothing was removed`,
    },
    { tone: 'todo', text: 'Once that import is over, find the end in the list, and approve or reject it' },
    { command: 'snapshots list' },
  ];
};

const linkTo = (id: string): Piece => ({ text: id, to: `/snapshots/${encodeURIComponent(id)}` });

const stateOf = (snapshot: SnapshotRecord) => badge(snapshotState(snapshot), snapshotTone(snapshot));

const counted = <Row>(countsOf: (row: Row) => Counts): Columns<Row> =>
  Object.fromEntries(
    countNames.map((name) => [
      name.replace(/^./, (first) => first.toUpperCase()),
      (row) => countsOf(row)[name],
    ]),
  );

/** Rows of a table that no message of its mapping is for. */
const withoutMessageIn = ({ rows = {} }: SnapshotRecord): number | undefined =>
  Object.values(rows).reduce((sum, { withoutMessage = 0 }) => sum + withoutMessage, 0) || undefined;

/** A name that the file does not tell. */
const isUsualFeed = ({ key, feed }: SnapshotRecord): boolean =>
  feed === undefined || feed === fileNameOf(key) || feed === zipFeed;

export const snapshotListView = (
  { snapshots, all, accepted, acceptedTables, waiting, troubled }: SnapshotList,
  name: string,
): View => {
  const next = snapshots.find(({ state }) => state === 'waiting-for-approval');
  return [
    troubled.length > 0 && section('To be seen to', ...troubled.flatMap(troubledImportView)),
    waiting.length > 0 &&
      section(
        'Files that wait',
        table('Files that wait', waiting, {
          File: ({ key }) => key,
          Version: ({ versionId }) => versionId,
          Bytes: ({ sizeBytes }) => sizeBytes,
          Put: ({ putAt }) => ({ sinceMs: Date.parse(putAt) }),
          Behind: ({ behind }) => behind,
        }),
      ),
    part(
      table<SnapshotRecord>(
        'Snapshots',
        snapshots,
        {
          Snapshot: ({ id }) => linkTo(id),
          Age: ({ droppedAt }) => ({ sinceMs: Date.parse(droppedAt) }),
          State: stateOf,
          ...counted(({ counts }) => counts),
          'No message': withoutMessageIn,
          File: ({ key }) => key,
          Feed: (each) => (isUsualFeed(each) ? undefined : feedOf(each)),
        },
        { empty: `${name}: no snapshot was put into the bucket under snapshots/ yet.` },
      ),
    ),
    accepted !== undefined && text(`The next zip (${zipFeed}) is compared with `, linkTo(accepted), '.'),
    ...Object.entries(acceptedTables).map(([file, id]) =>
      text(`The next ${file} is compared with `, linkTo(id), '.'),
    ),
    snapshots.length < all && { more: `The newest ${snapshots.length} of ${numberOf(all)}` },
    next && part({ lead: 'Next', command: `snapshots show ${next.id}` }),
  ];
};

const changeTable = ({ byKind, counts }: Pick<SnapshotRecord, 'byKind' | 'counts'>): Block =>
  section(
    'What it changes',
    table('What it changes', [...Object.entries(byKind), ['all', counts] as const], {
      Kind: ([kind]) => kind,
      ...counted(([, each]) => each),
    }),
  );

/** As in `It would remove 3 enrollments`. */
const removedText = ({ byKind }: Pick<SnapshotRecord, 'byKind'>): string => {
  const counted = Object.entries(byKind).flatMap(([kind, each]) =>
    each.removed === 0 ? [] : [`${numberOf(each.removed)} ${plain(kindWords(kind, each.removed))}`],
  );
  return `It would remove ${counted.join(', ')}`;
};

/** Whom it would remove, in words. */
const removedSection = ({ removed, byKind, isHidden }: ProposedSnapshot): Block => {
  if (removed.length === 0 && !isHidden) return part();
  const sentence = removedText({ byKind });
  if (isHidden) return section(`${sentence}.`, text(`Whom: ${needsRole('operator')}`));
  return section(`${sentence}, such as:`, list(removed.map(plain)));
};

/** Shown before a decision. */
export const snapshotPlanView = (snapshot: ProposedSnapshot): View => {
  const { id, key, versionId, droppedAt } = snapshot;
  const file = versionId === undefined ? key : `${key}, version ${versionId}`;
  return [
    { heading: `Snapshot ${id}: ${snapshotState(snapshot)}`, tone: snapshotTone(snapshot) },
    text(`${file}, put at ${droppedAt} (${ageOf(Date.parse(droppedAt))} ago); ${sentText(snapshot)}`),
    ...snapshotNotes(snapshot),
    removedSection(snapshot),
    changeTable(snapshot),
  ];
};

export const snapshotView = (snapshot: ShownSnapshot): View => {
  const { isAccepted, report } = snapshot;
  const feed = feedOf(snapshot);
  const next = feed === zipFeed ? 'zip' : plain(feed);
  return [
    ...snapshotPlanView(snapshot),
    isAccepted && text(`The next ${next} is compared with this one.`),
    refusedSection(snapshot, text(`All of them are in ${report ?? ''}`)),
    part(...nextOf(snapshot)),
  ];
};

export const diffView = (diff: SnapshotDiff): View => [
  { heading: diffTitle(diff) },
  ...diffNotes(diff),
  ...sampleView(diff.sample),
  removedNamesSection(diff),
  changeTable(diff),
  refusedSection(diff),
];

const removedNamesSection = (diff: SnapshotDiff): Block => {
  const { names, courses } = diff.removed;
  if (names.length === 0) return part();
  const counts = courses.map(([course, count]) => `${plain(course)} ${numberOf(count)}`);
  const shown = courses.reduce((sum, [, count]) => sum + count, 0);
  const more = diff.counts.removed > shown ? `, others ${numberOf(diff.counts.removed - shown)}` : '';
  return section(
    `${removedText(diff)}, such as:`,
    list(names.map(plain)),
    text(`By course: ${counts.join(', ')}${more}.`),
  );
};

/** What the settings make of the first rows, and names that look wrong. */
const sampleView = (sample: Sample | undefined): View => {
  const { rows = [], unknown = [], notRead = [], sharedKeys = 0 } = sample ?? {};
  return [
    notRead.length > 0 && text(`The mapping does not read these columns: ${plain(notRead.join(', '))}.`),
    sharedKeys > 0 && {
      tone: 'warn',
      text: `${countOf(sharedKeys, 'row has', 'rows have')} the key of another row, and no message of its own. If these rows are about different things, add the column that tells them apart to "key" and "data"`,
    },
    ...unknown.flatMap(({ field, count, examples, guarded }): Note[] => [
      ...guarded.map(
        ({ name, by, count: some }): Note => ({
          tone: 'warn',
          text: `${countOf(some, `${field} has`, `${field}s have`)} signs that seem to protect it, such as ${plain(name)}: "cells": {"strip": ${JSON.stringify(by)}} takes them away`,
        }),
      ),
      ...(count === 0
        ? []
        : [
            {
              tone: 'warn' as const,
              text: `The crosswalk does not know ${countOf(count, field)}, and their messages would wait: ${examples.map(exampleText).join('; ')}${count > examples.length ? ', and others' : ''}`,
            },
          ]),
    ]),
    rows.length > 0 &&
      section(
        'What the first rows give',
        list(
          rows.map(({ file, line, gives }) => plain(`${file}${line > 0 ? `, line ${line}` : ''}: ${gives}`)),
        ),
      ),
  ];
};

const exampleText = ({ name, nearest, differs }: Sample['unknown'][number]['examples'][number]): string =>
  plain(nearest === undefined ? name : `${name} (it knows ${nearest}, which differs ${differs})`);

const nextOf = (snapshot: SnapshotRecord): View => {
  const { id, state, of, counts, removals } = snapshot;
  if (state === 'comparing' || state === 'sending')
    return [{ lead: 'Next', command: `snapshots show ${id}` }];
  if (state !== 'waiting-for-approval') return [];
  const [approve, reject] = [`snapshots approve ${id}`, `snapshots reject ${id} --reason "…"`];
  const isMostlyRefused = mostlyRefused(snapshot) !== undefined;
  const isRejectedFirst = isMassRemoval(removals) || isMostlyRefused;
  const [first, second] = isRejectedFirst ? [reject, approve] : [approve, reject];
  return [
    isMostlyRefused &&
      text(
        'Most rows are refused, and an approval accepts the file without them. Correct the rows, or the mapping or settings that do not know their values. Then reject this, and put the file again.',
      ),
    { lead: 'Next', command: first },
    { lead: '  or', command: second },
    {
      action: '/snapshot-decision',
      hidden: { id },
      fields: [{ reason: 'required' }],
      isMain: true,
      buttons: decisionButtons({ of, removed: counts.removed, isRejectedFirst }),
    },
  ];
};

const isMassRemoval = (removals: SnapshotRecord['removals']): boolean =>
  removals !== undefined && removals.share > removals.limit;

type Choice = { of: number; removed: number; isRejectedFirst: boolean };

/**
 * Of a mass removal, and of a file that could hardly be read, the rejection comes first: it can be put right by another export, and a removal
 * may not.
 */
const decisionButtons = ({ of, removed, isRejectedFirst }: Choice): Form['buttons'] => {
  const reject: Form['buttons'][number] = { text: `Reject: send none of ${numberOf(of)}`, value: 'rejected' };
  const approve: Form['buttons'][number] = {
    text: `Approve: send ${countOf(of, 'message')}${removed > 0 ? `, ${numberOf(removed)} of them removals` : ''}`,
    value: 'approved',
    ...(removed > 0 && { isDestructive: true }),
  };
  return isRejectedFirst ? [reject, approve] : [approve, reject];
};
