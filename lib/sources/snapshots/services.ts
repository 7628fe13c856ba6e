import type { SQSClient } from '@aws-sdk/client-sqs';
import { createRunningExecutions, type RunningExecutions } from '../../delivery/durable/older-executions.ts';
import type { Integration } from '../../delivery/handle/integration.ts';
import type { BackoffLimits } from '../../message/backoff.ts';
import { timeouts } from '../../runtime/aws/clients.ts';
import { s3Client } from '../../runtime/aws/s3.ts';
import {
  backoffOf,
  hasOwnStore,
  observeOptionsOf,
  queueUrlOf,
  type SnapshotSettings,
} from '../../runtime/aws/settings.ts';
import { sqsClient } from '../../runtime/aws/sqs.ts';
import { createObserve, type Observe } from '../../runtime/telemetry/observe.ts';
import type { SnapshotStore } from './state/store.ts';

export type SnapshotServices = {
  store: SnapshotStore;
  sqs(): Promise<SQSClient>;
  queueUrlOf(functionName: string): string;
  integrations: ReadonlyMap<string, Integration<unknown>>;
  observe: Observe;
  running: RunningExecutions;
  limits: {
    backoff: BackoffLimits;
    /** After this time, no decision is accepted. */
    approvalSeconds: number;
    /** Number of events that one step sends, unless there are more than 1,000 times as many. */
    eventsPerPart: number;
    /** No part is sent with less time left in an invocation. */
    reserveMs: number;
    /** A comparison that takes longer is given up; default: 14 minutes. */
    compareMs?: number | undefined;
  };
};

type Integrations = ReadonlyMap<string, Integration<unknown>>;

const clientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 60_000 }), maxAttempts: 3 };

export const createSnapshotServices = async (
  settings: SnapshotSettings,
  loadIntegrations: () => Promise<Integrations>,
): Promise<SnapshotServices> => {
  const [s3, { createSnapshotStore }, running, integrations] = await Promise.all([
    s3Client({ ...clientOptions, forcePathStyle: hasOwnStore(settings) })(),
    import('./state/store.ts'),
    createRunningExecutions(),
    loadIntegrations(),
  ]);
  return {
    store: createSnapshotStore({ s3, bucket: settings.SNAPSHOT_BUCKET }),
    // Loaded when something is sent.
    sqs: sqsClient(clientOptions),
    queueUrlOf: (name) => queueUrlOf(name, settings),
    integrations,
    observe: createObserve(observeOptionsOf('snapshot-import', settings)),
    running,
    limits: {
      backoff: backoffOf(settings),
      approvalSeconds: Math.round(settings.APPROVAL_LONGEST_HOURS * 3_600),
      eventsPerPart: settings.EVENTS_PER_PART,
      reserveMs: settings.RESERVE_MS,
    },
  };
};
