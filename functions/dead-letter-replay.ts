import type { Context } from 'aws-lambda';
import { reindexLetters } from '../lib/desk/messages/letters/reindex.ts';
import { replayEvent } from '../lib/desk/messages/replay/event.ts';
import { type ReplayResult, replayLetters } from '../lib/desk/messages/replay/replay.ts';
import { countForOnCall } from '../lib/desk/stage-state/on-call.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';
import { createTally } from '../lib/runtime/telemetry/metrics.ts';
import { oldestPauseMs } from '../lib/runtime/telemetry/pauses.ts';
import { createAudit } from '../lib/stage/audit.ts';
import { type ConnectionReport, connectionOperations } from '../lib/stage/connection/check.ts';
import { loadIntegrations } from '../lib/stage/integrations.ts';
import { onCallSettings } from '../lib/stage/on-call-settings.ts';
import { type Target, targetFrom } from '../lib/stage/target.ts';

/** Calls that need scopes. The function also reads the resource that a refused letter names, but there a refusal is an answer, too. */
export const operations = connectionOperations;

const settings = onceFromEnvironment((environment) => readSettings(onCallSettings, environment));

/** Time reserved at the end of an invocation, to give back leased letters. */
const reserveMs = 30_000;

/** An unknown state counts as unhealthy, except for changes if there is no ledger: otherwise nothing would ever be replayed. */
const isHealthy = (report: ConnectionReport | undefined): boolean =>
  report?.reachable === true &&
  report.credentialAccepted === true &&
  !['yes', 'unknown'].includes(report.changes?.refused ?? 'no');

/**
 * Keeps the letter lists correct, and replays letters. On a schedule: those that heal by themselves, once the platform answers again.
 * On demand: those that the event selects.
 */
export const handler = async (given: unknown, context: Context): Promise<ReplayResult> => {
  const { scheduled, as, continueUndecided, canaryWait, ...asked } = replayEvent.parse(given);
  const own = targetFrom({});
  const target = as === undefined ? own : { ...own, who: `${own.who} (invoked as ${as})` };
  const options = { ...asked, waitSeconds: canaryWait };
  const signal = AbortSignal.timeout(Math.max(1, context.getRemainingTimeInMillis() - reserveMs));
  const looked = scheduled ? await updateListsAndCounts(target, signal) : undefined;
  const result = await replayLetters(target, options, {
    audit: createAudit(target, ({ line }) =>
      process.stdout.write(
        `${JSON.stringify({ ...JSON.parse(line), invocationId: context.awsRequestId })}\n`,
      ),
    ),
    signal,
    confirm: async (_plan, report) => !scheduled || isHealthy(report),
    continueUndecided: async () => continueUndecided,
  });
  // Letters are replayed even if something else cannot be read. Its error counts, for an alarm.
  if (looked?.error !== undefined) throw looked.error;
  return result;
};

/** Keeps the lists of letters correct, and counts for the people on call. Returns the error if something could not be read. */
const updateListsAndCounts = async (target: Target, signal: AbortSignal): Promise<{ error?: unknown }> => {
  await reindex(target, signal);
  const metrics = createTally(target.metricNamespace);
  const { onCall } = settings();
  const look = countForOnCall(target, {
    ...onCall,
    signal,
    count: {
      causes: (kind, value) => metrics.add('NewCauses', { kind }, value),
      decisions: (what, value) => metrics.add('Decisions', { what }, value),
      overdue: (expected, value) => metrics.add('ArrivalsOverdue', { expected }, value),
    },
  });
  const result = await look.then(
    () => ({}),
    (error: unknown) => ({ error }),
  );
  for (const line of metrics.take()) process.stdout.write(`${line}\n`);
  return result;
};

/** Also reports the age of the oldest letter. */
const reindex = async (target: Target, signal: AbortSignal): Promise<void> => {
  const indexed = await reindexLetters(target, { signal });
  process.stdout.write(`${JSON.stringify({ level: 'INFO', message: 'letters listed', ...indexed })}\n`);
  const { oldestMs = Date.now() } = indexed;
  const metrics = createTally(target.metricNamespace);
  metrics.add('LetterAge', { function: 'dead-letter-replay' }, secondsSince(oldestMs));
  const pausedMs = await pausedSinceMs(target);
  if (pausedMs !== undefined)
    metrics.add('PauseAge', { function: 'dead-letter-replay' }, secondsSince(pausedMs));
  for (const line of metrics.take()) process.stdout.write(`${line}\n`);
};

const secondsSince = (ms: number): number => Math.round((Date.now() - ms) / 1000);

/** Checked here because this function runs often enough to report a forgotten pause in time. */
const pausedSinceMs = async ({ dynamodb, ledgerTable: table }: Target): Promise<number | undefined> => {
  if (table === undefined) return undefined;
  const names = [...(await loadIntegrations()).keys()];
  // If this fails, the next run reports the pause; letters are replayed all the same.
  return oldestPauseMs({ dynamodb, table, nowMs: Date.now }, names).catch(() => undefined);
};
