import { feedFor } from './feed.ts';
import type { ImportRequest } from './import-request.ts';
import { feedPatternsIn, settingsKey } from './package/settings-file.ts';
import type { SnapshotStore } from './state/store.ts';
import { byPut, isOfFeed, readUnaccepted, type UnacceptedFile, writeUnaccepted } from './state/unaccepted.ts';

type TurnRequest = {
  store: SnapshotStore;
  executionArn: string;
  request: ImportRequest;
  /** Takes the place of an earlier file of its feed, on which a person has not decided yet, if it can. */
  replace?(held: UnacceptedFile, own: UnacceptedFile): Promise<void>;
};

/** A file gateway makes an empty object before the content. Whoever puts that starts an import of its own. */
const emptyMs = 60_000;

const awaitsContent = ({ sizeBytes, isEnd, putAt }: UnacceptedFile): boolean =>
  sizeBytes === 0 && !isEnd && Date.now() < Date.parse(putAt) + emptyMs;

/**
 * Whether the turn of an import has come: files are imported one at a time, in the order in which they were put. An import that waits for a
 * person, or for the content of an empty file, holds up only its own feed. The import first writes that its file waits. An execution that is running without such an entry is of an
 * earlier version, or has only just begun.
 */
export const mayImportNow = async (
  running: string[],
  { store, executionArn, request, replace }: TurnRequest,
): Promise<boolean> => {
  const own = (await readUnaccepted(store, executionArn)) ?? (await begin({ store, executionArn, request }));
  // The list may be older than this execution.
  if (!running.includes(executionArn)) return false;
  // There is nothing to import.
  if (own === undefined) return true;
  if (awaitsContent(own)) return false;
  const write = (is: UnacceptedFile['is']) => writeUnaccepted(store, executionArn, { ...own, is });
  const older = running.slice(0, running.indexOf(executionArn));
  const others = running.filter((arn) => arn !== executionArn);
  const look = () => Promise.all(others.map((arn) => readUnaccepted(store, arn)));
  if (own.is !== 'at work') {
    const seen = await look();
    const holding = seen.flatMap((other) =>
      other && (other.is === 'held' || awaitsContent(other)) ? [other] : [],
    );
    const isHeldUp = (one: UnacceptedFile): boolean =>
      awaitsContent(one) || holding.some((each) => isOfFeed(each, one) && byPut(each, one) < 0);
    const isBefore = (other: UnacceptedFile | undefined, at: number): boolean => {
      if (other === undefined) return older.includes(others[at] ?? '');
      if (other.is === 'held') return isOfFeed(other, own) && byPut(other, own) < 0;
      return other.is !== 'waiting' || (byPut(other, own) < 0 && (isOfFeed(other, own) || !isHeldUp(other)));
    };
    const before = seen.filter(isBefore);
    if (before.length > 0) {
      for (const each of before) if (each?.is === 'held') await replace?.(each, own);
      return false;
    }
    await write('at work');
  }
  // One that was put earlier may have come since. If both are at work, both step back.
  if (!(await look()).some((other) => other?.is === 'at work')) return true;
  await write('waiting');
  return false;
};

const begin = async ({ store, executionArn, request }: TurnRequest): Promise<UnacceptedFile | undefined> => {
  const found = await store.find(request);
  if (found === undefined) return undefined;
  const entry = await unacceptedOf(found, { store, executionArn, request });
  await writeUnaccepted(store, executionArn, entry);
  return entry;
};

type FoundFile = NonNullable<Awaited<ReturnType<SnapshotStore['find']>>>;

/** The entry in the lists for a file that was put, with its feed by the settings that the bucket has now. */
export const unacceptedOf = async (
  { droppedMs, ...object }: FoundFile,
  { store, executionArn, request }: Pick<TurnRequest, 'store' | 'executionArn' | 'request'>,
): Promise<UnacceptedFile> => {
  const { sequencer, feed, key } = request;
  return {
    ...object,
    feed: feed ?? feedFor(key, feedPatternsIn(await store.textIfAny(settingsKey))),
    execution: executionArn,
    putAt: new Date(droppedMs).toISOString(),
    ...(sequencer !== undefined && { sequencer }),
    seenAt: new Date().toISOString(),
    is: 'waiting',
  };
};
