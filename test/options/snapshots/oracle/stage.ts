import type { SnapshotRecord } from '../../../../lib/options/snapshots/state/record.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { bucketFolder } from '../bucket-folder.ts';
import { type Body, dropMs, importDropped } from '../imports.ts';
import { newCrosswalk } from './crosswalk.ts';
import { newPlatform } from './platform.ts';

export type Put = {
  content: string | Buffer;
  /** A person approves of whatever needs that; default: nobody decides, and nothing is sent. */
  isApproved?: boolean;
  /** No file is put: the feed of this name is ended. */
  isEnd?: true;
};

export type Imported = {
  /** Why a person must look. */
  reasons: string[];
  report: string[];
  bodies: Body[];
  /** Whether it was sent. */
  isSent: boolean;
  /** What became of its rows. */
  rows?: SnapshotRecord['rows'];
  byKind?: SnapshotRecord['byKind'];
  refusals?: SnapshotRecord['refusals'];
  removals?: SnapshotRecord['removals'];
  excluded?: SnapshotRecord['excluded'];
  /** What was said of an import that ended without a comparison. */
  message?: string;
};

/** Bucket, crosswalk and platform of one university. Each file is put into the bucket in a night of its own. */
export const newStage = (settings: object = {}) => {
  const bucket = bucketFolder(temporaryFolder());
  const crosswalk = newCrosswalk(bucket);
  const platform = newPlatform(crosswalk);
  const set = (more: object): void =>
    bucket.write(
      'snapshot-settings.json',
      JSON.stringify({
        roles: { teacher: 109, student: 110 },
        roleOrder: ['teacher', 'student'],
        maxRemovalsPercent: 100,
        maxChangesPercent: 100,
        ...more,
      }),
    );
  set(settings);
  let night = 0;

  /** Imports the file; its messages are not handled. */
  const imported = async (name: string, { content, isApproved = false, isEnd }: Put): Promise<Imported> => {
    night += 1;
    const dropped = { key: `snapshots/${name}`, content, droppedMs: dropMs(night), isApproved, isEnd };
    const { examined, record, report, bodies } = await importDropped(bucket, dropped);
    if (examined.is === 'over')
      return { reasons: [], report, bodies: [], isSent: false, message: examined.message };
    const { reasons } = examined;
    const isSent = isApproved || reasons.length === 0;
    const { rows, byKind, refusals, removals, excluded } = record();
    return {
      reasons,
      report,
      bodies: isSent ? bodies : [],
      isSent,
      rows,
      byKind,
      refusals,
      removals,
      excluded,
    };
  };

  const put = async (name: string, content: Put['content'], more: Omit<Put, 'content'> = {}) => {
    const done = await imported(name, { content, ...more });
    platform.take(done.bodies);
    return done;
  };
  return {
    bucket,
    crosswalk,
    platform,
    set,
    imported,
    /** Imports the file, and handles its messages. */
    put,
    /** A person ends the feed, and approves of what that needs. */
    end: (name: string) => put(name, '', { isEnd: true, isApproved: true }),
  };
};
