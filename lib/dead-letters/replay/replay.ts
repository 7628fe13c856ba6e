import type { ConnectionReport } from '../../connection/check.ts';
import type { Audit } from '../../deployment/audit.ts';
import { integrationNamed } from '../../deployment/integrations.ts';
import type { Target } from '../../deployment/target.ts';
import { parseMessage } from '../../message.ts';
import type { Filter } from '../reading/filter.ts';
import type { Letter } from '../reading/letter.ts';
import { type Insight, selectLetters } from '../reading/selection.ts';
import type { ReadOptions } from '../reading/session.ts';
import { type Plan, planReplay } from './plan.ts';
import { runPreflight } from './preflight.ts';
import { createReplayRun, type ReplayCounts, type RunHooks, type RunOptions } from './run.ts';

export type ReplayOptions = RunOptions & {
  filter: Filter;
  /** No more than so many letters. */
  limit?: number | undefined;
  /** Ends with the plan. */
  dryRun: boolean;
  /** Also letters that a person must decide on. */
  includeUncertain: boolean;
  /** Asks the platform first what cannot succeed yet. */
  probe: boolean;
  reason?: string | undefined;
};

export type ReplayHooks = RunHooks &
  ReadOptions & {
    audit: Audit;
    /** Decides by the plan whether anything is sent. */
    confirm(plan: Plan, report: ConnectionReport | undefined): Promise<boolean>;
  };

export type ReplayResult = {
  plan: Plan;
  report: ConnectionReport | undefined;
  /** `planned`: a dry run; `nothing`: there is nothing to send; `declined`: the plan was not confirmed. */
  ended: 'done' | 'stopped' | 'planned' | 'nothing' | 'declined';
  stoppedBecause?: string | undefined;
  counts?: ReplayCounts | undefined;
  /** How many letters others see only when their lease ends. */
  backLater: number;
};

/**
 * Replays letters: a plan, then a canary whose outcome is awaited, then the rest. Each letter is deleted after its message was
 * sent (send-and-delete.ts).
 */
export const replayLetters = async (
  target: Target,
  options: ReplayOptions,
  hooks: ReplayHooks,
): Promise<ReplayResult> => {
  const { signal } = hooks;
  const selection = await selectLetters(target, {
    ...options,
    ...hooks,
    inspect: insightInto,
  });
  let result: Omit<ReplayResult, 'backLater'>;
  let backLater = 0;
  try {
    const { preflight, report } = await runPreflight({
      target: options.probe ? target : { ...target, platform: undefined },
      selection,
    });
    const { plan, toSend } = planReplay(selection, { ...options, preflight });
    result = { plan, report, ended: options.dryRun ? 'planned' : 'nothing' };
    const confirmed = await hooks.confirm(plan, report);
    if (toSend.length > 0 && !options.dryRun) {
      if (!confirmed || signal.aborted) result.ended = 'declined';
      else {
        const { filter, reason } = options;
        const { end } = await hooks.audit.begin({
          command: 'letters replay',
          filter,
          reason,
          counts: { planned: toSend.length },
          letters: toSend.map(({ id }) => id),
        });
        const run = createReplayRun({ selection, toSend, options, hooks });
        try {
          result.stoppedBecause = await run.perform();
          result.ended = result.stoppedBecause === undefined ? 'done' : 'stopped';
        } finally {
          result.counts = run.counts();
          await end(numbersIn(result.counts), run.sentIds());
        }
      }
    }
  } finally {
    backLater = await selection.close();
  }
  return { ...result, backLater };
};

/** What the integration's definition tells of a letter's message. */
const insightInto = async ({ function: name, kind, body, queueUrl }: Letter): Promise<Insight> => {
  const integration = queueUrl === undefined ? undefined : await integrationNamed(name);
  if (integration === undefined) return {};
  const signsAsUser = integration.actor !== undefined;
  if (!['invalid', 'missing-credential', 'missing-permission'].includes(kind)) return { signsAsUser };
  try {
    const { data } = parseMessage(body, integration, Date.now());
    return { signsAsUser, actor: integration.actor?.(data) };
  } catch (error) {
    return { signsAsUser, stillInvalid: error instanceof Error ? error.message : String(error) };
  }
};

const numbersIn = (counts: ReplayCounts): Record<string, number> => ({
  sent: counts.sent,
  cameBack: counts.cameBack,
  setAside: counts.setAside,
  notSent: counts.notSent,
  failed: counts.failed.length,
  undeleted: counts.undeleted.length,
});
