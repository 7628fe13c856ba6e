import { jsonIn } from '../../message/json.ts';
import {
  type Credential,
  clockSkewIn,
  createAuthenticator,
  credentialSchema,
} from '../../platform/auth/auth.ts';
import { SecretCredentials } from '../../platform/auth/credentials.ts';
import { createSecretReader, type ReadSecret } from '../../platform/auth/secret-reader.ts';
import { createSecretVersions } from '../../platform/auth/versions.ts';
import type { AuthenticatorFactory } from '../../platform/client/authentication.ts';
import {
  createPlatformClient,
  type PlatformClient,
  type PlatformOptions,
} from '../../platform/client/client.ts';
import { isTimestampOutOfRange } from '../../platform/client/platform-error.ts';
import { platformOptionsOf } from '../../platform/client/platform-options.ts';
import { createRateLimiter } from '../../platform/rate-limit/rate-limiter.ts';
import { errorName } from '../../runtime/aws/error.ts';
import { readSettings } from '../../runtime/aws/setting.ts';
import { type Incident, readIncident } from '../../runtime/telemetry/incidents.ts';
import { UsageError } from '../command-errors.ts';
import { settingsProblem, type Target } from '../target.ts';
import { type ConnectionSettings, connectionSettings } from './connection-settings.ts';

/** The platform as the functions reach it. */
export type Connection = {
  client: PlatformClient;
  /** The functions' own settings, as far as the target contains them. */
  settings: ConnectionSettings;
  site: PlatformOptions;
  /** Days after which an unused refresh token expires, if the site configures them. */
  refreshTokenDays: number | undefined;
  /** How far the platform's clock is ahead of ours, if it refused a signature as too old or too new. */
  signatureSkewSeconds(): number | undefined;
  /** Another client, which authenticates with this credential. */
  clientAs(credential: Credential): PlatformClient;
  /** Reads a secret below the prefix that is not a credential. */
  readSecret: ReadSecret;
  secretPrefix: string;
  /** The service's credential, and since when its secret holds it. `forbidden`: the caller may not read it; undefined: it cannot be read. */
  serviceCredential(): Promise<
    { credential: Credential; sinceMs: number | undefined } | 'forbidden' | undefined
  >;
  /** Whether the functions' changes are refused for the service's credential; undefined: there is no ledger. */
  refusedChanges: (() => Promise<Incident | undefined>) | undefined;
};

/** Undefined if the target does not name a platform. */
export const connectionOf = async (target: Target): Promise<Connection | undefined> => {
  const platform = await target.platform();
  if (platform === undefined) return undefined;
  // If the stage does not exist, this says so.
  await target.deadLetterQueueUrl();
  const settings = settingsIn(platform);
  const secretsManager = await target.secretsManager();
  const credentials = new SecretCredentials({
    client: secretsManager,
    prefix: settings.secrets.prefix,
    timeToLiveMs: settings.secrets.timeToLiveMs,
    warn: () => {},
  });
  const { dynamodb, ledgerTable: table } = target;
  const options = platformOptionsOf(settings.platform);
  const site = { ...options, rateLimiter: createRateLimiter(options) };
  const { authenticate, signatureSkewSeconds } = noticingSkew(createAuthenticator(credentials));
  return {
    client: createPlatformClient(site, authenticate),
    settings,
    site,
    signatureSkewSeconds,
    clientAs: (credential) =>
      createPlatformClient(
        site,
        createAuthenticator({ read: async () => ({ credential, version: '' }), refuse: () => undefined }),
      ),
    readSecret: createSecretReader({ client: secretsManager, prefix: settings.secrets.prefix }),
    secretPrefix: settings.secrets.prefix,
    refreshTokenDays: settings.credential.refreshTokenDays,
    refusedChanges:
      table === undefined ? undefined : () => readIncident({ dynamodb, table, nowMs: Date.now }),
    serviceCredential: async () => {
      try {
        const secret = await createSecretVersions(secretsManager).current(
          `${settings.secrets.prefix}/service`,
        );
        const credential = credentialSchema.safeParse(jsonIn(secret?.text ?? '')).data;
        return credential && { credential, sinceMs: secret?.createdMs };
      } catch (error) {
        return errorName(error) === 'AccessDeniedException' ? 'forbidden' : undefined;
      }
    },
  };
};

/** Closes the connection after the work; undefined if the target does not name a platform. */
export const withConnection = async <Value>(
  target: Target,
  work: (connection: Connection) => Promise<Value>,
): Promise<Value | undefined> => {
  const connection = await connectionOf(target);
  try {
    return connection && (await work(connection));
  } finally {
    await connection?.client.close();
  }
};

/** Learns the clock that checks signatures: the Date header of an answer may be a proxy's. */
const noticingSkew = (authenticate: AuthenticatorFactory) => {
  let skewSeconds: number | undefined;
  const noticing: AuthenticatorFactory = (actor) => {
    const auth = authenticate(actor);
    return {
      ...auth,
      correctAfter: (refused) => {
        if (isTimestampOutOfRange(refused)) skewSeconds = clockSkewIn(refused, Date.now());
        return auth.correctAfter(refused);
      },
    };
  };
  return { authenticate: noticing, signatureSkewSeconds: () => skewSeconds };
};

const settingsIn = (platform: Record<string, string>): ConnectionSettings => {
  try {
    return readSettings(connectionSettings, platform);
  } catch (error) {
    throw new UsageError(settingsProblem(error));
  }
};
