import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { type ExportAnswer, runExport } from '../lib/export.ts';
import { type ExportRequest, exportRequest } from '../lib/export-checkpoint.ts';
import { exportOperations } from '../lib/export-parts.ts';
import { createExportServices } from '../lib/export-services.ts';
import { onceFromEnvironment } from '../lib/services.ts';
import { exportSettingsFrom } from '../lib/settings.ts';

/** What it may call of the platform, and so the scopes that it needs. */
export const operations = exportOperations;

const resumption = z.strictObject({ resume: z.literal(true) });
/** A schedule that has no input of its own tells about itself. */
const schedule = z.looseObject({ 'detail-type': z.string() });

const requestIn = (event: unknown): ExportRequest | 'unfinished' => {
  if (resumption.safeParse(event).success) return 'unfinished';
  const asked = exportRequest.safeParse(schedule.safeParse(event).success ? {} : (event ?? {}));
  if (asked.success) return asked.data;
  throw new Error(`The event is not usable: ${z.prettifyError(asked.error)}`);
};

const services = onceFromEnvironment((environment) => createExportServices(exportSettingsFrom(environment)));

/**
 * On schedule and on demand: copies courses, with what belongs to them, to S3. `{}` asks for all courses,
 * `{"orgUnitIds":[…]}` for these, and `{"resume":true}` for nothing new: it goes on with what an earlier invocation began.
 */
export const handler = async (event: unknown, context: Context): Promise<ExportAnswer> => {
  const request = requestIn(event);
  const world = await services();
  const leftMs = context.getRemainingTimeInMillis() - world.limits.reserveMs;
  try {
    return await runExport(request, world, world.nowMs() + leftMs);
  } finally {
    world.observe.flush();
  }
};
