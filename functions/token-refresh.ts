import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { createRefreshServices } from '../lib/platform/auth/token-refresh/refresh-services.ts';
import { refreshSettings } from '../lib/platform/auth/token-refresh/refresh-settings.ts';
import type { RefreshSummary } from '../lib/platform/auth/token-refresh/run.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';

/** A scheduled event, or `{"force":true}` from a person: requests new tokens even if the current ones are still valid. */
const request = z.looseObject({ force: z.boolean().default(false) });

const services = onceFromEnvironment((environment) =>
  createRefreshServices(readSettings(refreshSettings, environment)),
);

/** Time reserved at the end of an invocation, so that a run ends before its claims expire. */
const reserveMs = 2_000;

/**
 * Runs on a schedule. The only function that requests tokens: renews those of every OAuth secret well before they expire. All other
 * functions only read them. A refused refresh token alerts a person once.
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
