import {
  CreateSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { onTestFinished } from 'vitest';
import { SecretCredentials } from '../../../../../lib/platform/auth/credentials.ts';
import { createRefreshRun } from '../../../../../lib/platform/auth/token-refresh/run.ts';
import { TokenRefresh } from '../../../../../lib/platform/auth/token-refresh/token-refresh.ts';
import { createSecretVersions, type SecretVersions } from '../../../../../lib/platform/auth/versions.ts';
import { createObserve } from '../../../../../lib/runtime/telemetry/observe.ts';
import { localClient } from '../../../../local/aws/aws.ts';
import { startSecretsManager } from '../../../../local/aws/secrets-manager.ts';
import { control } from '../../../../local/controls.ts';
import { startPlatform } from '../../../../local/platform/server.ts';

export const minuteMs = 60_000;
export const prefix = 'relay';
export const service = `${prefix}/service`;
export const secretsOf = (userId: number): string => `${prefix}/users/${userId}`;

export type Fields = Record<string, unknown> & {
  accessToken?: string;
  refreshToken?: string;
  expiresAt?: string;
  obtainedAt?: string;
  refused?: { reason: string };
};

/** A clock that tests turn; it stands still in between. */
type Clock = { nowMs: number };

type Counts = { tokenRequests: { total: number; issued: number; refused: number }; accessTokens: number };

/** The local platform with its token endpoint, Secrets Manager, and what token-refresh is made of. */
export const tokenWorld = async () => {
  const [platform, secrets] = await Promise.all([startPlatform(), startSecretsManager()]);
  const client = new SecretsManagerClient({ ...localClient(secrets.url), maxAttempts: 1 });
  onTestFinished(async () => {
    client.destroy();
    await Promise.all([platform.close(), secrets.close()]);
  });
  const clock: Clock = { nowMs: Date.now() };

  const tell = <Answer = unknown>(call: Parameters<typeof control>[1], body?: unknown) =>
    control<Answer>(platform.url, call, body);
  const tokenFault = (then: object, times = 1) =>
    tell('POST faults', { match: { path: '/core/connect/token' }, times, then });
  const secretFault = (fault: object) => control(secrets.url, 'POST faults', fault).catch(ignoreEmpty);
  const secretRecovers = () => control(secrets.url, 'DELETE faults').catch(ignoreEmpty);

  const create = (name: string, value: object) =>
    client.send(new CreateSecretCommand({ Name: name, SecretString: JSON.stringify(value) }));
  const put = (name: string, value: object) =>
    client.send(new PutSecretValueCommand({ SecretId: name, SecretString: JSON.stringify(value) }));
  const read = async (name: string, VersionStage = 'AWSCURRENT'): Promise<Fields> => {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: name, VersionStage }));
    return JSON.parse(SecretString ?? '');
  };

  /** As if a person had authorized: a refresh token of this user. */
  const authorize = async (userId = 100): Promise<string> => {
    const grant = { clientId: 'local-client', userId };
    return (await tell<{ refreshToken: string }>('POST oauth/refreshTokens', grant)).refreshToken;
  };
  const oauthClient = {
    type: 'oauth',
    tokenUrl: platform.tokenUrl,
    clientId: 'local-client',
    clientSecret: 'local-client-secret',
  };
  const byRefreshToken = async (userId = 100) => ({
    ...oauthClient,
    grant: 'refresh_token',
    refreshToken: await authorize(userId),
  });

  /** An access token of the service, as if it had been asked for before. */
  const accessToken = async (): Promise<string> => {
    const { clientId: client_id, clientSecret: client_secret } = oauthClient;
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
    const response = await fetch(platform.tokenUrl, { method: 'POST', body });
    return ((await response.json()) as { access_token: string }).access_token;
  };

  /** Whose an access token is, by what the platform answers to it. */
  const userOf = async (accessToken: string | undefined): Promise<string | number> => {
    const headers = { authorization: `Bearer ${accessToken}` };
    const response = await fetch(`${platform.url}/svc/api/lp/1.49/users/whoami`, { headers });
    if (!response.ok) return response.status;
    return ((await response.json()) as { Identifier: string }).Identifier;
  };

  /** One container of token-refresh, with the lines that it logs. */
  const container = ({
    tokenTimeoutMs = 2_000,
    through = (versions: SecretVersions): SecretVersions => versions,
  } = {}) => {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const observe = createObserve({
      function: 'token-refresh',
      namespace: 'sis-relay',
      level: 'info',
      write,
    });
    const versions = through(createSecretVersions(client));
    const nowMs = () => clock.nowMs;
    const tokenRefresh = new TokenRefresh({ versions, observe, tokenTimeoutMs, nowMs });
    const run = createRefreshRun({ tokenRefresh, versions, observe, prefix, nowMs });
    const logged = (): Record<string, unknown>[] => {
      observe.flush();
      return lines.map((line) => JSON.parse(line));
    };
    return {
      run: ({ force = false, forMs = 2 * minuteMs } = {}) => run({ deadlineMs: clock.nowMs + forMs, force }),
      errors: () => logged().filter(({ level }) => level === 'ERROR'),
      warnings: () => logged().filter(({ level }) => level === 'WARN'),
      metrics: () => logged().filter((line) => '_aws' in line),
      text: () => lines.join('\n'),
    };
  };

  /** What the functions read, each as one container. */
  const reader = () => {
    const warn = () => {};
    return new SecretCredentials({
      client,
      prefix,
      timeToLiveMs: 5 * minuteMs,
      warn,
      nowMs: () => clock.nowMs,
    });
  };

  return {
    platform,
    secrets,
    client,
    clock,
    tell,
    tokenFault,
    secretFault,
    secretRecovers,
    create,
    put,
    read,
    authorize,
    oauthClient,
    byRefreshToken,
    accessToken,
    userOf,
    container,
    reader,
    counts: async () => (await tell<Counts>('GET oauth')).tokenRequests,
    secretCalls: async () =>
      control<{ action: string; secret: string; status: number }[]>(secrets.url, 'GET requests'),
  };
};

/** The control API of Secrets Manager answers some of its calls with an empty 204. */
const ignoreEmpty = (error: unknown): void => {
  if (!(error instanceof SyntaxError)) throw error;
};
