import { durableHandler } from '../lib/delivery/durable/engine.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';
import { exportJob } from '../lib/scheduled/course-export/export.ts';
import { exportSettings } from '../lib/scheduled/course-export/export-settings.ts';
import { exportOperations } from '../lib/scheduled/course-export/parts.ts';
import { createExportServices } from '../lib/scheduled/course-export/services.ts';

/** Calls that the function may make, which determine the scopes that it needs. */
export const operations = exportOperations;

const services = onceFromEnvironment((environment) =>
  createExportServices(readSettings(exportSettings, environment)),
);

/**
 * Runs on a schedule and on demand. Copies courses and their contents to S3. `{}` exports all courses, `{"orgUnitIds":[…]}` only these.
 * Runs take turns.
 */
export const handler = durableHandler(exportJob(services));
