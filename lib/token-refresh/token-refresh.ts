import type { SecretVersions } from '../credentials/versions.ts';
import { expiryMs } from '../platform/auth/oauth.ts';
import { requestTokens, TokenError } from '../platform/auth/token-request.ts';
import type { Observe } from '../telemetry/observe.ts';
import { claimIn, dueAtMs, type OAuthSecret, oauthSecretIn, stateOf } from './state.ts';
import { createTokenStore } from './store.ts';

/*
 * A refresh token can be used once, and the answer that brings the next one can be lost. So each step leaves behind what
 * the next run needs, wherever this one dies:
 *
 * 1. A claim is staged. It keeps other runs away, and proves that the secret can be written before the token is spent.
 * 2. Tokens are asked for, once. Of a run that dies here the claim is left: when its time is over the next run asks again.
 *    If the server never saw the first request, it answers; if it did, the token is spent and it says invalid_grant.
 * 3. The new pair is staged. From here on nothing can be lost.
 * 4. The pair is made current in the place of the version that it was asked with. A later run does it if this one dies.
 *
 * Only between the server's answer and step 3 a pair can be lost, and then a person must authorize again. To ask again
 * after silence is right all the same: nobody else can tell, and all it can cost is the rest of the old access token.
 */

/** `waiting`: a later run goes on; `correct`, `authorize` and `failed`: only a person can. */
export type RefreshOutcome = 'none' | 'fresh' | 'refreshed' | 'waiting' | 'correct' | 'authorize' | 'failed';

/** What came of one secret, and until when it need not be looked at while it stays at this version. */
export type Refreshed = { outcome: RefreshOutcome; version: string; quietUntilMs: number };

/** `force`: tokens are asked for though the old ones last. */
export type RefreshRun = { deadlineMs: number; signal: AbortSignal; force: boolean };

export type TokenRefreshOptions = {
  versions: SecretVersions;
  observe: Observe;
  /** How long the token endpoint may take: silence may cost a refresh token, so that it is given time. */
  tokenTimeoutMs: number;
  nowMs?: () => number;
};

/** Kept at the end of a run to store what was obtained. */
export const storingMs = 15_000;

/** Renews the tokens of one secret where they are due. */
export const createTokenRefresh = (options: TokenRefreshOptions) => {
  const { versions, observe, tokenTimeoutMs, nowMs = Date.now } = options;
  const tokenStore = createTokenStore({ versions, observe, nowMs });
  /** Until when a token endpoint is left alone. */
  const quietUntilMs = new Map<string, number>();

  const refresh = async (name: string, run: RefreshRun): Promise<Refreshed> => {
    const isStored = await tokenStore.storeLeftover(name);
    const current = await versions.current(name);
    const secret = current && oauthSecretIn(current);
    const end = (outcome: RefreshOutcome, untilMs = 0): Refreshed => ({
      outcome,
      version: current?.version ?? '',
      quietUntilMs: untilMs,
    });
    if (!isStored) return end('waiting');
    if (secret === undefined) return end('none', Number.POSITIVE_INFINITY);
    if ('wrong' in secret) {
      observe.error('a secret is no usable OAuth client', { secret: name, reason: secret.wrong });
      return end('correct', Number.POSITIVE_INFINITY);
    }
    const { credential } = secret;
    if (!run.force && nowMs() < dueAtMs(credential)) return end('fresh', dueAtMs(credential));

    const pending = await versions.pending(name);
    const staged = pending && pending.version !== secret.version ? oauthSecretIn(pending) : undefined;
    if (staged && 'fields' in staged && (await tokenStore.adopt(name, staged))) {
      observe.warn('tokens of an earlier run that did not end are current now', { secret: name });
      const then = await refresh(name, { ...run, force: false });
      return then.outcome === 'fresh' ? { ...then, outcome: 'refreshed' } : then;
    }
    if (credential.refused?.state === stateOf(secret)) return end('authorize', Number.POSITIVE_INFINITY);

    const isTooLate = nowMs() + tokenTimeoutMs + storingMs > run.deadlineMs;
    if (isTooLate || nowMs() < (quietUntilMs.get(credential.tokenUrl) ?? 0)) return end('waiting');
    const last = pending && claimIn(pending);
    const attempt = await tokenStore.claim(name, { secret, deadlineMs: run.deadlineMs, last });
    return end(attempt === undefined ? 'waiting' : await renew(name, secret, { ...run, attempt }));
  };

  const renew = async (
    name: string,
    secret: OAuthSecret,
    { signal, attempt }: { signal: AbortSignal; attempt: number },
  ): Promise<RefreshOutcome> => {
    try {
      const tokens = await requestTokens(secret.credential, { signal, timeoutMs: tokenTimeoutMs });
      return (await tokenStore.store(name, secret, tokens)) ? 'refreshed' : 'waiting';
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      return explain(name, secret, { error, attempt });
    }
  };

  const explain = async (
    name: string,
    secret: OAuthSecret,
    { error, attempt }: { error: TokenError; attempt: number },
  ): Promise<RefreshOutcome> => {
    const { credential } = secret;
    if (error.quietSeconds !== undefined)
      quietUntilMs.set(credential.tokenUrl, nowMs() + error.quietSeconds * 1_000);
    if (error.cure === 'authorize') return giveUp(name, secret, { error, attempt });
    const facts = { secret: name, reason: error.message };
    if (error.cure === 'correct')
      observe.error('no tokens are given: correct the secret, or the client on the platform', facts);
    else if (expiryMs(credential) <= nowMs())
      observe.error('no tokens yet, and the last are over: messages wait', facts);
    else observe.warn('no tokens yet: the last still serve', facts);
    return error.cure === 'correct' ? 'correct' : 'waiting';
  };

  /** Told before it is written down that it was: a run that dies between the two tells it twice rather than never. */
  const giveUp = async (
    name: string,
    secret: OAuthSecret,
    { error, attempt }: { error: TokenError; attempt: number },
  ): Promise<RefreshOutcome> => {
    const before = `, after ${attempt} requests that brought no tokens, one of which may have spent the refresh token`;
    const reason = `${error.message}${attempt > 0 ? before : ''}`;
    const facts = { secret: name, reason };
    observe.error('a person must authorize again and put the new refresh token into the secret', facts);
    await tokenStore.refuse(name, secret, reason);
    return 'authorize';
  };

  return refresh;
};

export type TokenRefresh = ReturnType<typeof createTokenRefresh>;
