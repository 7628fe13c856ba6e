import { importJob } from '../lib/options/snapshots/import.ts';
import { importSettings } from '../lib/options/snapshots/import-settings.ts';
import { createSnapshotServices } from '../lib/options/snapshots/snapshot-services.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';
import { durableHandler } from '../lib/runtime/jobs/engine.ts';
import { loadIntegrations } from '../lib/stage/integrations.ts';

const services = onceFromEnvironment((environment) =>
  createSnapshotServices(readSettings(importSettings, environment), loadIntegrations),
);

/**
 * Runs when a file is put under `snapshots/`: sends what has changed since the last accepted snapshot. `{"key": "snapshots/…"}`
 * imports one by hand. Runs take turns, in the order in which the files were put.
 */
export const handler = durableHandler(importJob(services));
