import { countOf } from '../../../desk/views/format.ts';
import type { OptionStatus } from '../../../desk/views/status.ts';
import { type Block, section, stepOf, text, type View } from '../../../desk/views/view.ts';
import type { StatusPart } from '../../../option.ts';
import type { ReassignedName } from '../state/reassigned-names.ts';
import type { FeedToEnd } from './feeds.ts';
import { type OpenSnapshots, openSnapshots } from './open.ts';
import { listReassigned } from './reassigned-names.ts';
import type { WaitingFile } from './unaccepted.ts';
import { reassignedNotes } from './views/reassigned-names.ts';
import { feedsToEndView, openSnapshotText, troubledImportView, waitingFileText } from './views/snapshots.ts';

export const status: StatusPart = async (target, signal) => {
  const [open, passed] = await Promise.all([
    openSnapshots(target, signal).catch(() => undefined),
    listReassigned(target, signal).catch(() => undefined),
  ]);
  return snapshotStatus(open, passed);
};

/** Undefined: it could not be read. */
export const snapshotStatus = (
  open: OpenSnapshots | undefined,
  passed: ReassignedName[] | undefined,
): OptionStatus => {
  const { snapshots = [], waiting = [], troubled = [], quietFeeds = [] } = open ?? {};
  const isHolding = ({ heldBack, isOverdue }: FeedToEnd): boolean => heldBack > 0 || isOverdue === true;
  const late = quietFeeds.filter((feed) => !isHolding(feed));
  return {
    facts: {
      passed,
      snapshots: open?.snapshots,
      waitingFiles: open?.waiting,
      troubledImports: open?.troubled,
      quietFeeds: open?.quietFeeds,
    },
    first: [
      ...troubled.map((each) => stepOf(troubledImportView(each), 'today')),
      ...feedsToEndView(quietFeeds.filter(isHolding)),
      ...reassignedNotes(passed ?? []),
      ...snapshots.map((each) => {
        const isUndecided = each.state === 'waiting-for-approval';
        const to = `/snapshots/${encodeURIComponent(each.id)}`;
        const look = isUndecided ? 'Look, then approve or reject' : 'Look at it';
        return stepOf(
          [
            { tone: isUndecided ? 'warn' : 'plain', text: openSnapshotText(each), to },
            { command: `snapshots show ${each.id}` },
            { links: [{ text: look, to }] },
          ],
          isUndecided ? 'today' : 'note',
        );
      }),
      ...waitingFilesView(waiting),
    ],
    sections: late.length === 0 ? [] : [section('Files that have not come', ...feedsToEndView(late))],
    ...(open === undefined && { unknown: 'What became of imports could not be read.' }),
  };
};

const maxFiles = 3;

/** The first files that wait for the import of another. */
const waitingFilesView = (files: readonly WaitingFile[]): View => {
  if (files.length === 0) return [];
  const more = files.length - maxFiles;
  return [
    ...files
      .slice(0, maxFiles)
      .map((file): Block => ({ tone: 'plain', text: waitingFileText(file), to: '/snapshots' })),
    more > 0 && text(`And ${countOf(more, 'more file waits', 'more files wait')}.`),
    { command: 'snapshots list' },
  ];
};
