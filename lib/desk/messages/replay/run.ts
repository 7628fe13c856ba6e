import { setTimeout as sleep } from 'node:timers/promises';
import { type Fate, watchOutcomes } from '../../../delivery/letters/outcomes.ts';
import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { chunksOf, inParallel } from '../../../runtime/aws/parallel.ts';
import { causeIn, type Group, type GroupCause, groupsOf } from '../letters/groups.ts';
import type { InHand } from '../letters/in-hand.ts';
import type { Letter } from '../letters/letter.ts';
import { deskOf, type Selected } from '../letters/list.ts';
import { type Sending, sendAndDelete } from './send-and-delete.ts';

/** The results for the letters of one cause. */
export type CauseCounts = GroupCause & {
  sent: number;
  /** Done, or not sent to the platform because the same or a newer change was done before. */
  through: number;
  /** Letters again. */
  cameBack: number;
  /** Waiting on their queues, for a cause that their functions report. */
  waits: number;
  /** No outcome was known in time. */
  unknown: number;
  /** Not sent, because all canaries of this cause came back or wait. */
  setAside: number;
  /** Not sent, because the replay ended early, or the outcome of the canary is unknown. */
  notTried: number;
};

export type Canary = {
  letters: number;
  /** The causes for which they came back or wait. */
  cameBack: Group[];
  waits: Group[];
  undecided: number;
  seconds: number;
};

export type ReplayCounts = OutcomeCounts & {
  byCause: CauseCounts[];
  /** The causes for which letters came back or messages wait. */
  cameBackAs: Group[];
  waitFor: Group[];
  /** Letters that have left the queue, or that somebody else has leased. */
  gone: number;
  /** Left alone, because their function would still refuse their messages. */
  stillInvalid: number;
  failed: { id: string; reason: string }[];
  /** Sent, but still letters. */
  undeleted: string[];
};

export type RunOptions = {
  /** Size of the canary, at least one letter of each cause. The others follow if it goes well. 0: no canary. */
  canary: number;
  /** How long to wait for the outcome of sent messages. */
  waitSeconds: number;
  /** Messages per second. */
  rate: number;
  /** Stops if the same error comes back this many times in a row. */
  stopAfter: number;
};

export type RunHooks = {
  signal: AbortSignal;
  onCanary?(canary: Canary): void;
  /** Decides whether causes continue if the outcome of their canary is unknown; default: they do not. */
  continueUndecided?(canary: Canary): Promise<boolean>;
  onSent?(sent: number, of: number): void;
  /** Called every second while it works, and at its end. */
  onOutcomes?(counts: OutcomeCounts): void;
};

export type OutcomeCounts = Omit<CauseCounts, keyof GroupCause>;

type Parts = {
  inHand: InHand<Selected>;
  toSend: Selected[];
  options: RunOptions;
  hooks: RunHooks;
  /** What to send of a letter, or why it stays a letter. */
  prepare(letter: Letter): Promise<{ letter: Letter; sending: Sending } | { problem: string }>;
};

const tellMs = 1_000;
/** If SQS refuses this many messages in a row, the replay stops. */
const maxFailuresInARow = 20;

/** One run of a replay. `perform` returns why it stopped early, if it did. */
export const createReplayRun = ({ inHand, toSend, options, hooks, prepare }: Parts) => {
  const { session } = inHand;
  const { signal } = hooks;
  // If it was interrupted before all were found, it is unknown which of them are gone.
  const gone = new Set(signal.aborted ? [] : inHand.gone);
  const all = toSend.filter((letter) => !gone.has(letter));
  const outcomes = watchOutcomes(deskOf(session.target));
  /** SQS' id of the message, by the letter's id; undefined if SQS did not return it. */
  const sent = new Map<string, string | undefined>();
  /** The letters of each function, in the order of sending. */
  const rows = new Map<string, Selected[]>();
  const failed: ReplayCounts['failed'] = [];
  const undeleted: string[] = [];
  const stillInvalid = new Set<string>();
  const setAside = new Set<Selected>();
  let failuresInARow = 0;

  const fateOf = ({ id }: Selected): Fate => outcomes.fateOf(sent.get(id) ?? '');
  const recordsWith = (letters: Selected[], fate: Fate): DeskRecord[] =>
    letters.flatMap((letter) =>
      fateOf(letter) === fate ? (outcomes.recordOf(sent.get(letter.id) ?? '') ?? []) : [],
    );

  const send = async (letters: Selected[]): Promise<void> => {
    const prepared: { letter: Letter; sending: Sending }[] = [];
    for (const selected of letters) {
      const ready = await prepare(await inHand.read(selected));
      if ('letter' in ready) prepared.push(ready);
      else stillInvalid.add(selected.id);
    }
    const outcome = await sendAndDelete(session, prepared);
    outcomes.expect([...outcome.sent.values()].flatMap((id) => id ?? []));
    for (const selected of letters) {
      if (!outcome.sent.has(selected.id)) continue;
      sent.set(selected.id, outcome.sent.get(selected.id));
      const row = rows.get(selected.record.function) ?? [];
      rows.set(selected.record.function, row);
      row.push(selected);
    }
    for (const [id, reason] of outcome.failed) failed.push({ id, reason });
    undeleted.push(...outcome.undeleted);
    failuresInARow = outcome.failed.size === 0 ? 0 : failuresInARow + outcome.failed.size;
    hooks.onSent?.(sent.size, toSend.length - setAside.size);
  };

  /** The error that came back this many times in a row for one function. */
  const errorOfRow = (length: number): string | undefined => {
    for (const row of rows.values()) {
      let inARow = 0;
      let last: string | undefined;
      for (const { id } of row) {
        const record = outcomes.recordOf(sent.get(id) ?? '');
        const error = record?.state === 'letter' ? `${record.kind}: ${record.error}` : undefined;
        inARow = error !== undefined && error === last ? inARow + 1 : 1;
        last = error;
        if (error !== undefined && inARow >= length) return error;
      }
    }
    return undefined;
  };

  const whyStop = (): string | undefined => {
    if (signal.aborted) return 'it was interrupted';
    if (outcomes.problem() !== undefined) return 'the outcomes of the messages could no longer be read';
    const error = errorOfRow(options.stopAfter);
    if (error !== undefined) return `${options.stopAfter} in a row came back with the same error: ${error}`;
    if (failuresInARow >= maxFailuresInARow)
      return `SQS refused ${failuresInARow} messages in a row: ${failed.at(-1)?.reason}`;
    return undefined;
  };

  const settled = (letters: Selected[]): Promise<number> =>
    outcomes.settled(
      letters.filter(({ id }) => sent.has(id)).map(({ id }) => sent.get(id) ?? ''),
      { signal, waitSeconds: options.waitSeconds },
    );

  /** Sends the canary. Returns what may follow and, if nothing may, why. */
  const sendCanary = async (): Promise<{ rest: Selected[]; stop?: string | undefined }> => {
    const canary = canaryOf(inHand.letters, options.canary);
    const chosen = new Set(canary);
    const startedMs = Date.now();
    await send(canary);
    await settled(canary);
    const tried = canary.filter(({ id }) => sent.has(id));
    const fates = Map.groupBy(tried, fateOf);
    const result: Canary = {
      letters: tried.length,
      cameBack: groupsOf(recordsWith(tried, 'cameBack')).groups,
      waits: groupsOf(recordsWith(tried, 'waits')).groups,
      undecided: fates.get('unknown')?.length ?? 0,
      seconds: (Date.now() - startedMs) / 1000,
    };
    hooks.onCanary?.(result);
    const groupsWith = (...of: Fate[]) =>
      new Set(of.flatMap((fate) => fates.get(fate) ?? []).map(({ group }) => group));
    const good = groupsWith('through');
    const bad = groupsWith('cameBack', 'waits');
    const unknown = groupsWith('unknown');
    const rest = inHand.letters.filter((letter) => !chosen.has(letter));
    const isOpen = ({ group }: Selected) => unknown.has(group) && !good.has(group) && !bad.has(group);
    for (const letter of rest) if (bad.has(letter.group) && !good.has(letter.group)) setAside.add(letter);
    const goesOn =
      !signal.aborted && rest.some(isOpen) && ((await hooks.continueUndecided?.(result)) ?? false);
    if (failed.length === canary.length && canary.length > 0)
      return { rest: [], stop: `SQS refused the canary: ${failed[0]?.reason}` };
    // If the canary of a cause was not sent, nothing is known of that cause either.
    const following = rest.filter(
      (letter) => !setAside.has(letter) && (good.has(letter.group) || !isOpen(letter) || goesOn),
    );
    const stop = following.length > 0 || rest.length === 0 ? undefined : whyNoneFollows(result);
    return { rest: following, stop: signal.aborted ? whyStop() : stop };
  };

  const perform = async (): Promise<string | undefined> => {
    const tell = (): void => hooks.onOutcomes?.(countsOf(all));
    const telling = setInterval(tell, tellMs);
    try {
      const { rest, stop } =
        options.canary > 0 ? await sendCanary() : { rest: inHand.letters, stop: undefined };
      if (stop !== undefined) return stop;
      await paced(rest, {
        ...{ rate: options.rate, signal },
        stop: () => whyStop() !== undefined,
        work: send,
      });
      const isOver = rest.every(({ id }) => sent.has(id) || stillInvalid.has(id) || isFailed(id));
      const why = isOver ? undefined : whyStop();
      await settled(inHand.letters);
      return why;
    } finally {
      clearInterval(telling);
      await outcomes.stop();
      tell();
    }
  };

  const isFailed = (wanted: string): boolean => failed.some(({ id }) => id === wanted);

  const countsOf = (letters: Selected[]) => {
    const counts = { sent: 0, through: 0, cameBack: 0, waits: 0, unknown: 0, setAside: 0, notTried: 0 };
    for (const letter of letters)
      if (sent.has(letter.id)) {
        counts.sent += 1;
        counts[fateOf(letter)] += 1;
      } else if (setAside.has(letter)) counts.setAside += 1;
      else if (!stillInvalid.has(letter.id) && !isFailed(letter.id)) counts.notTried += 1;
    return counts;
  };

  return {
    perform,
    sentIds: (): string[] => [...sent.keys()],
    counts: (): ReplayCounts => ({
      ...countsOf(all),
      byCause: [...Map.groupBy(all, ({ group }) => group)]
        .map(([group, letters]) => ({ ...causeIn(group), ...countsOf(letters) }))
        .sort((one, other) => other.sent - one.sent),
      cameBackAs: groupsOf(recordsWith(all, 'cameBack')).groups,
      waitFor: groupsOf(recordsWith(all, 'waits')).groups,
      gone: gone.size,
      stillInvalid: stillInvalid.size,
      failed,
      undeleted,
    }),
  };
};

const whyNoneFollows = ({ letters, cameBack, waits, undecided }: Canary): string => {
  if (undecided > 0)
    return `${undecided} of the canary have no outcome yet; --continue-undecided sends the rest all the same`;
  if (waits.length === 0 && cameBack.length > 0)
    return letters === 1 ? 'the canary came back' : 'every letter of the canary came back';
  return 'the canary waits, or came back';
};

/** Takes one letter of each cause in turn, up to `size`, and at least one of each cause. */
const canaryOf = (letters: Selected[], size: number): Selected[] => {
  const groups = [...Map.groupBy(letters, ({ group }) => group).values()];
  const longest = Math.max(0, ...groups.map((each) => each.length));
  const inTurn = Array.from({ length: Math.min(longest, size) }, (_, at) =>
    groups.flatMap((each) => each[at] ?? []),
  );
  return inTurn.flat().slice(0, Math.max(size, groups.length));
};

type Pace<Item> = {
  /** Items per second. */
  rate: number;
  signal: AbortSignal;
  /** Asked before each batch: true if no more may begin. */
  stop(): boolean;
  work(batch: Item[]): Promise<void>;
};

/** Batches in flight, so that a slow answer does not reduce the pace. */
const parallel = 8;

/** Processes items at an even pace, at most ten at a time. Finishes what has begun, also when it stops. */
export const paced = <Item>(items: Item[], { rate, signal, stop, work }: Pace<Item>): Promise<void> => {
  const size = Math.min(10, Math.max(1, Math.round(rate / 5)));
  const atPace = async function* () {
    let dueMs = performance.now();
    for (const batch of chunksOf(items, size)) {
      await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal }).catch(() => {});
      if (signal.aborted || stop()) return;
      yield batch;
      // After a pause, such as a machine's sleep, it continues at the same pace and does not catch up.
      dueMs = Math.max(dueMs + (size / rate) * 1000, performance.now() - 1000);
    }
  };
  return inParallel(atPace(), work, parallel);
};
