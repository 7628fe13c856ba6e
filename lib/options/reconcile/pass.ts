import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Failure } from '../../message/failure.ts';
import { inParallel } from '../../runtime/aws/parallel.ts';
import { inFolder } from '../../runtime/files/folder.ts';
import { keepMemoryBelow } from '../../runtime/files/memory-limit.ts';
import { bulkPlatform } from '../../runtime/jobs/bulk-platform.ts';
import type { JobServices } from '../../runtime/jobs/job-services.ts';
import type { JobStore } from '../../runtime/jobs/store.ts';
import type { CallReport } from '../../runtime/telemetry/call-report.ts';
import {
  type CheckResult,
  type CheckServices,
  checkGroup,
  chosenNow,
  findingIn,
  memoryAllowanceMb,
  NotNow,
  notComparable,
  reconcileOperations,
  type SelectedWrite,
  unreadable,
} from './check.ts';
import { groupsIn } from './divide.ts';
import { isAccepted, noClasses, noTally, type Tally } from './record.ts';
import { noReasons, type Reason, reasons, type Selection } from './selection.ts';

export type PassServices = Omit<CheckServices, 'platform' | 'roles' | 'selection'> &
  Pick<JobServices, 'store' | 'platform' | 'observe' | 'callUsage'> & {
    /** Maximum number of concurrent reads, as far as the rate limiter allows. */
    concurrency: number;
  };

/**
 * After this many unanswered attempts, a resource counts as unreadable if others are answered: it must not keep the night from the rest.
 * The second is the number of groups at a time: often they are of one org unit.
 */
const [maxStuck, maxUnanswered] = [6, 64];

/** Minimum number of writes in a part that is checked once more. */
const minAgain = 1_000;

/** Where to continue: the part, and the number of its groups that are done. */
export type Progress = { part: number; group: number };

export type Counts = {
  tallies: Record<Reason, Tally>;
  byKind: Record<'grade' | 'enrollment', Tally['byClass']>;
  /** Differences that are not accepted, by class. */
  open: Tally['byClass'];
  findings: number;
  accepted: number;
  calls: number;
};

export type PassResult = Counts & {
  /** Undefined: everything was checked. */
  next?: Progress;
  /** The failure that it waits for. */
  waits?: Failure;
  /** The objects with the writes to check once more. */
  againKeys: string[];
};

export const noCounts = (): Counts => ({
  tallies: noReasons(noTally),
  byKind: { grade: noClasses(), enrollment: noClasses() },
  open: noClasses(),
  findings: 0,
  accepted: 0,
  calls: 0,
});

type PassRequest = {
  from: Progress;
  parts: number;
  partKey(part: number): string;
  findingsKey: string;
  againKey(part: number): string;
  /** These writes were in progress before: they are checked by the ledger's current state, and not again. */
  isLast: boolean;
  /** How many times it got no further than this. */
  stuck: number;
  timeMs: number;
  roles: ReadonlySet<number>;
  selection: Selection;
  /** Keys by `acceptanceKeyOf`. */
  accepted: ReadonlySet<string>;
};

/** Checks the selected writes from there on until the time is up, and records the differences. */
export const runPass = (request: PassRequest, services: PassServices): Promise<PassResult> =>
  inFolder((folder) => new Pass(request, services, join(folder, 'findings')).run());

class Pass {
  readonly #request: PassRequest;
  readonly #services: PassServices;
  readonly #untilMs: number;
  readonly #signal: AbortSignal;
  readonly #checking: CheckServices;
  /** The file of differences. */
  readonly #findings: string;
  readonly #again: ReturnType<typeof createAgain>;
  readonly #counts = noCounts();
  #waits: Failure | undefined;

  constructor(request: PassRequest, services: PassServices, findings: string) {
    const { timeMs, roles, selection, isLast } = request;
    this.#request = request;
    this.#services = services;
    this.#untilMs = Date.now() + timeMs;
    this.#signal = AbortSignal.timeout(timeMs);
    this.#findings = findings;
    this.#again = createAgain(services.store, request.againKey);
    const call = (report: CallReport): void => {
      this.#counts.calls += 1;
      services.observe.call(report);
    };
    const calling = { ...services, observe: { call } };
    const platform = bulkPlatform(calling, { operations: reconcileOperations, signal: this.#signal });
    // Only a part of an org unit is checked once more: a user outside that part is not surplus.
    this.#checking = { ...services, platform, selection, roles: isLast ? new Set() : roles };
  }

  async run(): Promise<PassResult> {
    const { store, observe, callUsage } = this.#services;
    writeFileSync(this.#findings, '');
    const next = await this.#checkFrom(this.#request.from);
    await this.#again.write(1);
    await callUsage.write();
    observe.flush();
    await store.uploadFile(this.#request.findingsKey, this.#findings, 'application/x-ndjson');
    const waits = next && this.#waits;
    return { ...this.#counts, againKeys: this.#again.keys, ...(next && { next }), ...(waits && { waits }) };
  }

  /** Returns where to continue; undefined: everything was checked. */
  async #checkFrom(from: Progress): Promise<Progress | undefined> {
    const { parts } = this.#request;
    let next: Progress | undefined = from;
    while (next !== undefined && next.part < parts) {
      const { part }: Progress = next;
      const within = await this.#checkPart(next);
      if (within !== undefined) return within;
      next = part + 1 < parts ? { part: part + 1, group: 0 } : undefined;
      if (this.#isOver()) break;
    }
    return next;
  }

  #isOver(): boolean {
    return this.#waits !== undefined || Date.now() >= this.#untilMs;
  }

  /** Returns where in this part to continue; undefined: it was checked to its end. */
  async #checkPart({ part, group }: Progress): Promise<Progress | undefined> {
    const { from, stuck, partKey } = this.#request;
    const { store, concurrency } = this.#services;
    const groups = await groupsIn(partKey(part), store);
    const patience = createPatience(stuck >= maxStuck && part === from.part);
    // Groups after an unanswered group are checked again with it.
    let done = await inOrder(groups.slice(group), {
      concurrency,
      stop: () => this.#isOver(),
      work: (each) => this.#checkPatiently(each, patience, each === groups[from.group]),
    });
    const failure = patience.failureOfAll(groups.length - group);
    if (failure) [this.#waits, done] = [failure, []];
    for (const checked of done.flat()) this.#record(checked);
    await this.#again.write(minAgain);
    keepMemoryBelow(memoryAllowanceMb);
    const reached = group + done.length;
    return reached < groups.length ? { part, group: reached } : undefined;
  }

  /** Undefined: it was not answered, and is checked again later. */
  async #checkPatiently(
    group: readonly SelectedWrite[],
    patience: ReturnType<typeof createPatience>,
    isFirst: boolean,
  ): Promise<CheckResult[] | undefined> {
    try {
      return patience.answered(await this.#check(group));
    } catch (error) {
      if (!(error instanceof NotNow)) throw error;
      const { failure } = error;
      // The others were cut off by the end of the invocation.
      const isCutOff = this.#signal.aborted && !isFirst;
      if (!isCutOff && patience.isOver(failure)) return group.map((chosen) => unreadable(chosen, failure));
      // The end of the invocation's time is no reason to wait.
      if (!this.#signal.aborted) this.#waits = failure;
      return undefined;
    }
  }

  async #check(group: readonly SelectedWrite[]): Promise<CheckResult[]> {
    if (!this.#request.isLast) return checkGroup(group, this.#checking);
    const now = await Promise.all(group.map((each) => chosenNow(each, this.#checking)));
    const gone = group.filter((_, at) => now[at] === undefined);
    const there = now.filter((each) => each !== undefined);
    return [...(await checkGroup(there, this.#checking)), ...gone.map(notComparable)];
  }

  #record(checked: CheckResult): void {
    const counts = this.#counts;
    if (checked.again && !this.#request.isLast) {
      this.#again.add(checked.again);
      return;
    }
    count(counts, checked);
    const finding = findingIn(checked);
    if (finding === undefined) return;
    if (isAccepted(finding, this.#request.accepted)) counts.accepted += 1;
    else {
      counts.findings += 1;
      counts.open[finding.class] += 1;
      appendFileSync(this.#findings, `${JSON.stringify(finding)}\n`);
    }
  }
}

/** Keeps writes to check once more, divided as before: what was together stays together. */
const createAgain = (store: JobStore, againKey: PassRequest['againKey']) => {
  const keys: string[] = [];
  let lines: string[] = [];
  return {
    keys,
    add: (chosen: SelectedWrite): void => void lines.push(`${JSON.stringify(chosen)}\n`),
    /** Writes only if there are at least this many. */
    write: async (min: number): Promise<void> => {
      if (lines.length < min) return;
      const key = againKey(keys.length);
      await store.uploadLines(key, lines);
      keys.push(key);
      lines = [];
    },
  };
};

/** Limits the patience with unanswered groups after it got no further for long. */
const createPatience = (isStuck: boolean) => {
  const failures: Failure[] = [];
  let isAnswered = false;
  return {
    answered: (checked: CheckResult[]): CheckResult[] => {
      isAnswered = true;
      return checked;
    },
    isOver: (failure: Failure): boolean => {
      const isOver = isStuck && failure.kind === 'unavailable' && failures.length < maxUnanswered;
      if (isOver) failures.push(failure);
      return isOver;
    },
    /** If nothing is answered at all, the platform is down. */
    failureOfAll: (groups: number): Failure | undefined =>
      !isAnswered && failures.length < groups ? failures[0] : undefined,
  };
};

type WorkerOptions<Item, Result> = {
  concurrency: number;
  stop(): boolean;
  work(item: Item): Promise<Result | undefined>;
};

/** Works on a number of items at once. Returns the results before the first item that has none. */
const inOrder = async <Item, Result>(
  items: readonly Item[],
  { concurrency, stop, work }: WorkerOptions<Item, Result>,
): Promise<Result[]> => {
  const results: (Result | undefined)[] = [];
  const untilStopped = function* () {
    for (const each of items.entries()) {
      if (stop()) return;
      yield each;
    }
  };
  await inParallel(
    untilStopped(),
    async ([at, item]) => {
      results[at] = await work(item);
    },
    concurrency,
  );
  const without = items.findIndex((_, at) => results[at] === undefined);
  return results.slice(0, without === -1 ? undefined : without) as Result[];
};

const count = ({ tallies, byKind }: Counts, checked: CheckResult): void => {
  const { subject, reason, judged, isBeside, isFoundByLedger } = checked;
  const tally = tallies[reason];
  if (!isBeside) tally.looked += 1;
  if (judged.class === undefined) tally.uncompared += isBeside ? 0 : 1;
  else if (!isBeside || judged.class !== 'same') {
    tally.byClass[judged.class] += 1;
    if (!isFoundByLedger) byKind[subject.kind][judged.class] += 1;
  }
};

/** Adds up what the steps of a run have looked at. */
export const addCounts = (
  sum: Counts,
  { tallies, byKind, open, findings, accepted, calls }: Counts,
): void => {
  for (const reason of reasons) {
    const [one, other] = [sum.tallies[reason], tallies[reason]];
    one.looked += other.looked;
    one.uncompared += other.uncompared;
    addClasses(one.byClass, other.byClass);
  }
  for (const kind of ['grade', 'enrollment'] as const) addClasses(sum.byKind[kind], byKind[kind]);
  addClasses(sum.open, open);
  sum.findings += findings;
  sum.accepted += accepted;
  sum.calls += calls;
};

const addClasses = (sum: Tally['byClass'], more: Tally['byClass']): void => {
  for (const [name, count] of Object.entries(more)) sum[name as keyof Tally['byClass']] += count;
};
