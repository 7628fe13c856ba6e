import type { ConnectionReport } from '../../connection/check.ts';
import type { Audit } from '../../deployment/audit.ts';
import { integrationNamed } from '../../deployment/integrations.ts';
import type { Target } from '../../deployment/target.ts';
import { parseMessage } from '../../message.ts';
import type { Filter } from '../reading/filter.ts';
import type { Letter } from '../reading/letter.ts';
import { type Insight, withSelection } from '../reading/selection.ts';
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
export const replayLetters = (
  target: Target,
  options: ReplayOptions,
  hooks: ReplayHooks,
): Promise<ReplayResult> =>
  withSelection(target, { ...options, ...hooks, inspect: insightInto }, async (selection) => {
    const probed = options.probe ? target : { ...target, platform: async () => undefined };
    const { preflight, report } = await runPreflight(probed, selection);
    const { plan, toSend } = planReplay(selection, { ...options, preflight });
    const confirmed = await hooks.confirm(plan, report);
    if (options.dryRun) return { plan, report, ended: 'planned' };
    if (toSend.length === 0) return { plan, report, ended: 'nothing' };
    if (!confirmed || hooks.signal.aborted) return { plan, report, ended: 'declined' };
    const { end } = await hooks.audit.begin({
      command: 'letters replay',
      filter: options.filter,
      reason: options.reason,
      counts: { planned: toSend.length },
      letters: toSend.map(({ id }) => id),
    });
    const run = createReplayRun({ selection, toSend, options, hooks });
    try {
      const stoppedBecause = await run.perform();
      const ended = stoppedBecause === undefined ? 'done' : 'stopped';
      return { plan, report, ended, stoppedBecause, counts: run.counts() };
    } finally {
      await end(numbersIn(run.counts()), run.sentIds());
    }
  });

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
