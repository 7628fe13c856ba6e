import { setTimeout as sleep } from 'node:timers/promises';
import { type Outcomes, type SendOutcome, watchOutcomes } from '../../../delivery/letters/outcomes.ts';
import type { IndexRecord } from '../../../delivery/letters/record.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { causeIn, type Group, type GroupCause, groupsOf } from '../letters/groups.ts';
import type { LeasedLetters } from '../letters/leased-letters.ts';
import type { Letter } from '../letters/letter.ts';
import { letterIndexOf, type SelectedLetter } from '../letters/list.ts';
import { canaryOf } from './canary.ts';
import { type SendReason, sendAndDelete } from './send-and-delete.ts';

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
  /** Size of the canary, at least one letter of each cause. The others of a cause follow if its own go well. 0: no canary. */
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
  /** Called every second while it works, and at its end. `isWaiting`: nothing is being sent, and outcomes are awaited. */
  onOutcomes?(counts: OutcomeCounts, state: { isWaiting: boolean }): void;
};

export type OutcomeCounts = Omit<CauseCounts, keyof GroupCause>;

type Parts = {
  inHand: LeasedLetters<SelectedLetter>;
  toSend: SelectedLetter[];
  options: RunOptions;
  hooks: RunHooks;
  /** What to send of a letter, or why it stays a letter. */
  prepare(letter: Letter): Promise<{ letter: Letter; sending: SendReason } | { problem: string }>;
};

const progressMs = 1_000;
/** If SQS refuses this many messages in a row, the replay stops. */
const maxFailuresInARow = 20;

/** One run of a replay. */
export class ReplayRun {
  readonly #parts: Parts;
  readonly #gone: ReadonlySet<SelectedLetter>;
  readonly #all: readonly SelectedLetter[];
  readonly #outcomes: Outcomes;
  /** SQS' id of the message, by the letter's id; undefined if SQS did not return it. */
  readonly #sent = new Map<string, string | undefined>();
  /** The letters of each function, in the order of sending. */
  readonly #rows = new Map<string, SelectedLetter[]>();
  readonly #failed: ReplayCounts['failed'] = [];
  readonly #undeleted: string[] = [];
  readonly #stillInvalid = new Set<string>();
  readonly #setAside = new Set<SelectedLetter>();
  /** What may be sent. */
  readonly #backlog = new Backlog<SelectedLetter>();
  /** Letters whose outcome was awaited for as long as it may take. */
  readonly #awaited = new Set<SelectedLetter>();
  #failuresInARow = 0;
  #sending = 0;

  constructor(parts: Parts) {
    const { inHand, toSend, hooks } = parts;
    this.#parts = parts;
    // If it was interrupted before all were found, it is unknown which of them are gone.
    this.#gone = new Set(hooks.signal.aborted ? [] : inHand.gone);
    this.#all = toSend.filter((letter) => !this.#gone.has(letter));
    this.#outcomes = watchOutcomes(letterIndexOf(inHand.session.target));
  }

  /** Returns why it stopped early, if it did. */
  async perform(): Promise<string | undefined> {
    const { inHand, options, hooks } = this.#parts;
    const reportProgress = (): void =>
      hooks.onOutcomes?.(this.#countsOf(this.#all), { isWaiting: this.#sending + this.#backlog.size === 0 });
    const progressTimer = setInterval(reportProgress, progressMs);
    const close = (): void => this.#backlog.close();
    if (hooks.signal.aborted) close();
    hooks.signal.addEventListener('abort', close, { once: true });
    try {
      const sending = processAtRate(this.#backlog, {
        rate: options.rate,
        signal: hooks.signal,
        stop: () => this.#whyStop() !== undefined,
        work: (letters) => this.#send(letters),
      });
      const releasing = options.canary > 0 ? this.#sendCanary() : this.#release(inHand.letters);
      const [released, sent] = await Promise.allSettled([releasing.finally(close), sending]);
      for (const each of [released, sent]) if (each.status === 'rejected') throw each.reason;
      if (released.status === 'fulfilled' && released.value !== undefined) return released.value;
      const why = this.#backlog.size > 0 ? this.#whyStop() : undefined;
      await this.#settled(inHand.letters.filter((letter) => !this.#awaited.has(letter)));
      return why;
    } finally {
      clearInterval(progressTimer);
      hooks.signal.removeEventListener('abort', close);
      await this.#outcomes.stop();
      reportProgress();
    }
  }

  sentIds(): string[] {
    return [...this.#sent.keys()];
  }

  counts(): ReplayCounts {
    return {
      ...this.#countsOf(this.#all),
      byCause: [...Map.groupBy(this.#all, ({ group }) => group)]
        .map(([group, letters]) => ({ ...causeIn(group), ...this.#countsOf(letters) }))
        .sort((one, other) => other.sent - one.sent),
      cameBackAs: groupsOf(this.#recordsWith(this.#all, 'cameBack')).groups,
      waitFor: groupsOf(this.#recordsWith(this.#all, 'waits')).groups,
      gone: this.#gone.size,
      stillInvalid: this.#stillInvalid.size,
      failed: this.#failed,
      undeleted: this.#undeleted,
    };
  }

  async #release(letters: readonly SelectedLetter[]): Promise<undefined> {
    this.#backlog.add(letters);
  }

  /** Sends the canary, and releases the rest of each cause as soon as its own part went through. Returns why none follows, if none does. */
  async #sendCanary(): Promise<string | undefined> {
    const { inHand, options, hooks } = this.#parts;
    const canary = await canaryOf(inHand, options.canary);
    const rest = new Set(inHand.letters).difference(new Set(canary));
    const startedMs = Date.now();
    await this.#send(canary);
    if (canary.length > 0 && this.#failed.length === canary.length)
      return `SQS refused the canary: ${this.#failed[0]?.reason}`;
    const restOf = Map.groupBy(rest, ({ group }) => group);
    const undecided: SelectedLetter[] = [];
    let released = 0;
    const release = (letters: readonly SelectedLetter[]): void => {
      released += letters.length;
      this.#backlog.add(letters);
    };
    await Promise.all(
      [...Map.groupBy(canary, ({ group }) => group)].map(async ([group, letters]) => {
        await this.#settled(letters);
        for (const letter of letters) this.#awaited.add(letter);
        const others = restOf.get(group) ?? [];
        const outcomes = new Set(this.#sentOf(letters).map((letter) => this.#outcomeOf(letter)));
        // If none was sent, nothing is known of the cause either.
        if (outcomes.has('through') || outcomes.size === 0) release(others);
        else if (outcomes.has('cameBack') || outcomes.has('waits'))
          for (const letter of others) this.#setAside.add(letter);
        else undecided.push(...others);
      }),
    );
    const result = this.#canaryResult(this.#sentOf(canary), (Date.now() - startedMs) / 1000);
    hooks.onCanary?.(result);
    const isOpen = undecided.length > 0 && !hooks.signal.aborted;
    if (isOpen && (await hooks.continueUndecided?.(result))) release(undecided);
    if (hooks.signal.aborted) return this.#whyStop();
    return released > 0 || rest.size === 0 ? undefined : whyNoneFollows(result);
  }

  #canaryResult(letters: SelectedLetter[], seconds: number): Canary {
    return {
      letters: letters.length,
      cameBack: groupsOf(this.#recordsWith(letters, 'cameBack')).groups,
      waits: groupsOf(this.#recordsWith(letters, 'waits')).groups,
      undecided: letters.filter((letter) => this.#outcomeOf(letter) === 'unknown').length,
      seconds,
    };
  }

  async #send(letters: SelectedLetter[]): Promise<void> {
    const { inHand, toSend, hooks, prepare } = this.#parts;
    this.#sending += 1;
    try {
      const prepared: { letter: Letter; sending: SendReason }[] = [];
      for (const selected of letters) {
        const ready = await prepare(await inHand.read(selected));
        if ('letter' in ready) prepared.push(ready);
        else this.#stillInvalid.add(selected.id);
      }
      const outcome = await sendAndDelete(inHand.session, prepared);
      this.#outcomes.expect([...outcome.sent.values()].flatMap((id) => id ?? []));
      for (const selected of letters) {
        if (!outcome.sent.has(selected.id)) continue;
        this.#sent.set(selected.id, outcome.sent.get(selected.id));
        const row = this.#rows.get(selected.record.function) ?? [];
        this.#rows.set(selected.record.function, row);
        row.push(selected);
      }
      for (const [id, reason] of outcome.failed) this.#failed.push({ id, reason });
      this.#undeleted.push(...outcome.undeleted);
      this.#failuresInARow = outcome.failed.size === 0 ? 0 : this.#failuresInARow + outcome.failed.size;
    } finally {
      this.#sending -= 1;
    }
    hooks.onSent?.(this.#sent.size, toSend.length - this.#setAside.size);
  }

  #outcomeOf({ id }: SelectedLetter): SendOutcome {
    return this.#outcomes.outcomeOf(this.#sent.get(id) ?? '');
  }

  #sentOf(letters: readonly SelectedLetter[]): SelectedLetter[] {
    return letters.filter(({ id }) => this.#sent.has(id));
  }

  #recordsWith(letters: readonly SelectedLetter[], outcome: SendOutcome): IndexRecord[] {
    return letters.flatMap((letter) =>
      this.#outcomeOf(letter) === outcome
        ? (this.#outcomes.recordOf(this.#sent.get(letter.id) ?? '') ?? [])
        : [],
    );
  }

  async #settled(letters: readonly SelectedLetter[]): Promise<void> {
    const { options, hooks } = this.#parts;
    const ids = this.#sentOf(letters).map(({ id }) => this.#sent.get(id) ?? '');
    await this.#outcomes.settled(ids, { signal: hooks.signal, waitSeconds: options.waitSeconds });
  }

  #whyStop(): string | undefined {
    const { options, hooks } = this.#parts;
    if (hooks.signal.aborted) return 'it was interrupted';
    if (this.#outcomes.problem() !== undefined) return 'the outcomes of the messages could no longer be read';
    const error = this.#errorOfRow(options.stopAfter);
    if (error !== undefined) return `${options.stopAfter} in a row came back with the same error: ${error}`;
    if (this.#failuresInARow >= maxFailuresInARow)
      return `SQS refused ${this.#failuresInARow} messages in a row: ${this.#failed.at(-1)?.reason}`;
    return undefined;
  }

  /** The error that came back this many times in a row for one function. */
  #errorOfRow(length: number): string | undefined {
    for (const row of this.#rows.values()) {
      let inARow = 0;
      let last: string | undefined;
      for (const { id } of row) {
        const record = this.#outcomes.recordOf(this.#sent.get(id) ?? '');
        const error = record?.state === 'letter' ? `${record.kind}: ${record.error}` : undefined;
        inARow = error !== undefined && error === last ? inARow + 1 : 1;
        last = error;
        if (error !== undefined && inARow >= length) return error;
      }
    }
    return undefined;
  }

  #countsOf(letters: readonly SelectedLetter[]): OutcomeCounts {
    const counts = { sent: 0, through: 0, cameBack: 0, waits: 0, unknown: 0, setAside: 0, notTried: 0 };
    const failed = new Set(this.#failed.map(({ id }) => id));
    for (const letter of letters)
      if (this.#sent.has(letter.id)) {
        counts.sent += 1;
        counts[this.#outcomeOf(letter)] += 1;
      } else if (this.#setAside.has(letter)) counts.setAside += 1;
      else if (!this.#stillInvalid.has(letter.id) && !failed.has(letter.id)) counts.notTried += 1;
    return counts;
  }
}

const whyNoneFollows = ({ letters, cameBack, waits, undecided }: Canary): string => {
  if (undecided > 0) return `${undecided} of the canary have no outcome yet`;
  if (waits.length === 0 && cameBack.length > 0)
    return letters === 1 ? 'the canary came back' : 'every letter of the canary came back';
  return 'the canary waits, or came back';
};

type RateOptions<Item> = {
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
const processAtRate = <Item>(
  backlog: Backlog<Item>,
  { rate, signal, stop, work }: RateOptions<Item>,
): Promise<void> => {
  const size = Math.min(10, Math.max(1, Math.round(rate / 5)));
  const atPace = async function* () {
    let dueMs = performance.now();
    while (await backlog.hasMore()) {
      await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal }).catch(() => {});
      if (signal.aborted || stop()) return;
      yield backlog.take(size);
      // After a pause, such as a machine's sleep, it continues at the same pace and does not catch up.
      dueMs = Math.max(dueMs + (size / rate) * 1000, performance.now() - 1000);
    }
  };
  return inParallel(atPace(), work, parallel);
};

/** Items that are added while others are taken. */
class Backlog<Item> {
  readonly #items: Item[] = [];
  #isClosed = false;
  #changed = Promise.withResolvers<void>();

  get size(): number {
    return this.#items.length;
  }

  add(items: readonly Item[]): void {
    for (const item of items) this.#items.push(item);
    this.#notify();
  }

  take(most: number): Item[] {
    return this.#items.splice(0, most);
  }

  /** No more are added. */
  close(): void {
    this.#isClosed = true;
    this.#notify();
  }

  /** Waits while it is empty and not closed. */
  async hasMore(): Promise<boolean> {
    while (this.size === 0 && !this.#isClosed) await this.#changed.promise;
    return this.size > 0;
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
