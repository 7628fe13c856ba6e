import type { Target } from '../../deployment/target.ts';
import { createGrouping, type Group } from '../reading/groups.ts';
import type { Selected, Selection } from '../reading/selection.ts';
import { watchReturns } from './failure-watch.ts';
import { outcomeOf } from './outcome.ts';
import { paced } from './paced.ts';
import { sendBack } from './send-and-delete.ts';

export type Canary = {
  letters: number;
  cameBack: Group[];
  /** Of so many neither is known: they have not come back, and their queues hold as many messages or more. */
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
  /** So many are sent first, and the others after these went well; 0: none. */
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
  /** Decides where no outcome of a canary was seen in time; default: it stops. */
  goOn?(canary: Canary): Promise<boolean>;
  onSent?(sent: number, of: number): void;
};

type Parts = { selection: Selection; toSend: Selected[]; options: RunOptions; hooks: RunHooks };

/** So many messages in a row that SQS does not take stop a replay. */
const maxFailuresInARow = 20;

/** One run of a replay; `perform` answers why it stopped before its end, if it did. */
export const createReplayRun = (target: Target, { selection, toSend, options, hooks }: Parts) => {
  const { desk } = selection;
  const { signal } = hooks;
  const sent = new Map<string, Selected>();
  const failed: ReplayCounts['failed'] = [];
  const undeleted: string[] = [];
  let setAside = 0;
  let failuresInARow = 0;
  let settled = true;
  let isDecided = true;
  const returns = watchReturns(desk, target);

  const send = async (letters: Selected[]): Promise<void> => {
    const whole = await Promise.all(letters.map(selection.read));
    returns.expect(whole);
    const outcome = await sendBack(desk, whole);
    returns.forget(whole.filter(({ id }) => outcome.failed.has(id)));
    for (const letter of letters) if (!outcome.failed.has(letter.id)) sent.set(letter.id, letter);
    for (const [id, reason] of outcome.failed) failed.push({ id, reason });
    undeleted.push(...outcome.undeleted);
    failuresInARow = outcome.sent.length > 0 ? 0 : failuresInARow + letters.length;
    hooks.onSent?.(sent.size, toSend.length - setAside);
  };

  const whyStop = (): string | undefined => {
    if (signal.aborted) return 'it was interrupted';
    if (returns.broken() !== undefined) return 'the dead-letter queue could not be read any more';
    const error = returns.errorOfRow(options.stopAfter);
    if (error !== undefined) return `${options.stopAfter} in a row came back with the same error: ${error}`;
    if (failuresInARow >= maxFailuresInARow)
      return `SQS took none of ${failuresInARow} messages in a row: ${failed.at(-1)?.reason}`;
    return undefined;
  };

  const awaitOutcome = (letters: Selected[]) =>
    outcomeOf(
      letters.filter(({ id }) => sent.has(id)),
      { desk, target, returns, signal, waitSeconds: options.waitSeconds },
    );

  const groupsOf = (letters: Selected[]): Group[] => {
    const grouping = createGrouping();
    for (const { id } of letters) {
      const letter = returns.returned.get(id);
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
    const back = canary.filter(({ id }) => returns.returned.has(id));
    const through = undecided > 0 ? [] : canary.filter(({ id }) => sent.has(id) && !returns.returned.has(id));
    const good = new Set(through.map(({ group }) => group));
    const bad = new Set(back.map(({ group }) => group).filter((group) => !good.has(group)));
    const rest = others.filter(({ group }) => !bad.has(group));
    setAside = others.length - rest.length;
    if (signal.aborted) return { rest, stop: whyStop() };
    if (failed.length === canary.length)
      return { rest, stop: `SQS did not take the canary: ${failed[0]?.reason}` };
    if (back.length > 0 && back.length === canary.length)
      return { rest, stop: 'every letter of the canary came back' };
    if (undecided > 0 && rest.length > 0 && !(await hooks.goOn?.(result)))
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
      // Of the canary all that can be known is known.
      settled = (await awaitOutcome(isDecided ? rest : [...sent.values()])) === 0;
      return why;
    } finally {
      await returns.stop();
    }
  };

  return {
    perform,
    sentIds: (): string[] => [...sent.keys()],
    counts: (): ReplayCounts => ({
      sent: sent.size,
      cameBack: returns.returned.size,
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
  `the outcome of ${undecided} of the canary is not known yet, as their queues hold as many messages or more; --go-on sends the rest all the same`;

/** One of each group in turn, as each may have a cause of its own. */
const canaryOf = (letters: Selected[], size: number): Selected[] => {
  const groups = [...Map.groupBy(letters, ({ group }) => group).values()];
  const longest = Math.max(0, ...groups.map((each) => each.length));
  const inTurn = Array.from({ length: Math.min(longest, size) }, (_, at) =>
    groups.flatMap((each) => each[at] ?? []),
  );
  return inTurn.flat().slice(0, size);
};
