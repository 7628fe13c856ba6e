import { onceFromEnvironment } from '../lib/config/environment.ts';
import { snapshotSettingsFrom } from '../lib/config/settings.ts';
import { loadIntegrations } from '../lib/deployment/integrations.ts';
import { durableHandler } from '../lib/durable/job.ts';
import { importJob } from '../lib/snapshots/import.ts';
import { createSnapshotServices } from '../lib/snapshots/services.ts';

const services = onceFromEnvironment((environment) =>
  createSnapshotServices(snapshotSettingsFrom(environment), loadIntegrations),
);

/**
 * When a file is dropped under `snapshots/`: sends what has changed since the one that was accepted last. `{"key": "snapshots/…"}`
 * asks for one by hand. One at a time, in the order in which they were dropped.
 */
export const handler = durableHandler(importJob(services));
