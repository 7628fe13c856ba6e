import type { ImportRequest } from './request.ts';
import type { SnapshotStore } from './state/store.ts';
import { byPut, readUnaccepted, type Unaccepted, writeUnaccepted } from './state/unaccepted.ts';

type Own = { store: SnapshotStore; executionArn: string; request: ImportRequest };

/**
 * Whether the turn of an import has come: files are imported one at a time, in the order in which they were put. The import first
 * writes that its file waits. An execution that is running without such an entry is of an earlier version, or has only just begun.
 */
export const isItsTurn = async (
  running: string[],
  { store, executionArn, request }: Own,
): Promise<boolean> => {
  const own = (await readUnaccepted(store, executionArn)) ?? (await begin({ store, executionArn, request }));
  // The list may be older than this execution.
  if (!running.includes(executionArn)) return false;
  // There is nothing to import.
  if (own === undefined) return true;
  const write = (is: Unaccepted['is']) => writeUnaccepted(store, executionArn, { ...own, is });
  const older = running.slice(0, running.indexOf(executionArn));
  const others = running.filter((arn) => arn !== executionArn);
  const look = () => Promise.all(others.map((arn) => readUnaccepted(store, arn)));
  if (own.is !== 'at work') {
    const isBefore = (other: Unaccepted | undefined, at: number): boolean =>
      other === undefined
        ? older.includes(others[at] ?? '')
        : other.is !== 'waiting' || byPut(other, own) < 0;
    if ((await look()).some(isBefore)) return false;
    await write('at work');
  }
  // One that was put earlier may have come since. If both are at work, both step back.
  if (!(await look()).some((other) => other?.is === 'at work')) return true;
  await write('waiting');
  return false;
};

const begin = async ({ store, executionArn, request }: Own): Promise<Unaccepted | undefined> => {
  const found = await store.find(request);
  if (found === undefined) return undefined;
  const { droppedMs, ...object } = found;
  const { sequencer } = request;
  const entry: Unaccepted = {
    ...object,
    execution: executionArn,
    putAt: new Date(droppedMs).toISOString(),
    ...(sequencer !== undefined && { sequencer }),
    seenAt: new Date().toISOString(),
    is: 'waiting',
  };
  await writeUnaccepted(store, executionArn, entry);
  return entry;
};
