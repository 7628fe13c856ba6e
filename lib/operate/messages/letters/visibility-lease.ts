import { deleteAll, hideAll, type Queue } from '../../../runtime/aws/sqs.ts';

/** Letters that this process has received. Others do not see them until it gives them back, deletes them, or dies. */
export type VisibilityLease = {
  /** False if the letter was leased already: SQS may deliver one twice. */
  add(id: string, receiptHandle: string): boolean;
  /** False if the lease may have ended and others may have the letter, for example after the machine slept. */
  isCurrent(id: string): boolean;
  /** Deletes letters from the queue. Returns those that could not be deleted, with the reason. */
  deleteLetters(ids: string[]): Promise<Map<string, string>>;
  /** Shows all letters except these to others again. Returns how many become visible only when their lease ends. */
  giveBack(except?: string[]): Promise<number>;
  size(): number;
  /** Ends the renewal: letters that were not given back become visible when their lease ends. */
  close(): void;
};

/** Why nothing is done to a letter whose lease is not current. */
export const leaseEnded = 'its lease has ended, so others may have it now';

/** A send or a deletion takes time: a lease counts as current only if it lasts at least this much longer. */
const marginMs = 1_000;

/** Renews short leases while the process lives, so that its death hides no letter for long. */
export const createVisibilityLease = (
  queue: Queue,
  leaseSeconds: number,
  nowMs: () => number = Date.now,
): VisibilityLease => {
  type Leased = { receiptHandle: string; untilMs: number };
  const leased = new Map<string, Leased>();
  const leaseMs = leaseSeconds * 1000;
  let renewing = Promise.resolve();
  let stopping = 0;

  const renew = async (): Promise<void> => {
    const startedMs = nowMs();
    const due = [...leased].filter(([, { untilMs }]) => untilMs - startedMs < leaseMs / 2);
    // In slices, so that letters that are given back meanwhile are not hidden again.
    for (let from = 0; from < due.length && stopping === 0; from += 200) {
      const slice = due.slice(from, from + 200).filter(([id]) => leased.has(id));
      const askedMs = nowMs();
      const failures = await hideAll(
        queue,
        slice.map(([, { receiptHandle }]) => receiptHandle),
        leaseSeconds,
      );
      for (const [at, [, each]] of slice.entries()) if (!failures.has(at)) each.untilMs = askedMs + leaseMs;
    }
  };
  const timer = setInterval(() => {
    renewing = renewing.then(renew, renew);
  }, leaseMs / 6);
  timer.unref();

  return {
    add: (id, receiptHandle) => {
      const isNew = !leased.has(id);
      leased.set(id, { receiptHandle, untilMs: nowMs() + leaseMs });
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
    close: () => {
      stopping += 1;
      clearInterval(timer);
    },
  };
};
