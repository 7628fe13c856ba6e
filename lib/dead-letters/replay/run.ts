import { createGrouping, type Group } from '../reading/groups.ts';
import type { Selected, Selection } from '../reading/selection.ts';
import { watchFailures } from './failure-watch.ts';
import { undecidedAfterWait } from './outcome.ts';
import { paced } from './paced.ts';
import { sendAndDelete } from './send-and-delete.ts';

export type Canary = {
  letters: number;
  cameBack: Group[];
  /** So many have not come back, and may still be on their queues, which hold as many messages or more. */
  undecided: number;
  seconds: number;
};

export type ReplayCounts = {
  sent: number;
  /** Of those sent, how many are letters again, and why. */
  cameBack: number;
  cameBackAs: Group[];
  /** Whether all others are known to have gone through. */
  settled: boolean;
  /** Not sent, because the canary of their group came back. */
  setAside: number;
  /** Not sent, because it stopped before. */
  notSent: number;
  failed: { id: string; reason: string }[];
  /** Sent, but still letters. */
  undeleted: string[];
};

export type RunOptions = {
  /** So many are sent first; the others follow when these went well. 0: none. */
  canary: number;
  /** How long the outcome of what was sent is waited for. */
  waitSeconds: number;
  /** Messages a second. */
  rate: number;
  /** It stops when the same error comes back for so many in a row. */
  stopAfter: number;
};

export type RunHooks = {
  signal: AbortSignal;
  onCanary?(canary: Canary): void;
  /** Decides whether to continue where the outcome of a canary is not known in time; default: it stops. */
  continueUndecided?(canary: Canary): Promise<boolean>;
  onSent?(sent: number, of: number): void;
};

type Parts = { selection: Selection; toSend: Selected[]; options: RunOptions; hooks: RunHooks };

/** When SQS refuses so many messages in a row, the replay stops. */
const maxFailuresInARow = 20;

/** One run of a replay; `perform` answers why it stopped early, if it did. */
export const createReplayRun = ({ selection, toSend, options, hooks }: Parts) => {
  const { session } = selection;
  const { signal } = hooks;
  const sent = new Map<string, Selected>();
  const failed: ReplayCounts['failed'] = [];
  const undeleted: string[] = [];
  let setAside = 0;
  let failuresInARow = 0;
  let settled = true;
  let isDecided = true;
  const watch = watchFailures(session);

  const send = async (letters: Selected[]): Promise<void> => {
    const whole = await Promise.all(letters.map(selection.read));
    watch.expect(whole);
    const outcome = await sendAndDelete(session, whole);
    watch.forget(whole.filter(({ id }) => outcome.failed.has(id)));
    for (const letter of letters) if (!outcome.failed.has(letter.id)) sent.set(letter.id, letter);
    for (const [id, reason] of outcome.failed) failed.push({ id, reason });
    undeleted.push(...outcome.undeleted);
    failuresInARow = outcome.sent.length > 0 ? 0 : failuresInARow + letters.length;
    hooks.onSent?.(sent.size, toSend.length - setAside);
  };

  const whyStop = (): string | undefined => {
    if (signal.aborted) return 'it was interrupted';
    if (watch.problem() !== undefined) return 'the dead-letter queue could not be read any more';
    const error = watch.errorOfRow(options.stopAfter);
    if (error !== undefined) return `${options.stopAfter} in a row came back with the same error: ${error}`;
    if (failuresInARow >= maxFailuresInARow)
      return `SQS took none of ${failuresInARow} messages in a row: ${failed.at(-1)?.reason}`;
    return undefined;
  };

  const awaitOutcome = (letters: Selected[]) =>
    undecidedAfterWait(
      letters.filter(({ id }) => sent.has(id)),
      { session, watch, signal, waitSeconds: options.waitSeconds },
    );

  const groupsOf = (letters: Selected[]): Group[] => {
    const grouping = createGrouping();
    for (const { id } of letters) {
      const letter = watch.cameBack.get(id);
      if (letter) grouping.add(letter);
    }
    return grouping.all();
  };

  /** Sends the canary; answers what may follow, or why nothing may. */
  const sendCanary = async (): Promise<{ rest: Selected[]; stop?: string | undefined }> => {
    const canary = canaryOf(toSend, options.canary);
    const chosen = new Set(canary);
    const others = toSend.filter((letter) => !chosen.has(letter));
    const startedMs = Date.now();
    await send(canary);
    const undecided = await awaitOutcome(canary);
    isDecided = undecided === 0;
    const result: Canary = {
      letters: canary.length,
      cameBack: groupsOf(canary),
      undecided,
      seconds: (Date.now() - startedMs) / 1000,
    };
    hooks.onCanary?.(result);
    const back = canary.filter(({ id }) => watch.cameBack.has(id));
    const through = undecided > 0 ? [] : canary.filter(({ id }) => sent.has(id) && !watch.cameBack.has(id));
    const good = new Set(through.map(({ group }) => group));
    const bad = new Set(back.map(({ group }) => group).filter((group) => !good.has(group)));
    const rest = others.filter(({ group }) => !bad.has(group));
    setAside = others.length - rest.length;
    if (signal.aborted) return { rest, stop: whyStop() };
    if (failed.length === canary.length)
      return { rest, stop: `SQS did not take the canary: ${failed[0]?.reason}` };
    if (back.length > 0 && back.length === canary.length)
      return { rest, stop: 'every letter of the canary came back' };
    if (undecided > 0 && rest.length > 0 && !(await hooks.continueUndecided?.(result)))
      return { rest, stop: unknownOutcome(undecided) };
    return { rest, stop: whyStop() };
  };

  const perform = async (): Promise<string | undefined> => {
    try {
      const { rest, stop } = options.canary > 0 ? await sendCanary() : { rest: toSend, stop: undefined };
      if (stop !== undefined) {
        settled = false;
        return stop;
      }
      await paced(rest, { rate: options.rate, signal, stop: () => whyStop() !== undefined, work: send });
      const attempted = sent.size + failed.length;
      const why = attempted < toSend.length - setAside ? whyStop() : undefined;
      // The outcome of a decided canary is known already.
      settled = (await awaitOutcome(isDecided ? rest : [...sent.values()])) === 0;
      return why;
    } finally {
      await watch.stop();
    }
  };

  return {
    perform,
    sentIds: (): string[] => [...sent.keys()],
    counts: (): ReplayCounts => ({
      sent: sent.size,
      cameBack: watch.cameBack.size,
      cameBackAs: groupsOf([...sent.values()]),
      settled,
      setAside,
      notSent: toSend.length - setAside - sent.size - failed.length,
      failed,
      undeleted,
    }),
  };
};

const unknownOutcome = (undecided: number): string =>
  `the outcome of ${undecided} of the canary is not known yet, as their queues hold as many messages or more; --continue-undecided sends the rest all the same`;

/** One letter of each group in turn, as each group may fail for its own cause. */
const canaryOf = (letters: Selected[], size: number): Selected[] => {
  const groups = [...Map.groupBy(letters, ({ group }) => group).values()];
  const longest = Math.max(0, ...groups.map((each) => each.length));
  const inTurn = Array.from({ length: Math.min(longest, size) }, (_, at) =>
    groups.flatMap((each) => each[at] ?? []),
  );
  return inTurn.flat().slice(0, size);
};
