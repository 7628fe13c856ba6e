import { exportJob } from '../lib/options/course-export/export.ts';
import { createExportServices } from '../lib/options/course-export/export-services.ts';
import { exportSettings } from '../lib/options/course-export/export-settings.ts';
import { exportOperations } from '../lib/options/course-export/parts.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';
import { durableHandler } from '../lib/runtime/jobs/engine.ts';

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
