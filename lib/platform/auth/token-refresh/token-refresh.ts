import { ownText, safe } from '../../../message/safe-text.ts';
import type { SecretVersion } from '../../../runtime/aws/secret.ts';
import type { Observe } from '../../../runtime/telemetry/observe.ts';
import { TokenError } from '../client-authentication.ts';
import { expiryMs } from '../oauth.ts';
import { requestTokens } from '../token-request.ts';
import type { SecretVersions } from '../versions.ts';
import { dueAtMs, leaseIn, type OAuthSecret, oauthSecretIn, stateOf } from './state.ts';
import { TokenStore } from './store.ts';

/*
 * A refresh token can be used once, and the answer with the next one can be lost. So each step stores what the next run needs,
 * wherever this one crashes:
 *
 * 1. Stage a claim. It keeps other runs away, and shows that the secret can be written before the token is used up.
 * 2. Request tokens, once. If the run crashes here, the claim is left; when it expires, the next run requests again. If the
 *    server never got the first request, it answers; if it did, the token is used up and it says invalid_grant.
 * 3. Stage the new pair. From here on nothing can be lost.
 * 4. Make the pair current, instead of the version it was requested with. A later run does it if this one crashes.
 *
 * A pair can be lost only between the server's answer and step 3, and then a person must authorize again. It is still right to
 * request again when no answer came: nobody else can tell what happened, and it can cost only the rest of the old access token.
 */

/** `waiting`: a later run continues; `correct`, `authorize` and `failed`: only a person can. */
export type RefreshOutcome = 'none' | 'fresh' | 'refreshed' | 'waiting' | 'correct' | 'authorize' | 'failed';

/** The token server is asked again after this time, whatever it asks for. */
const maxQuietSeconds = 3_600;

/** `quietUntilMs`: the secret need not be read again before, while it has this version. */
export type RefreshResult = { outcome: RefreshOutcome; version: string; quietUntilMs: number };

/** `force`: requests tokens although the old ones are still valid. */
export type RefreshRun = { deadlineMs: number; signal: AbortSignal; force: boolean };

export type TokenRefreshOptions = {
  versions: SecretVersions;
  observe: Observe;
  /** How long the token endpoint may take. A lost answer may cost the refresh token, so it is long. */
  tokenTimeoutMs: number;
  nowMs?: () => number;
};

/** Reserved at the end of a run, to store the tokens. */
export const storingMs = 15_000;

/** Renews tokens that are due. */
export class TokenRefresh {
  readonly #versions: SecretVersions;
  readonly #observe: Observe;
  readonly #tokenTimeoutMs: number;
  readonly #nowMs: () => number;
  readonly #tokenStore: TokenStore;
  /** By token endpoint: until when no tokens are requested from it. */
  readonly #quietUntilMs = new Map<string, number>();

  constructor({ versions, observe, tokenTimeoutMs, nowMs = Date.now }: TokenRefreshOptions) {
    this.#versions = versions;
    this.#observe = observe;
    this.#tokenTimeoutMs = tokenTimeoutMs;
    this.#nowMs = nowMs;
    this.#tokenStore = new TokenStore({ versions, observe, nowMs });
  }

  /** Renews the tokens of one secret if they are due. */
  async refresh(name: string, run: RefreshRun): Promise<RefreshResult> {
    const isStored = await this.#tokenStore.storeLeftover(name);
    const current = await this.#versions.current(name);
    const secret = current && oauthSecretIn(current);
    const end = (outcome: RefreshOutcome, untilMs = 0): RefreshResult => ({
      outcome,
      version: current?.version ?? '',
      quietUntilMs: untilMs,
    });
    if (!isStored) return end('waiting');
    if (secret === undefined) return end('none', Number.POSITIVE_INFINITY);
    if ('wrong' in secret) {
      this.#observe.error(safe`a secret is not a valid OAuth client`, {
        secret: ownText(name),
        reason: secret.wrong,
      });
      return end('correct', Number.POSITIVE_INFINITY);
    }
    const { credential } = secret;
    if (!run.force && this.#nowMs() < dueAtMs(credential)) return end('fresh', dueAtMs(credential));

    const pending = await this.#versions.pending(name);
    if (await this.#adoptPending(name, secret, pending)) {
      const then = await this.refresh(name, { ...run, force: false });
      return then.outcome === 'fresh' ? { ...then, outcome: 'refreshed' } : then;
    }
    if (credential.refused?.state === stateOf(secret)) return end('authorize', Number.POSITIVE_INFINITY);

    const isTooLate = this.#nowMs() + this.#tokenTimeoutMs + storingMs > run.deadlineMs;
    if (isTooLate || this.#nowMs() < (this.#quietUntilMs.get(credential.tokenUrl) ?? 0))
      return end('waiting');
    const last = pending && leaseIn(pending);
    const attempt = await this.#tokenStore.claim(name, { secret, deadlineMs: run.deadlineMs, last });
    return end(attempt === undefined ? 'waiting' : await this.#renew(name, secret, { ...run, attempt }));
  }

  /** Whether an earlier run, which did not end, left tokens that are current now. */
  async #adoptPending(
    name: string,
    { version }: OAuthSecret,
    pending: SecretVersion | undefined,
  ): Promise<boolean> {
    const staged = pending && pending.version !== version ? oauthSecretIn(pending) : undefined;
    if (!(staged && 'fields' in staged && (await this.#tokenStore.adopt(name, staged)))) return false;
    this.#observe.warn(safe`the tokens of an earlier run, which did not end, are current now`, {
      secret: ownText(name),
    });
    return true;
  }

  async #renew(
    name: string,
    secret: OAuthSecret,
    { signal, attempt }: { signal: AbortSignal; attempt: number },
  ): Promise<RefreshOutcome> {
    try {
      const tokens = await requestTokens(secret.credential, { signal, timeoutMs: this.#tokenTimeoutMs });
      return (await this.#tokenStore.store(name, secret, tokens)) ? 'refreshed' : 'waiting';
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      return this.#explain(name, secret, { error, attempt });
    }
  }

  async #explain(
    name: string,
    secret: OAuthSecret,
    { error, attempt }: { error: TokenError; attempt: number },
  ): Promise<RefreshOutcome> {
    const { credential } = secret;
    const observe = this.#observe;
    const nowMs = this.#nowMs();
    if (error.quietSeconds !== undefined)
      this.#quietUntilMs.set(
        credential.tokenUrl,
        nowMs + Math.min(maxQuietSeconds, error.quietSeconds) * 1_000,
      );
    const facts = { secret: ownText(name), reason: error.message };
    if (error.cure === 'authorize') {
      if (attempt > 0)
        facts.reason = safe`${facts.reason}, after ${attempt} requests that brought no tokens, one of which may have spent the refresh token`;
      // Logged before it is recorded: a run that crashes in between logs it twice rather than never.
      observe.error(safe`a person must authorize again and put the new refresh token into the secret`, facts);
      await this.#tokenStore.refuse(name, secret, facts.reason);
    } else if (error.cure === 'correct')
      observe.error(safe`no tokens were given: correct the secret, or the client on the platform`, facts);
    else if (expiryMs(credential) <= nowMs)
      observe.error(safe`no new tokens yet, and the last have expired: messages wait`, facts);
    else observe.warn(safe`no new tokens yet; the last are still valid`, facts);
    return error.cure === 'wait' ? 'waiting' : error.cure;
  }
}
