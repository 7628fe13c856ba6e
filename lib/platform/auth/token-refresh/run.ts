import { ownText, type SafeText, safe } from '../../../message/safe-text.ts';
import type { Observe } from '../../../runtime/telemetry/observe.ts';
import { failureOf } from '../../client/failure-of.ts';
import type { SecretVersions } from '../versions.ts';
import { type RefreshOutcome, type RefreshResult, storingMs, type TokenRefresh } from './token-refresh.ts';

export type RefreshRunOptions = {
  tokenRefresh: TokenRefresh;
  versions: SecretVersions;
  observe: Observe;
  /** Secrets are `<prefix>/service` and `<prefix>/users/<userId>`. */
  prefix: string;
  nowMs?: () => number;
};

export type RefreshSummary = Record<RefreshOutcome, number>;

const atOnce = 8;

/** Renews the tokens that are due: the service's first, then those of all users. */
export const createRefreshRun = (options: RefreshRunOptions) => {
  const { tokenRefresh, versions, observe, prefix, nowMs = Date.now } = options;
  /** A container reads a secret again only when it is due, or was changed. */
  const known = new Map<string, RefreshResult>();

  return async ({ deadlineMs, force }: { deadlineMs: number; force: boolean }): Promise<RefreshSummary> => {
    const summary = { none: 0, fresh: 0, refreshed: 0, waiting: 0, correct: 0, authorize: 0, failed: 0 };
    const signal = AbortSignal.timeout(Math.max(1, deadlineMs - storingMs - nowMs()));

    const one = async (name: string, listed?: string): Promise<void> => {
      const before = known.get(name);
      const isKnown = before && before.version === listed && nowMs() < before.quietUntilMs && !force;
      const outcome = isKnown ? before.outcome : await refreshOne(name);
      summary[outcome] += 1;
      // A problem that only a person can fix is counted in every run, so that its alarm lasts until then.
      if (outcome === 'correct' || (outcome !== 'none' && outcome !== 'fresh' && !isKnown))
        observe.count('TokenRefreshes', { outcome }, 1);
    };

    /** A later run can succeed after an outage. It cannot fix a refusal of AWS, or a bug. */
    const outcomeOf = (error: unknown, text: SafeText, secret?: SafeText): RefreshOutcome => {
      const { kind, message: reason } = failureOf(error);
      observe.error(text, secret === undefined ? { reason } : { secret, reason }, error);
      observe.failed(kind);
      return kind === 'unavailable' ? 'waiting' : 'failed';
    };

    const refreshOne = async (name: string): Promise<RefreshOutcome> => {
      try {
        const refreshed = await tokenRefresh.refresh(name, { deadlineMs, signal, force });
        known.set(name, refreshed);
        return refreshed.outcome;
      } catch (error) {
        known.delete(name);
        return outcomeOf(error, safe`tokens could not be renewed`, ownText(name));
      }
    };

    await one(`${prefix}/service`);
    try {
      const users = versions.list(`${prefix}/users/`);
      const worker = async () => {
        for await (const { name, version } of users) {
          if (nowMs() >= deadlineMs) return;
          await one(name, version);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
    } catch (error) {
      const outcome = outcomeOf(error, safe`the secrets of users could not be listed`);
      summary[outcome] += 1;
      observe.count('TokenRefreshes', { outcome }, 1);
    }
    // 0 is reported, too, so that an alarm ends.
    observe.count('AuthorizationsNeeded', { function: 'token-refresh' }, summary.authorize);
    return summary;
  };
};
