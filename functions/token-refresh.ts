import type { Context } from 'aws-lambda';
import * as z from 'zod';
import type { RefreshSummary } from '../lib/platform/auth/token-refresh/run.ts';
import { createRefreshServices } from '../lib/platform/auth/token-refresh/services.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { refreshSettingsFrom } from '../lib/runtime/aws/settings.ts';

/** A schedule's event, or `{"force":true}` of a person: tokens are asked for though the old ones last. */
const request = z.looseObject({ force: z.boolean().default(false) });

const services = onceFromEnvironment((environment) =>
  createRefreshServices(refreshSettingsFrom(environment)),
);

/** Kept of the time that is left, so that a run is over when its claims say so. */
const reserveMs = 2_000;

/**
 * On schedule, the only one that asks for tokens: renews those of every OAuth secret well before they end. Every other
 * function only reads them. A person is called where a refresh token is refused, and once for each.
 */
export const handler = async (event: unknown, context: Context): Promise<RefreshSummary> => {
  const { run, observe } = services();
  observe.begin(context.awsRequestId);
  const { force } = request.parse(event ?? {});
  try {
    return await run({ deadlineMs: Date.now() + context.getRemainingTimeInMillis() - reserveMs, force });
  } finally {
    observe.flush();
  }
};
