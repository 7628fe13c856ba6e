import { reconcileOperations } from '../lib/options/reconcile/check.ts';
import { reconcileJob } from '../lib/options/reconcile/reconcile.ts';
import { createReconcileServices } from '../lib/options/reconcile/reconcile-services.ts';
import { reconcileSettings } from '../lib/options/reconcile/reconcile-settings.ts';
import { resendOperations } from '../lib/options/reconcile/resend.ts';
import { loadExportReader } from '../lib/options.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';
import { durableHandler } from '../lib/runtime/jobs/engine.ts';
import { loadIntegrations } from '../lib/stage/integrations.ts';

/** Calls that the function may make, which determine the scopes that it needs. */
export const operations = [...new Set([...reconcileOperations, ...resendOperations])];

const services = onceFromEnvironment(async (environment) =>
  createReconcileServices(readSettings(reconcileSettings, environment), {
    loadIntegrations,
    readExports: await loadExportReader(),
  }),
);

/**
 * Runs on a schedule and on demand. Compares the platform with the ledger, and records what differs. `{}` checks recent writes, a part of
 * the older ones, and a sample; `{"whole":true}` checks all. It repairs nothing. Runs take turns.
 * `{"resend":"<id>"}` compares nothing: it sends again what an operator selected.
 */
export const handler = durableHandler(reconcileJob(services));
