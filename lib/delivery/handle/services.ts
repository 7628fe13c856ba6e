import { type Crosswalk, crosswalkOn } from '../../crosswalk/look-up.ts';
import type { BackoffLimits } from '../../message/backoff.ts';
import { safe } from '../../message/safe-text.ts';
import { createPlatformServices } from '../../platform/auth/platform-services.ts';
import { createSecretReader, type ReadSecret } from '../../platform/auth/secret-reader.ts';
import type { PlatformClient } from '../../platform/client/client.ts';
import { timeouts } from '../../runtime/aws/clients.ts';
import { createQuickDynamoDb, type QuickDynamoDb } from '../../runtime/aws/dynamodb-quick.ts';
import { onceFromEnvironment, whileInitialising } from '../../runtime/aws/environment.ts';
import { readSettings } from '../../runtime/aws/setting.ts';
import { type MessageSettings, messageSettings } from '../../runtime/aws/settings.ts';
import { sqsClient } from '../../runtime/aws/sqs.ts';
import { createFiles, type Files } from '../../runtime/files/files.ts';
import { type Arrivals, createArrivals } from '../../runtime/telemetry/arrivals.ts';
import type { CallUsageRecorder } from '../../runtime/telemetry/call-usage.ts';
import { createIncidents, type Incidents } from '../../runtime/telemetry/incidents.ts';
import type { Observe } from '../../runtime/telemetry/observe.ts';
import { createDigester, type Digester } from '../ledger/digest.ts';
import { type Ledger, TableLedger } from '../ledger/ledger.ts';
import { createLedgerTable } from '../ledger/table.ts';
import { createLetterStore } from '../letters/letter-file.ts';
import { createLetterIndexWriter, type LetterIndexWriter } from '../letters/letter-index-writer.ts';
import { createFanOut, type FanOut } from './fan-out.ts';
import { createInFlight } from './in-flight.ts';
import { createQueues, type Queues } from './queues.ts';
import { sendToFunctions } from './send-to-functions.ts';

/** What one container works with. Tests pass their own. */
export type Services = {
  platform: PlatformClient;
  files: Files;
  readSecret: ReadSecret;
  queues: Queues;
  /**
   * Undefined if no table is configured: then duplicates and stale writes are possible, and a message that kills its function affects
   * others.
   */
  ledger: Ledger | undefined;
  /** Undefined if no key is configured: then what is read cannot be compared with what was done. */
  digest: Digester | undefined;
  /** Undefined if no table is configured. */
  incidents?: Incidents | undefined;
  /** Undefined if no table is configured. */
  arrivals?: Arrivals | undefined;
  /** Records letters and waiting messages for operators; undefined if no table is configured. */
  letterIndex?: LetterIndexWriter | undefined;
  /** Records how much of the platform's rate limit the function uses. */
  callUsage?: CallUsageRecorder | undefined;
  crosswalk: Crosswalk;
  /** Undefined if notices of files are not read. */
  fanOut?: FanOut | undefined;
  observe: Observe;
  limits: Limits;
  nowMs(): number;
  /** Opens the connection that the first message needs first. */
  warm?: (() => void) | undefined;
};

export type Limits = MessageSettings['limits'] & {
  backoff: BackoffLimits;
  /** So many messages wait that the queue may soon hand out nothing: what would wait for long becomes a letter. */
  isCrowded?: (() => boolean) | undefined;
};

/** Calls of AWS are short: one that hangs must not use up the time of a batch. */
const clientOptions = { ...timeouts({ connectionMs: 1_000, requestMs: 3_000 }), maxAttempts: 2 };

export const createServices = (functionName: string, settings: MessageSettings): Services => {
  const services = createPlatformServices(functionName, settings, {
    options: clientOptions,
    dynamodb: createQuickDynamoDb(clientOptions),
  });
  const { observe, secrets, platform, dynamodb, s3, callUsage } = services;
  const { url: queueUrl, lettersBucket: bucket } = settings.queue;
  const sqs = sqsClient(clientOptions);
  const inFlight = createInFlight({ sqs, queueUrl, warn: observe.warn, nowMs: Date.now });
  const queues = createQueues({
    sqs,
    queueUrl,
    inFlight,
    deadLetterQueueUrl: settings.letters.deadLetterQueueUrl,
    keepWhole: bucket === undefined ? undefined : createLetterStore({ s3, bucket }),
    warn: observe.warn,
    failed: ({ kind, message }) => {
      observe.warn(safe`the visibilities of waiting messages could not be set`, { reason: message });
      observe.failed(kind);
    },
  });
  const letterIndex =
    settings.tables.letterIndex === undefined
      ? undefined
      : createLetterIndexWriter({
          dynamodb,
          table: settings.tables.letterIndex,
          nowMs: Date.now,
          function: functionName,
          warn: observe.warn,
        });
  return {
    platform,
    files: createFiles({ s3, ...settings.files }),
    readSecret: createSecretReader(secrets),
    queues,
    fanOut: createFanOut({
      functionName,
      s3,
      nowMs: Date.now,
      ...settings.events,
      send: (messages, signal) =>
        sendToFunctions(
          messages.map((message) => ({ function: functionName, message })),
          { sqs, queueUrlOf: () => queueUrl, signal },
        ),
      timeoutMs: settings.files.timeoutMs,
    }),
    letterIndex: letterIndex,
    ...ledgerServicesOf(functionName, settings, services),
    callUsage,
    crosswalk: crosswalkOn(settings.tables.crosswalk, dynamodb),
    observe,
    limits: { ...settings.limits, backoff: settings.backoff, isCrowded: inFlight.isCrowded },
    nowMs: Date.now,
  };
};

const ledgerServicesOf = (
  functionName: string,
  settings: MessageSettings,
  {
    observe: { warn },
    ledgerAccess: access,
    secrets,
  }: ReturnType<typeof createPlatformServices<QuickDynamoDb>>,
): Pick<Services, 'ledger' | 'digest' | 'incidents' | 'arrivals' | 'warm'> => {
  if (access === undefined) {
    warn(
      safe`LEDGER_TABLE is not set, so the ledger is off: duplicates are sent again, and old messages overwrite newer ones`,
    );
    return { ledger: undefined, digest: undefined };
  }
  const { keySecret: secret } = settings.ledger;
  return {
    ledger: new TableLedger({
      table: createLedgerTable(access),
      lateEffectMs: settings.ledger.lateEffectMs,
      warn,
      nowMs: Date.now,
    }),
    digest: secret === undefined ? undefined : createDigester({ client: secrets.client, secret, warn }),
    incidents: createIncidents({
      ...access,
      function: functionName,
      maximumWaitSeconds: settings.backoff.maximumSeconds,
      warn,
    }),
    arrivals: createArrivals({ ...access, function: functionName, warn }),
    warm: access.dynamodb.warm,
  };
};

/** Created before or with the first message of a container, and kept for its life. */
export const servicesFromEnvironment = (functionName: string): (() => Services) => {
  const services = onceFromEnvironment((environment) =>
    createServices(functionName, readSettings(messageSettings, environment)),
  );
  whileInitialising(functionName, () => services().warm?.());
  return services;
};
