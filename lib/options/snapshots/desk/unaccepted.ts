import type { ReviewBucket } from '../../../desk/stage-state/bucket.ts';
import { errorName } from '../../../runtime/aws/error.ts';
import { runningExecutions } from '../../../runtime/jobs/older-executions.ts';
import { lambdaOf } from '../../../stage/lambda-client.ts';
import type { Target } from '../../../stage/target.ts';
import { fileNameOf, isNumberedLike } from '../feed.ts';
import { byPut, isOfFeed, listUnaccepted, nameOf, type UnacceptedFile } from '../state/unaccepted.ts';

/** A file that was put and is not imported yet, because another is. */
export type WaitingFile = Pick<
  UnacceptedFile,
  'key' | 'feed' | 'versionId' | 'sizeBytes' | 'putAt' | 'isEnd'
> & {
  /** What is being imported, by its snapshot's id, or by its key and when it was put; undefined: unknown. */
  behind?: string;
};

/** An import that a person must deal with, until a later file of its feed is accepted with most of its rows used, or all of them. */
export type TroubledImport = Pick<UnacceptedFile, 'key' | 'feed' | 'versionId' | 'putAt' | 'id' | 'isEnd'> & {
  /**
   * `undecided`: nobody decided in time. `refused`: it is accepted, but most rows of a file were refused; `partly refused`: some were. `cut off`: it left no result.
   * `ignored`: its name ends in neither `.zip` nor `.csv`.
   */
  is: 'failed' | 'undecided' | 'refused' | 'partly refused' | 'cut off' | 'ignored';
  why?: string | undefined;
};

export type UnacceptedFiles = { waiting: WaitingFile[]; troubled: TroubledImport[] };

/** The ARNs of the executions of imports that run; undefined: it is not known, and each that has not ended counts. */
export type ReadRunning = (target: Target) => Promise<string[] | undefined>;

/** @throws if the bucket cannot be read. */
export const listUnacceptedIn = (
  { namesUnder, jsonIfAny }: ReviewBucket,
  signal: AbortSignal,
): Promise<UnacceptedFile[]> =>
  listUnaccepted({ keysUnder: (prefix) => namesUnder(prefix, signal), readJsonIfAny: jsonIfAny });

/** What was put and is not accepted, or not well. */
export const unacceptedFilesOf = async (
  all: readonly UnacceptedFile[],
  target: Target,
  readRunning: ReadRunning = runningImports,
): Promise<UnacceptedFiles> => {
  const open = all.filter(({ is }) => isOpen(is));
  const running = open.length === 0 ? [] : await readRunning(target);
  const isRunning = ({ execution = '' }: UnacceptedFile) =>
    running === undefined || running.includes(execution);
  const atWork = open.find((each) => each.is === 'at work' && isRunning(each));
  return {
    waiting: open
      .filter((each) => each.is === 'waiting' && isRunning(each))
      .map((each) => {
        const { key, feed, versionId, sizeBytes, putAt, isEnd } = each;
        const held = open.find(
          (other) => other.is === 'held' && isOfFeed(other, each) && byPut(other, each) < 0,
        );
        const behind = held ?? atWork;
        return {
          key,
          ...(feed !== undefined && { feed }),
          ...(versionId !== undefined && { versionId }),
          sizeBytes,
          putAt,
          ...(isEnd && { isEnd }),
          ...(behind && { behind: nameOf(behind) }),
        };
      }),
    troubled: troubledOf({ all, isRunning }),
  };
};

/** Undefined: the caller may not list them. */
const runningImports: ReadRunning = async (target) => {
  const { lambda } = await lambdaOf(target);
  try {
    return await runningExecutions(lambda)(`${target.prefix}snapshot-import`);
  } catch (error) {
    if (errorName(error) === 'AccessDeniedException') return undefined;
    // It is no longer deployed.
    if (errorName(error) === 'ResourceNotFoundException') return [];
    throw error;
  } finally {
    lambda.destroy();
  }
};

type UnacceptedEntries = { all: readonly UnacceptedFile[]; isRunning(entry: UnacceptedFile): boolean };

const isOpen = (is: UnacceptedFile['is']): boolean => is === 'waiting' || is === 'at work' || is === 'held';
const isTrouble = (is: string): is is TroubledImport['is'] =>
  ['failed', 'undecided', 'refused', 'partly refused', 'cut off', 'ignored'].includes(is);

/** Such a file is shown for so long: nothing reports that somebody has dealt with it, unless it comes with another ending. */
const ignoredMs = 7 * 86_400_000;

/** Both files are of one feed, and their names differ at most in a number or date. A file whose name is not a snapshot's has no feed. */
const isOneTrouble = (one: TroubledImport, other: TroubledImport): boolean =>
  one.key === other.key
    ? isOfFeed(one, other)
    : [one, other].every(({ is }) => is !== 'ignored') &&
      isOfFeed(one, other) &&
      isNumberedLike(nameIn(one), nameIn(other));

const nameIn = ({ key }: TroubledImport): string => fileNameOf(key);

/** The last of each trouble, the latest first. */
const troubledOf = ({ all, isRunning }: UnacceptedEntries): TroubledImport[] => {
  const troubled = all.flatMap((entry): TroubledImport[] => {
    const { key, feed, versionId, putAt, id, why, isEnd } = entry;
    if (entry.isFollowed) return [];
    const is = isOpen(entry.is) && !isRunning(entry) ? 'cut off' : entry.is;
    if (is === 'ignored' && Date.now() - Date.parse(putAt) > ignoredMs) return [];
    if (!isTrouble(is)) return [];
    return [
      {
        key,
        ...(feed !== undefined && { feed }),
        ...(versionId !== undefined && { versionId }),
        putAt,
        ...(id !== undefined && { id }),
        is,
        why,
        ...(isEnd && { isEnd }),
      },
    ];
  });
  return troubled
    .filter((one, at) => !troubled.slice(at + 1).some((other) => isOneTrouble(one, other)))
    .reverse();
};
