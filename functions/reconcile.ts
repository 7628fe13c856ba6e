import { onceFromEnvironment } from '../lib/config/environment.ts';
import { reconcileSettingsFrom } from '../lib/config/settings.ts';
import { loadIntegrations } from '../lib/deployment/integrations.ts';
import { durableHandler } from '../lib/durable/job.ts';
import { reconcileOperations } from '../lib/reconcile/check.ts';
import { reconcileJob } from '../lib/reconcile/reconcile.ts';
import { resendOperations } from '../lib/reconcile/resend.ts';
import { createReconcileServices } from '../lib/reconcile/services.ts';

/** What it may call of the platform, and so the scopes that it needs. */
export const operations = [...new Set([...reconcileOperations, ...resendOperations])];

const services = onceFromEnvironment((environment) =>
  createReconcileServices(reconcileSettingsFrom(environment), loadIntegrations),
);

/**
 * On schedule and on demand: compares the platform with what the ledger says was sent, and writes down what differs. `{}` looks at what
 * is recent, at a part of what is older, and at a sample; `{"whole":true}` at all. It repairs nothing. One at a time.
 * `{"resend":"<id>"}` compares nothing, and sends again what an operator has named.
 */
export const handler = durableHandler(reconcileJob(services));
