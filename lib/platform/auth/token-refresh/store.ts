import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ownText, safe } from '../../../message/safe-text.ts';
import type { Observe } from '../../../runtime/telemetry/observe.ts';
import type { Tokens } from '../token-request.ts';
import type { SecretVersions } from '../versions.ts';
import {
  leaseIn,
  leaseVersion,
  nextAttemptMs,
  type OAuthSecret,
  oauthSecretIn,
  type RefreshLease,
  stateOf,
} from './state.ts';

/** A value of a secret that is staged, or about to be. */
export type StagedVersion = { version: string; fields: Record<string, unknown> };

/** More claims than other runs can have made since the last one was read. */
const maxTaken = 200;

type StoreOptions = { versions: SecretVersions; observe: Observe; nowMs(): number };

/** Stores in a secret what the next run needs: claims, tokens that are not current yet, and the mark that a person must act. */
export class TokenStore {
  readonly #versions: SecretVersions;
  readonly #observe: Observe;
  readonly #nowMs: () => number;
  /** Tokens that could not be stored: kept in memory, as the container may live until they can be. */
  readonly #unstored = new Map<string, StagedVersion['fields']>();

  constructor({ versions, observe, nowMs }: StoreOptions) {
    this.#versions = versions;
    this.#observe = observe;
    this.#nowMs = nowMs;
  }

  /** The number of this attempt; undefined if another run has it, or it is too early. */
  async claim(
    name: string,
    { secret, deadlineMs, last }: { secret: OAuthSecret; deadlineMs: number; last: RefreshLease | undefined },
  ): Promise<number | undefined> {
    const state = stateOf(secret);
    let before = last?.state === state ? last : undefined;
    const first = before ? before.attempt + 1 : 0;
    for (let attempt = first; attempt < first + maxTaken; attempt += 1) {
      if (before && this.#nowMs() < nextAttemptMs(before)) return undefined;
      const at = new Date(this.#nowMs()).toISOString();
      const until = new Date(deadlineMs).toISOString();
      const mine: RefreshLease = { type: 'claim', state, attempt, run: randomUUID(), at, until };
      const version = leaseVersion(mine);
      if (await this.#versions.stage(name, { version, text: JSON.stringify(mine) }))
        return (await this.#isStill(name, state)) ? attempt : undefined;
      const other = await this.#versions.withId(name, version);
      before = other && leaseIn(other);
    }
    return undefined;
  }

  /** Another run may have replaced the secret since it was read. */
  async #isStill(name: string, state: string): Promise<boolean> {
    const current = await this.#versions.current(name);
    const secret = current && oauthSecretIn(current);
    return secret !== undefined && 'fields' in secret && stateOf(secret) === state;
  }

  /** Stages tokens, and makes them current. */
  store(name: string, secret: OAuthSecret, tokens: Tokens): Promise<boolean> {
    const { refused, ...fields } = secret.fields;
    return this.#store(name, { ...fields, ...tokens, replaces: stateOf(secret) });
  }

  /** Stores what an earlier run could not. False if it still fails: then no tokens may be requested. */
  async storeLeftover(name: string): Promise<boolean> {
    const fields = this.#unstored.get(name);
    if (fields) await this.#store(name, fields);
    return !this.#unstored.has(name);
  }

  async #store(name: string, fields: StagedVersion['fields']): Promise<boolean> {
    const version = randomUUID();
    this.#unstored.set(name, fields);
    try {
      await this.#versions.stage(name, { version, text: JSON.stringify(fields) });
    } catch (error) {
      const text = safe`new tokens are not stored yet: if this container dies, a refresh token may be lost`;
      this.#observe.error(text, { secret: ownText(name) }, error);
      return false;
    }
    this.#unstored.delete(name);
    if (await this.adopt(name, { version, fields })) return true;
    const text = safe`new tokens are dropped, because the secret has got another authorization in the meantime`;
    this.#observe.warn(text, { secret: ownText(name) });
    return false;
  }

  /** Makes staged tokens current, with other changes of the secret since; false if they belong to an older authorization. */
  async adopt(name: string, staged: StagedVersion): Promise<boolean> {
    let { version, fields } = staged;
    for (let tries = 0; tries < 3; tries += 1) {
      const current = await this.#versions.current(name);
      if (current?.version === version) return true;
      const secret = current && oauthSecretIn(current);
      if (!secret || 'wrong' in secret || fields.replaces !== stateOf(secret)) return false;
      const { refused, ...kept } = secret.fields;
      const tokens = Object.entries(fields).filter(([field]) => tokenFields.includes(field));
      const merged = { ...kept, ...Object.fromEntries(tokens) };
      if (!isDeepStrictEqual(merged, fields)) {
        version = randomUUID();
        fields = merged;
        await this.#versions.stage(name, { version, text: JSON.stringify(fields) });
      }
      if (await this.#versions.promote(name, { to: version, from: secret.version })) return true;
    }
    return false;
  }

  /** Records that a person must authorize again, so that no run requests tokens. */
  async refuse(name: string, secret: OAuthSecret, reason: string): Promise<void> {
    const refused = { state: stateOf(secret), at: new Date(this.#nowMs()).toISOString(), reason };
    const version = randomUUID();
    await this.#versions.stage(name, { version, text: JSON.stringify({ ...secret.fields, refused }) });
    await this.#versions.promote(name, { to: version, from: secret.version });
  }
}

const tokenFields = ['accessToken', 'refreshToken', 'obtainedAt', 'expiresAt', 'replaces'];
