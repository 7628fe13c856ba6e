import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Integration } from '../../delivery/handle/integration.ts';
import type { BackoffLimits } from '../../message/backoff.ts';
import { awsClient, timeouts } from '../../runtime/aws/clients.ts';
import { unlessError } from '../../runtime/aws/error.ts';
import { s3Client } from '../../runtime/aws/s3.ts';
import { hasOwnStore, queueUrlOf } from '../../runtime/aws/settings.ts';
import { sqsClient } from '../../runtime/aws/sqs.ts';
import { createRunningExecutions, type RunningExecutions } from '../../runtime/jobs/older-executions.ts';
import { createObserve, type Observe } from '../../runtime/telemetry/observe.ts';
import type { ImportSettings } from './import-settings.ts';
import type { Decision } from './state/record.ts';
import type { SnapshotStore } from './state/store.ts';

export type SnapshotServices = {
  store: SnapshotStore;
  sqs(): Promise<SQSClient>;
  queueUrlOf(functionName: string): string;
  integrations: ReadonlyMap<string, Integration<unknown>>;
  observe: Observe;
  running: RunningExecutions;
  /** Answers an import that waits for a decision. One that has ended, or has an answer, is left as it is. */
  answer(callbackId: string, decision: Decision): Promise<void>;
  limits: ImportSettings['limits'] & {
    backoff: BackoffLimits;
    /** A comparison that takes longer is given up; default: 14 minutes. */
    compareMs?: number | undefined;
  };
};

type Integrations = ReadonlyMap<string, Integration<unknown>>;

const clientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 60_000 }), maxAttempts: 3 };

export const createSnapshotServices = async (
  settings: ImportSettings,
  loadIntegrations: () => Promise<Integrations>,
): Promise<SnapshotServices> => {
  const [s3, { createSnapshotStore }, running, integrations] = await Promise.all([
    s3Client({ ...clientOptions, forcePathStyle: hasOwnStore(settings.store) })(),
    import('./state/store.ts'),
    createRunningExecutions(),
    loadIntegrations(),
  ]);
  return {
    store: createSnapshotStore({ s3, bucket: settings.import.bucket }),
    // Loaded when something is sent.
    sqs: sqsClient(clientOptions),
    queueUrlOf: (name) => queueUrlOf(name, settings.letters),
    integrations,
    observe: createObserve({ function: 'snapshot-import', ...settings.telemetry }),
    running,
    answer: answerCallback,
    limits: { ...settings.limits, backoff: settings.backoff },
  };
};

const isOver = /^(CallbackTimeout|InvalidParameterValue|ResourceNotFound)Exception$/;

const answerCallback = async (CallbackId: string, decision: Decision): Promise<void> => {
  const { LambdaClient, SendDurableExecutionCallbackSuccessCommand } = await import('@aws-sdk/client-lambda');
  const lambda = awsClient(LambdaClient, timeouts({ connectionMs: 2_000, requestMs: 30_000 }));
  const Result = Buffer.from(JSON.stringify(decision));
  await unlessError(isOver, () =>
    lambda.send(new SendDurableExecutionCallbackSuccessCommand({ CallbackId, Result })),
  );
};
