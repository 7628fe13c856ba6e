import { durableHandler } from '../lib/delivery/durable/job.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { exportSettingsFrom } from '../lib/runtime/aws/settings.ts';
import { exportJob } from '../lib/scheduled/course-export/export.ts';
import { exportOperations } from '../lib/scheduled/course-export/parts.ts';
import { createExportServices } from '../lib/scheduled/course-export/services.ts';

/** What it may call of the platform, and so the scopes that it needs. */
export const operations = exportOperations;

const services = onceFromEnvironment((environment) => createExportServices(exportSettingsFrom(environment)));

/**
 * On schedule and on demand: copies courses, with what belongs to them, to S3. `{}` asks for all courses, `{"orgUnitIds":[…]}`
 * for these. One at a time: another one waits for its turn.
 */
export const handler = durableHandler(exportJob(services));
