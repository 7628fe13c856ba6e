import { durableHandler } from '../lib/delivery/durable/job.ts';
import { loadIntegrations } from '../lib/operate/stage/integrations.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { reconcileSettingsFrom } from '../lib/runtime/aws/settings.ts';
import { reconcileOperations } from '../lib/scheduled/reconcile/check.ts';
import { reconcileJob } from '../lib/scheduled/reconcile/reconcile.ts';
import { resendOperations } from '../lib/scheduled/reconcile/resend.ts';
import { createReconcileServices } from '../lib/scheduled/reconcile/services.ts';

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
