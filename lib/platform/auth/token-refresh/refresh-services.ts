import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClient, timeouts } from '../../../runtime/aws/clients.ts';
import { createObserve } from '../../../runtime/telemetry/observe.ts';
import { createSecretVersions } from '../versions.ts';
import type { RefreshSettings } from './refresh-settings.ts';
import { createRefreshRun } from './run.ts';
import { TokenRefresh } from './token-refresh.ts';

/** More attempts than elsewhere: a refresh token that cannot be stored is lost. */
const clientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 5_000 }), maxAttempts: 6 };

export const createRefreshServices = (
  settings: RefreshSettings,
  { nowMs = Date.now, write }: { nowMs?: () => number; write?: (line: string) => void } = {},
) => {
  const observe = createObserve({
    function: 'token-refresh',
    ...settings.telemetry,
    ...(write ? { write } : {}),
  });
  const versions = createSecretVersions(awsClient(SecretsManagerClient, clientOptions));
  const tokenTimeoutMs = settings.tokens.timeoutMs;
  const tokenRefresh = new TokenRefresh({ versions, observe, tokenTimeoutMs, nowMs });
  const prefix = settings.secrets.prefix;
  return { run: createRefreshRun({ tokenRefresh, versions, observe, prefix, nowMs }), observe };
};
