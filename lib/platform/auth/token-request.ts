import * as oauth from 'oauth4webapi';
import * as z from 'zod';
import { jsonIn } from '../../message/json.ts';
import { ownText, type SafeText, safe, safeMatch } from '../../message/safe-text.ts';
import { type HttpAnswer, isSuccess } from '../../runtime/aws/receive-answer.ts';
import { redact } from '../../runtime/privacy/request-secrets.ts';
import { createExchange, wholePayload } from '../client/exchange.ts';
import { acknowledged } from '../client/operation.ts';
import { parseRefusal } from '../client/parse-refusal.ts';
import { PlatformError } from '../client/platform-error.ts';
import { maxSkewSeconds } from './auth.ts';
import { clientAuthentication, TokenError } from './client-authentication.ts';
import { accessTokenForm, type OAuthCredential } from './oauth.ts';

/** The tokens, by the names of the secret's fields. */
export type Tokens = { accessToken: string; refreshToken?: string; obtainedAt: string; expiresAt: string };

export type TokenRequestOptions = { signal: AbortSignal; timeoutMs: number };

const usualQuietSeconds = 60;
/** Any server tolerates a smaller difference between clocks. */
const minSkewSeconds = 5;

/**
 * Requests tokens once, by the credential's grant.
 * @throws TokenError, whose text repeats nothing of the request.
 */
export const requestTokens = async (
  credential: OAuthCredential,
  options: TokenRequestOptions,
): Promise<Tokens> => {
  try {
    const first = await ask(credential, { ...options, skewSeconds: 0 });
    const skewSeconds = first.skewSeconds ?? 0;
    // A server checks the client's assertion first: if that failed because the clocks differ, no refresh token was used up.
    const isOutOfTime =
      credential.privateKey !== undefined &&
      errorIn(first) === 'invalid_client' &&
      Math.abs(skewSeconds) >= minSkewSeconds &&
      Math.abs(skewSeconds) <= maxSkewSeconds;
    return tokensIn(isOutOfTime ? await ask(credential, { ...options, skewSeconds }) : first, credential);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    throw new TokenError(
      safe`the token endpoint gave no answer: ${error.message}`,
      'wait',
      usualQuietSeconds,
    );
  }
};

type TokenAnswer = HttpAnswer & {
  askedMs: number;
  /** How far the server's clock is ahead of ours. */
  skewSeconds: number | undefined;
};

const ask = async (
  credential: OAuthCredential,
  options: TokenRequestOptions & { skewSeconds: number },
): Promise<TokenAnswer> => {
  // The audience of an assertion is the token URL; the library takes it from the issuer.
  const server = { issuer: credential.tokenUrl, token_endpoint: credential.tokenUrl };
  const client = { client_id: credential.clientId, [oauth.clockSkew]: options.skewSeconds };
  const by = await clientAuthentication(credential);
  let answer: HttpAnswer | undefined;
  const send = transport(options);
  const custom = {
    // The library does not get the answer: a `Response` allows no body with some statuses, and no unusual headers.
    [oauth.customFetch]: async (url: string, request: Form) => {
      answer = await send(url, request);
      return new Response();
    },
    // The secret's schema checks the address.
    [oauth.allowInsecureRequests]: true,
  };
  const scope: Record<string, string> = credential.scopes ? { scope: credential.scopes.join(' ') } : {};
  const askedMs = Date.now();
  if (credential.grant === 'client_credentials')
    await oauth.clientCredentialsGrantRequest(server, client, by, scope, custom);
  else
    await oauth.refreshTokenGrantRequest(server, client, by, credential.refreshToken ?? '', {
      ...custom,
      additionalParameters: scope,
    });
  const { status = 0, headers = {}, ...rest } = answer ?? {};
  const serverMs = Date.parse(String(headers.date));
  const skewSeconds = Number.isNaN(serverMs) ? undefined : Math.round((serverMs - Date.now()) / 1000);
  return { text: '', ...rest, status, headers, askedMs, skewSeconds };
};

type Form = oauth.CustomFetchOptions<'POST', URLSearchParams>;

const tokenRequest = acknowledged({
  name: 'request-tokens',
  call: 'POST /',
  scope: undefined,
  // A refresh token can be used only once, so the request gets a new connection, never a stale one.
  repeatable: false,
});

/** Sends the form by our own client: with limits, without following redirects, never on a stale connection. */
const transport =
  ({ signal, timeoutMs }: TokenRequestOptions) =>
  async (url: string, { headers, body }: Form): Promise<HttpAnswer> => {
    const { origin, pathname, search } = new URL(url);
    const about = { operation: tokenRequest, call: safe`POST ${ownText(pathname)}` };
    const timeouts = { headersTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs };
    const exchange = createExchange({
      baseUrl: origin,
      connectTimeoutMs: Math.min(timeoutMs, 10_000),
      ...timeouts,
    });
    const payload = wholePayload(body.toString(), headers['content-type'] ?? '');
    try {
      return await exchange.send({ ...about, path: pathname + search, headers, payload }, signal);
    } finally {
      void exchange.close();
    }
  };

/** Ten years. */
const maxSeconds = 10 * 365 * 24 * 3_600;

const tokenAnswer = z.looseObject({
  access_token: z.string().regex(accessTokenForm),
  // Servers express in several ways that there is none.
  refresh_token: z.string().min(1).optional().catch(undefined),
  // An hour is the default of this platform. Some servers send a huge number for a token that never expires.
  expires_in: z.coerce
    .number()
    .positive()
    .catch(3_600)
    .transform((seconds) => Math.min(seconds, maxSeconds)),
});

/** Read leniently, whatever the content type: tokens in an answer that is rejected would be lost. */
const tokensIn = (answer: TokenAnswer, credential: OAuthCredential): Tokens => {
  const { grant } = credential;
  const { status, text, askedMs } = answer;
  const parsed = isSuccess(status) ? tokenAnswer.safeParse(jsonIn(text.trim())).data : undefined;
  if (parsed) {
    const { access_token: accessToken, refresh_token: refreshToken, expires_in } = parsed;
    return {
      accessToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      obtainedAt: new Date(askedMs).toISOString(),
      expiresAt: new Date(askedMs + expires_in * 1_000).toISOString(),
    };
  }
  if (answer.cutBy !== undefined && isSuccess(status)) throw answer.cutBy;
  const error = errorIn(answer);
  const shownError = error !== undefined && isEcho(error, credential) ? undefined : error;
  const without = isSuccess(status) ? ' without tokens' : '';
  const message = safe`the token endpoint answered ${status}${shownError === undefined ? '' : safe` ${shownError}`}${without}`;
  if (error === 'invalid_grant' && grant === 'refresh_token') throw new TokenError(message, 'authorize');
  const passes = status === 429 || status === 408 || status >= 500 || error === 'temporarily_unavailable';
  const { retryAfterSeconds } = parseRefusal(answer);
  const isBusy = status === 429 || status === 503;
  throw new TokenError(
    message,
    // A success with an error in its body is that error; a success with neither tokens nor an error is tried again.
    passes || (isSuccess(status) && error === undefined) ? 'wait' : 'correct',
    retryAfterSeconds ?? (isBusy ? usualQuietSeconds : undefined),
  );
};

/** The name of an error, as in `invalid_grant`. Without digits: those may be part of the assertion. */
const errorIn = ({ text }: TokenAnswer): SafeText | undefined =>
  safeMatch(
    z.looseObject({ error: z.string() }).safeParse(jsonIn(text.trim())).data?.error,
    /^[a-z][a-z_.-]{0,59}$/i,
  );

/** Whether an error's name repeats a secret: the name is logged, and stored in the secret as the reason. */
const isEcho = (error: string, { refreshToken = '', clientSecret = '' }: OAuthCredential): boolean =>
  redact(error, [refreshToken, clientSecret].filter(Boolean), 60) !== error;
