import {
  type Authenticator,
  type Credential,
  createAuthenticator,
  credentialSchema,
  isTimestampOutOfRange,
} from '../platform/auth.ts';
import { createPlatformClient, type PlatformClient } from '../platform/client.ts';
import { skewToldBy } from '../platform/id-key.ts';
import { createSecretVersions } from '../secret-versions.ts';
import { createCredentials } from '../secrets.ts';
import { settingsFrom } from '../settings.ts';
import { Misuse } from './refusal.ts';
import type { Target } from './target.ts';

/** The platform as the functions reach it. */
export type Connection = {
  client: PlatformClient;
  url: string;
  apiRoot: string;
  /** The versions of its components that the functions speak. */
  versions: { lp: string; le: string };
  /** How far the platform's clock is ahead of ours, by the refusal of a signature that was too old or too new, if there was one. */
  toldSkewSeconds(): number | undefined;
  /** What the service's secret holds; undefined where it is not readable as a credential. */
  serviceCredential(): Promise<Credential | undefined>;
};

/** Undefined where the target does not tell which platform it is. */
export const connectionOf = async (target: Target): Promise<Connection | undefined> => {
  if (target.platform === undefined) return undefined;
  const settings = platformSettings(target.platform, await target.deadLetterQueueUrl());
  const secretsManager = await target.secretsManager();
  const credentials = createCredentials({
    client: secretsManager,
    prefix: settings.SECRET_PREFIX,
    timeToLiveMs: settings.SECRET_TTL_SECONDS * 1000,
    warn: () => {},
  });
  const versions = { lp: settings.PLATFORM_LP_VERSION, le: settings.PLATFORM_LE_VERSION };
  const site = {
    baseUrl: settings.PLATFORM_URL,
    apiRoot: settings.PLATFORM_API_ROOT,
    versions,
    overrides: settings.PLATFORM_OPERATIONS,
    connectTimeoutMs: settings.PLATFORM_CONNECT_TIMEOUT_MS,
    headersTimeoutMs: settings.PLATFORM_HEADERS_TIMEOUT_MS,
    bodyTimeoutMs: settings.PLATFORM_BODY_TIMEOUT_MS,
  };
  const { authenticate, toldSkewSeconds } = hearingTheClock(createAuthenticator(credentials));
  return {
    client: createPlatformClient(site, authenticate),
    toldSkewSeconds,
    url: site.baseUrl,
    apiRoot: site.apiRoot,
    versions,
    serviceCredential: async () => {
      try {
        const secret = await createSecretVersions(secretsManager).current(
          `${settings.SECRET_PREFIX}/service`,
        );
        return credentialSchema.safeParse(JSON.parse(secret?.text ?? 'null')).data;
      } catch {
        return undefined;
      }
    },
  };
};

/** The clock that counts is the one that judges signatures: the header of an answer may be a proxy's. */
const hearingTheClock = (authenticate: Authenticator) => {
  let skewSeconds: number | undefined;
  const listening: Authenticator = (actor) => {
    const auth = authenticate(actor);
    return {
      ...auth,
      learn: (refused) => {
        const said = refused.detail ?? refused.title ?? '';
        if (isTimestampOutOfRange(refused)) skewSeconds = skewToldBy(said, Date.now());
        return auth.learn(refused);
      },
    };
  };
  return { authenticate: listening, toldSkewSeconds: () => skewSeconds };
};

/** The functions' own settings, so that a probe meets what they would meet. No queue is touched by it. */
const platformSettings = (platform: Record<string, string>, queueUrl: string) => {
  try {
    return settingsFrom({ ...platform, QUEUE_URL: queueUrl, DEAD_LETTER_QUEUE_URL: queueUrl });
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message.replace("The function's", 'The') : String(error));
  }
};
