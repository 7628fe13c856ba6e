import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClient, timeouts } from '../aws/clients.ts';
import type { RefreshSettings } from '../config/settings.ts';
import { createSecretVersions } from '../credentials/versions.ts';
import { createObserve, type Observe } from '../telemetry/observe.ts';
import { createRefreshRun, type RefreshSummary } from './run.ts';
import { createTokenRefresh } from './token-refresh.ts';

/** What a container that renews tokens works with. */
export type RefreshServices = {
  run(limits: { deadlineMs: number; force: boolean }): Promise<RefreshSummary>;
  observe: Observe;
};

/** More patient than elsewhere: what cannot be stored is lost, and with it the refresh token. */
const clientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 5_000 }), maxAttempts: 6 };

export const createRefreshServices = (
  settings: RefreshSettings,
  { nowMs = Date.now, write }: { nowMs?: () => number; write?: (line: string) => void } = {},
): RefreshServices => {
  const observe = createObserve({
    function: 'token-refresh',
    level: settings.LOG_LEVEL,
    namespace: settings.METRIC_NAMESPACE,
    ...(write ? { write } : {}),
  });
  const versions = createSecretVersions(awsClient(SecretsManagerClient, clientOptions));
  const tokenTimeoutMs = settings.TOKEN_TIMEOUT_MS;
  const refresh = createTokenRefresh({ versions, observe, tokenTimeoutMs, nowMs });
  const prefix = settings.SECRET_PREFIX;
  return { run: createRefreshRun({ refresh, versions, observe, prefix, nowMs }), observe };
};
