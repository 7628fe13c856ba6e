import { deleteAll, hideAll, type Queue } from '../../../runtime/aws/sqs.ts';

/** Letters that this process has received. Others do not see them until it gives them back, deletes them, or dies. */
export type VisibilityLease = {
  /** `lastsSeconds`: what it was received with. False if the letter was leased already: SQS may deliver one twice. */
  add(id: string, receiptHandle: string, lastsSeconds?: number): boolean;
  /** False if the lease may have ended and others may have the letter, for example after the machine slept. */
  isCurrent(id: string): boolean;
  /** Deletes letters from the queue. Returns those that could not be deleted, with the reason. */
  deleteLetters(ids: string[]): Promise<Map<string, string>>;
  /** Shows all letters except these to others again. Returns how many become visible only when their lease ends. */
  giveBack(except?: string[]): Promise<number>;
  size(): number;
  /** How long the next letters are leased, in seconds. */
  seconds(): number;
  /** Ends the renewal: letters that were not given back become visible when their lease ends. */
  close(): void;
};

/** Why nothing is done to a letter whose lease is not current. */
export const leaseEnded = 'its lease has ended, so others may have it now';

/** A send or a deletion takes time: a lease counts as current only if it lasts at least this much longer. */
const marginMs = 1_000;

/** SQS hides nothing for longer. */
const maxSeconds = 12 * 3_600;

/** A lease is this much longer for each letter that is leased already, up to ten times as long. */
const longerBy = 1 / 5_000;

/**
 * Renews short leases while the process lives, so that its crash hides no letter for long. Those of very many letters are longer:
 * else their renewals would take all of the time, and then leases would end before their letters are reached.
 */
export const createVisibilityLease = (
  queue: Queue,
  leaseSeconds: number,
  nowMs: () => number = Date.now,
): VisibilityLease => {
  type Leased = { receiptHandle: string; untilMs: number; lastsMs: number };
  const leased = new Map<string, Leased>();
  const seconds = () =>
    Math.min(maxSeconds, Math.round(leaseSeconds * Math.min(10, Math.max(1, leased.size * longerBy))));
  let renewing = Promise.resolve();
  let stopping = 0;

  const renew = async (): Promise<void> => {
    const startedMs = nowMs();
    const due = [...leased].filter(([, { untilMs, lastsMs }]) => untilMs - startedMs < lastsMs / 2);
    // In slices, so that letters that are given back meanwhile are not hidden again.
    for (let from = 0; from < due.length && stopping === 0; from += 200) {
      const slice = due.slice(from, from + 200).filter(([id]) => leased.has(id));
      const [askedMs, lastsMs] = [nowMs(), seconds() * 1_000];
      const failures = await hideAll(
        queue,
        slice.map(([, { receiptHandle }]) => receiptHandle),
        lastsMs / 1_000,
      );
      for (const [at, [, each]] of slice.entries())
        if (!failures.has(at)) Object.assign(each, { untilMs: askedMs + lastsMs, lastsMs });
    }
  };
  const timer = setInterval(
    () => {
      renewing = renewing.then(renew, renew);
    },
    leaseSeconds * (1_000 / 6),
  );
  timer.unref();

  return {
    add: (id, receiptHandle, lastsSeconds = leaseSeconds) => {
      const isNew = !leased.has(id);
      const lastsMs = lastsSeconds * 1_000;
      leased.set(id, { receiptHandle, untilMs: nowMs() + lastsMs, lastsMs });
      return isNew;
    },
    isCurrent: (id) => (leased.get(id)?.untilMs ?? 0) - nowMs() > marginMs,
    deleteLetters: async (ids) => {
      const known = ids.filter((id) => leased.has(id));
      const handles = known.map((id) => leased.get(id)?.receiptHandle ?? '');
      const failures = await deleteAll(queue, handles);
      for (const [at, id] of known.entries()) if (!failures.has(at)) leased.delete(id);
      return new Map([...failures].map(([at, reason]) => [known[at] ?? '', reason]));
    },
    giveBack: async (except = []) => {
      stopping += 1;
      await renewing.catch(() => {});
      stopping -= 1;
      const kept = new Set(except);
      const returning = [...leased].filter(([id]) => !kept.has(id));
      for (const [id] of returning) leased.delete(id);
      const handles = returning.map(([, { receiptHandle }]) => receiptHandle);
      return (await hideAll(queue, handles, 0)).size;
    },
    size: () => leased.size,
    seconds,
    close: () => {
      stopping += 1;
      clearInterval(timer);
    },
  };
};
