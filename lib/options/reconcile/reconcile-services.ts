import { crosswalkOn } from '../../crosswalk/look-up.ts';
import type { Integration } from '../../delivery/handle/integration.ts';
import { createLedgerReader } from '../../delivery/ledger/read.ts';
import { memoize } from '../../runtime/aws/memoize.ts';
import { queueUrlOf } from '../../runtime/aws/settings.ts';
import { sqsClient } from '../../runtime/aws/sqs.ts';
import { createJobServices, jobClientOptions } from '../../runtime/jobs/job-services.ts';
import { readDigestMakers } from './digest-makers.ts';
import type { ReconcileServices } from './reconcile.ts';
import type { ReconcileSettings } from './reconcile-settings.ts';
import { createResend } from './resend.ts';

type LoadedExports = Pick<ReconcileServices, 'readExports'> & {
  loadIntegrations(): Promise<ReadonlyMap<string, Integration<unknown>>>;
};

export const createReconcileServices = async (
  settings: ReconcileSettings,
  { loadIntegrations, readExports }: LoadedExports,
): Promise<ReconcileServices> => {
  const services = await createJobServices('reconcile', { settings, bucket: settings.reconcile.bucket });
  const { dynamodb } = services;
  const table = { dynamodb, table: settings.tables.ledger, nowMs: Date.now };
  const reading = {
    readLedger: createLedgerReader(table),
    digestsOf: await readDigestMakers(services.secrets.client, settings.ledger.keySecret),
    crosswalk: crosswalkOn(settings.tables.crosswalk, dynamodb),
    readExports,
  };
  return {
    ...services,
    ...reading,
    table,
    settledMs: settings.limits.visibilityMs + settings.reconcile.backlogMs,
    attemptMs: settings.limits.attemptTimeoutMs,
    nowMs: Date.now,
    concurrency: settings.reconcile.concurrency,
    resend: createResend({
      ...services,
      ...reading,
      // Loaded only if something is sent: most runs only compare.
      sqs: sqsClient(jobClientOptions),
      queueUrlOf: (name) => queueUrlOf(name, settings.letters),
      integrations: memoize(loadIntegrations),
    }),
  };
};
