import { crosswalkOn } from '../../delivery/crosswalk/look-up.ts';
import { createJobServices, jobClientOptions } from '../../delivery/durable/services.ts';
import type { Integration } from '../../delivery/handle/integration.ts';
import { createLedgerReader } from '../../delivery/ledger/read.ts';
import { once } from '../../runtime/aws/once.ts';
import { queueUrlOf, type ReconcileSettings } from '../../runtime/aws/settings.ts';
import { sqsClient } from '../../runtime/aws/sqs.ts';
import { readDigestMakers } from './keys.ts';
import type { ReconcileServices } from './reconcile.ts';
import { createResend } from './resend.ts';

type Loaded = Pick<ReconcileServices, 'readExports'> & {
  loadIntegrations(): Promise<ReadonlyMap<string, Integration<unknown>>>;
};

export const createReconcileServices = async (
  settings: ReconcileSettings,
  { loadIntegrations, readExports }: Loaded,
): Promise<ReconcileServices> => {
  const services = await createJobServices('reconcile', { settings, bucket: settings.RECONCILE_BUCKET });
  const { dynamodb } = services;
  const table = { dynamodb, table: settings.LEDGER_TABLE, nowMs: Date.now };
  const hourMs = 3_600_000;
  const reading = {
    readLedger: createLedgerReader(table),
    digestsOf: await readDigestMakers(services.secrets.client, settings.LEDGER_KEY_SECRET),
    crosswalk: crosswalkOn(settings.CROSSWALK_TABLE, dynamodb),
    readExports,
  };
  return {
    ...services,
    ...reading,
    table,
    settledMs: (settings.QUEUE_VISIBILITY_SECONDS + settings.QUEUE_BACKLOG_SECONDS) * 1000,
    attemptMs: settings.ATTEMPT_TIMEOUT_MS,
    nowMs: Date.now,
    concurrency: settings.RECONCILE_CONCURRENCY,
    limits: {
      ...services.limits,
      maxRunMs: settings.RECONCILE_LONGEST_HOURS * hourMs,
      recentMs: settings.RECONCILE_RECENT_HOURS * hourMs,
      sampleSize: settings.RECONCILE_SAMPLE,
      nights: settings.RECONCILE_NIGHTS,
    },
    resend: createResend({
      ...services,
      ...reading,
      // Loaded only if something is sent: most runs only compare.
      sqs: sqsClient(jobClientOptions),
      queueUrlOf: (name) => queueUrlOf(name, settings),
      integrations: once(loadIntegrations),
    }),
  };
};
