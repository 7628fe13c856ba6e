import { deleteAll, hideAll, type Queue } from '../../aws/batches.ts';

/** Letters that this process has received and nobody else sees, until it gives them back or dies. */
export type Hold = {
  /** False where the letter was held already: SQS may hand one out twice. */
  add(id: string, receiptHandle: string): boolean;
  /** Whether nobody else can have received it meanwhile: a machine that slept finds that time is up. */
  isSafe(id: string): boolean;
  /** Deletes letters from the queue; answers those that could not be, with the reason. */
  remove(ids: string[]): Promise<Map<string, string>>;
  /** Shows all letters but these to others again; answers how many come back by themselves only, when their time is up. */
  giveBack(except?: string[]): Promise<number>;
  size(): number;
  /** Stops prolonging; whoever gives back no more must call it. */
  close(): void;
};

/** Deleting and sending must begin so long before the time is up. */
const marginMs = 1_000;

/** Holds letters for as long as the process lives, a short lease at a time, so that its death hides nothing for long. */
export const createHold = (queue: Queue, leaseSeconds: number, nowMs: () => number = Date.now): Hold => {
  type Held = { receiptHandle: string; untilMs: number };
  const held = new Map<string, Held>();
  const leaseMs = leaseSeconds * 1000;
  let prolonging = Promise.resolve();
  let stopping = 0;

  const prolong = async (): Promise<void> => {
    const startedMs = nowMs();
    const due = [...held].filter(([, { untilMs }]) => untilMs - startedMs < leaseMs / 2);
    // In slices, so that what is given back meanwhile is not taken again.
    for (let from = 0; from < due.length && stopping === 0; from += 200) {
      const slice = due.slice(from, from + 200).filter(([id]) => held.has(id));
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
    prolonging = prolonging.then(prolong, prolong);
  }, leaseMs / 6);
  timer.unref();

  return {
    add: (id, receiptHandle) => {
      const known = held.has(id);
      held.set(id, { receiptHandle, untilMs: nowMs() + leaseMs });
      return !known;
    },
    isSafe: (id) => (held.get(id)?.untilMs ?? 0) - nowMs() > marginMs,
    remove: async (ids) => {
      const known = ids.flatMap((id) => {
        const each = held.get(id);
        return each === undefined ? [] : [{ id, receiptHandle: each.receiptHandle }];
      });
      const failures = await deleteAll(
        queue,
        known.map(({ receiptHandle }) => receiptHandle),
      );
      for (const [at, { id }] of known.entries()) if (!failures.has(at)) held.delete(id);
      return new Map([...failures].map(([at, reason]) => [known[at]?.id ?? '', reason]));
    },
    giveBack: async (except = []) => {
      stopping += 1;
      await prolonging.catch(() => {});
      stopping -= 1;
      const returning = [...held].filter(([id]) => !except.includes(id));
      for (const [id] of returning) held.delete(id);
      const handles = returning.map(([, { receiptHandle }]) => receiptHandle);
      return (await hideAll(queue, handles, 0)).size;
    },
    size: () => held.size,
    close: () => {
      stopping += 1;
      clearInterval(timer);
    },
  };
};
