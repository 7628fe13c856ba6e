import { randomUUID } from 'node:crypto';
import { type ReviewBucket, reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import {
  audited,
  type PollOptions,
  pollUntil,
  pollUntilEnd,
  startExecution,
} from '../../../desk/stage-state/execution.ts';
import type { Audit } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import { keyOfFeed } from '../feed.ts';
import { acceptedKeyOf, type FeedEnding, type SnapshotRecord } from '../state/record.ts';
import { listUnaccepted } from '../state/unaccepted.ts';
import { compareHere } from './compare-here.ts';
import { decideSnapshot } from './decide.ts';
import { storeOf } from './diff.ts';
import { type Feed, feedsNamed, readFeeds } from './feeds.ts';
import { readSnapshot } from './read.ts';

/** What the end of a feed would do, after those before it. */
export type PlannedEnd = Pick<SnapshotRecord, 'counts' | 'byKind' | 'of'> & {
  feed: Feed;
  ending: FeedEnding;
  /** As the import will say it. */
  why: string;
};

/** Compares each feed with an empty file, by the code of an import. @throws UsageError, RefusedError */
export const planEnds = async (
  target: Target,
  {
    names,
    integrations,
    signal,
  }: { names: readonly string[]; integrations: Integrations; signal: AbortSignal },
): Promise<PlannedEnd[]> => {
  const feeds = feedsNamed(await readFeeds(await reviewBucketOf(target), signal), names);
  const bucket = await storeOf(target);
  const gone = new Set<string>();
  const store: typeof bucket = {
    ...bucket,
    // Those before it are ended when it is.
    keysUnder: async (prefix) => (await bucket.keysUnder(prefix)).filter((key) => !gone.has(key)),
    readJsonIfAny: async (key) => (gone.has(key) ? undefined : bucket.readJsonIfAny(key)),
  };
  const plans: PlannedEnd[] = [];
  for (const feed of feeds) {
    signal.throwIfAborted();
    const key = keyOfFeed(feed.name);
    const { record, reasons } = await compareHere({
      file: key,
      feed: feed.name,
      isEnd: true,
      store,
      integrations,
    });
    const { counts, byKind, of, ending } = record;
    if (ending === undefined) throw new RefusedError(`The end of ${feed.name} was not compared.`);
    plans.push({ feed, ending, why: reasons.join('; '), counts, byKind, of });
    gone.add(acceptedKeyOf(feed.name));
  }
  return plans;
};

export type EndedFeed = {
  feed: string;
  /** `sending`: its removals are being sent. `not reached`: another import is in the way. */
  outcome: 'ended' | 'sending' | 'not reached';
  /** Of the record; undefined: there is none yet, or there was nothing more to send. */
  snapshot?: string;
  /** What is in the way. */
  behind?: string;
};

type Ends = PollOptions & { reason?: string | undefined; audit: Audit };

/** Has the import end the feed, and approves of that as it was planned. @throws RefusedError if it is another plan by now. */
export const endFeed = async (
  target: Target,
  { feed, why, of }: PlannedEnd,
  { reason, audit, ...patience }: Ends,
): Promise<EndedFeed> => {
  const { name } = feed;
  const execution = { of: 'snapshot-import' as const, name: `end-${randomUUID()}` };
  await audited(
    audit,
    { command: 'snapshots end', filter: { feed: name, snapshot: feed.id }, reason, done: 'started' },
    () => startExecution(target, execution, { end: name }),
  );
  const looked = await lookFor(target, { name, execution: execution.name, ...patience });
  const { id, behind } = looked;
  if (looked.is === 'gone') return { feed: name, outcome: 'ended' };
  if (looked.is === 'failed') throw new RefusedError(`${name} is not ended: ${looked.why}.`);
  if (looked.is === 'not reached' || id === undefined)
    return { feed: name, outcome: 'not reached', ...(behind !== undefined && { behind }) };

  const deciding = { audit, signal: patience.signal };
  const { outcome } = await decideSnapshot(target, id, {
    ...deciding,
    decision: 'approved',
    reason,
    confirm: async (now) => now.why === why && now.of === of,
  });
  if (outcome === 'not agreed') {
    const changed = `what only ${name} wants changed after the plan was shown`;
    await decideSnapshot(target, id, {
      ...deciding,
      decision: 'rejected',
      reason: changed,
      confirm: async () => true,
    });
    throw new RefusedError(`Nothing of ${name} was removed, because ${changed}. Run the command again.`);
  }
  const isAccepted = await pollUntil(async () => {
    const { state } = await readSnapshot(target, id, patience.signal);
    return state === 'accepted' ? true : undefined;
  }, patience);
  return { feed: name, snapshot: id, outcome: isAccepted ? 'ended' : 'sending' };
};

type EndState =
  | { is: 'waits'; id: string; behind?: undefined }
  | { is: 'gone'; id?: undefined; behind?: undefined }
  | { is: 'failed'; why: string; id?: undefined; behind?: undefined }
  | { is: 'not reached'; behind: string | undefined; id?: undefined };

type WaitForEnd = PollOptions & { name: string; execution: string };

/** Looks until the import waits for a decision. */
const lookFor = async (target: Target, { name, execution, ...patience }: WaitForEnd): Promise<EndState> => {
  const bucket = await reviewBucketOf(target);
  let behind: string | undefined;
  const look = async (): Promise<EndState | undefined> => {
    const all = await entriesIn(bucket, patience.signal);
    const own = all.find((each) => each.execution?.split('/').at(-2) === execution);
    const isAccepted = (await bucket.textIfAny(acceptedKeyOf(name))) !== undefined;
    if (own === undefined) return isAccepted ? undefined : { is: 'gone' };
    if (own.is === 'failed') return { is: 'failed', why: own.why ?? 'its import failed' };
    const first = all.find(({ is }) => is === 'at work' || is === 'held');
    behind = first === undefined || first === own ? undefined : (first.id ?? first.key);
    if (own.id === undefined) return undefined;
    // It may be written a moment later.
    const record = await readSnapshot(target, own.id, patience.signal).catch(() => undefined);
    const isReady = record?.state === 'waiting-for-approval' && record.callbackId !== undefined;
    return isReady ? { is: 'waits', id: own.id } : undefined;
  };
  const found = await pollUntilEnd(target, { of: 'snapshot-import', name: execution }, { ...patience, look });
  return found ?? { is: 'not reached', behind };
};

const entriesIn = (bucket: ReviewBucket, signal: AbortSignal) =>
  listUnaccepted({
    keysUnder: (prefix) => bucket.namesUnder(prefix, signal),
    readJsonIfAny: bucket.jsonIfAny,
  });
