import { isCorrectedFirst } from '../../../message/failure-kinds.ts';
import { draftOf } from '../../../message/message.ts';
import type { Audit } from '../../../stage/audit.ts';
import type { ConnectionReport } from '../../../stage/connection/check.ts';
import { integrationNamed } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { withLetters } from '../letters/leased-letters.ts';
import type { Letter } from '../letters/letter.ts';
import { type SelectedLetter, selectLetters } from '../letters/list.ts';
import type { ReadOptions } from '../letters/session.ts';
import { namesPreflight } from './names-preflight.ts';
import { type Plan, planReplay } from './plan.ts';
import { type Preflight, type PreflightOptions, runPreflight } from './preflight.ts';
import { type ReplayCounts, ReplayRun, type RunHooks, type RunOptions } from './run.ts';

export type ReplayOptions = RunOptions & {
  filter: Filter;
  /** Maximum number of letters. */
  limit?: number | undefined;
  /** Ends with the plan. */
  dryRun: boolean;
  /** Includes letters that a person must decide on. */
  includeUncertain: boolean;
  /** Asks the platform first which letters cannot succeed yet. */
  probe: boolean;
  reason?: string | undefined;
  /** How many letters of the queue are read at most to check invalid ones for the plan, unless only such were selected. */
  lookAtMost?: number;
};

export type ReplayHooks = RunHooks &
  ReadOptions &
  Pick<PreflightOptions, 'functionsReachedMs'> & {
    audit: Audit;
    /** Decides by the plan whether anything is sent. `letters`: the ids of those that would be. */
    confirm(plan: Plan, report: ConnectionReport | undefined, letters: string[]): Promise<boolean>;
  };

export type ReplayResult = {
  plan: Plan;
  report: ConnectionReport | undefined;
  /** `planned`: a dry run; `nothing`: there is nothing to send; `declined`: the plan was not confirmed. */
  ended: 'done' | 'stopped' | 'planned' | 'nothing' | 'declined';
  stoppedBecause?: string | undefined;
  counts?: ReplayCounts | undefined;
  /** Letters that others see only when their lease ends. */
  backLater?: number | undefined;
};

/**
 * Replays letters: makes a plan from the lists, sends a canary of each cause, awaits its outcome, then sends the rest of the cause. Before
 * the plan is confirmed, only invalid letters are received from the queue, and given back. Each letter is deleted after its message was
 * sent (send-and-delete.ts).
 */
export const replayLetters = async (
  target: Target,
  options: ReplayOptions,
  hooks: ReplayHooks,
): Promise<ReplayResult> => {
  const { signal } = hooks;
  const selection = await selectLetters(target, options, signal);
  const [{ preflight: probe, report }, lacksName, refused] = await Promise.all([
    runPreflight(target, selection, { ...options, ...hooks }),
    namesPreflight(target, selection.letters),
    isStillInvalid(target, selection.letters, { ...hooks, atMost: options.lookAtMost ?? maxLooked }),
  ]);
  const preflight: Preflight = (letter) => {
    if (isCorrectedFirst(letter.record.kind) && !refused.has(letter)) return 'unchecked';
    return refused.get(letter) ? refusedBecause(letter) : (probe(letter) ?? lacksName(letter));
  };
  const { plan, toSend } = planReplay(selection, { ...options, preflight });
  const confirmed = await hooks.confirm(
    plan,
    report,
    toSend.map(({ id }) => id),
  );
  if (options.dryRun) return { plan, report, ended: 'planned' };
  if (toSend.length === 0) return { plan, report, ended: 'nothing' };
  if (!confirmed || signal.aborted) return { plan, report, ended: 'declined' };
  const { end } = await hooks.audit.begin({
    command: 'letters replay',
    filter: options.filter,
    reason: options.reason,
    counts: { planned: toSend.length },
    letters: toSend.map(({ id }) => id),
  });
  let counts: Record<string, number> = {};
  let sentIds: string[] = [];
  try {
    const result = await withLetters(target, { ...hooks, letters: toSend }, async (inHand) => {
      const prepare = async (letter: Letter) => {
        const problem = await problemWith(letter);
        return problem === undefined ? { letter, sending: { why: options.reason } } : { problem };
      };
      const run = new ReplayRun({ inHand, toSend, options, hooks, prepare });
      try {
        const stoppedBecause = await run.perform();
        return { stoppedBecause, counts: run.counts() };
      } finally {
        counts = numbersIn(run.counts());
        sentIds = run.sentIds();
      }
    });
    const ended = result.stoppedBecause === undefined ? 'done' : 'stopped';
    return { plan, report, ended, ...result };
  } finally {
    await end(counts, sentIds);
  }
};

const refusedBecause = ({ group: { remedy } }: SelectedLetter) => ({
  why: 'their functions would still refuse their messages',
  todo: remedy,
});

/** SQS finds no letter by its id: of very many, those of a kind cannot be read without reading all. */
const maxLooked = 2_000;

/** Whether invalid letters would be refused again. Not known of those that are not received, or not within `atMost`, if there are others. */
const isStillInvalid = async (
  target: Target,
  letters: readonly SelectedLetter[],
  options: ReadOptions & { atMost: number },
): Promise<Map<SelectedLetter, boolean>> => {
  const refused = new Map<SelectedLetter, boolean>();
  const invalid = letters.filter(({ record }) => isCorrectedFirst(record.kind));
  const atMost = invalid.length === letters.length ? Number.POSITIVE_INFINITY : options.atMost;
  if (invalid.length > 0)
    await withLetters(target, { ...options, atMost, letters: invalid }, async (inHand) => {
      for (const letter of inHand.letters)
        refused.set(letter, (await problemWith(await inHand.read(letter))) !== undefined);
      return {};
    });
  return refused;
};

/** Checks only messages that were invalid: their function may accept them since a later version. */
const problemWith = async ({ function: name, kind, body }: Letter): Promise<string | undefined> => {
  const integration = isCorrectedFirst(kind) ? await integrationNamed(name) : undefined;
  if (integration === undefined) return undefined;
  try {
    draftOf(body, integration, Date.now());
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const numbersIn = (counts: ReplayCounts): Record<string, number> => {
  const { byCause: _, cameBackAs: __, waitFor: ___, failed, undeleted, ...numbers } = counts;
  return { ...numbers, failed: failed.length, undeleted: undeleted.length };
};
