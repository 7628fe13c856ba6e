import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { type PollSummary, pollChanges } from '../lib/options/changes/poll.ts';
import { createPollServices } from '../lib/options/changes/poll-services.ts';
import { pollSettings } from '../lib/options/changes/poll-settings.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';
import { loadIntegrations } from '../lib/stage/integrations.ts';

const services = onceFromEnvironment((environment) =>
  createPollServices(readSettings(pollSettings, environment), loadIntegrations),
);

/** Time reserved at the end of an invocation. */
const reserveMs = 3_000;

/** A person passes the page that has this notice, though the mapping makes no message of it. */
const request = z.object({ pass: z.string().optional() });

/** Runs on a schedule. Sends the messages that the SIS' change notices produce. Without CHANGES_URL it does nothing. */
export const handler = async (event: unknown, context: Context): Promise<PollSummary> => {
  const { observe, parts } = services();
  observe.begin(context.awsRequestId);
  if (parts === undefined) return { outcome: 'off', pages: 0, sent: 0, skipped: 0, refused: 0 };
  try {
    return await pollChanges(parts, Date.now() + context.getRemainingTimeInMillis() - reserveMs, {
      pass: request.safeParse(event).data?.pass,
    });
  } finally {
    observe.flush();
  }
};
