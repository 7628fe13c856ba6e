import { setMaxListeners } from 'node:events';
import type { Platform, PlatformClient } from '../../platform/client/client.ts';
import type { Operation } from '../../platform/client/operation.ts';
import type { CallReport } from '../telemetry/call-report.ts';

type BulkServices = {
  platform: PlatformClient;
  observe: { call(call: CallReport): void };
  /** Records how much of the platform's rate limit it uses. */
  callUsage?: { record(calls: readonly CallReport[]): void } | undefined;
};

/** The platform for a job: calls as the service, and after what is more urgent. */
export const bulkPlatform = (
  { platform, observe, callUsage }: BulkServices,
  { operations, signal }: { operations: readonly Operation<unknown>[]; signal: AbortSignal },
): Platform => {
  // Every call in progress adds a listener.
  setMaxListeners(0, signal);
  return platform.for({
    actor: undefined,
    operations,
    signal,
    priority: 'bulk',
    onCall: (call) => {
      observe.call(call);
      callUsage?.record([call]);
    },
  });
};
