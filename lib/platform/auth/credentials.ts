import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { core } from 'zod';
import { MessageFailure } from '../../message/failure.ts';
import { secretFieldName } from '../../message/hidden.ts';
import { readJson } from '../../message/json.ts';
import { ownText, type SafeText, safe, safeList, type Warn } from '../../message/safe-text.ts';
import { awsTroubleIn, errorName } from '../../runtime/aws/error.ts';
import { missingSecret, readSecret } from '../../runtime/aws/secret.ts';
import type { SigningUser } from '../client/authentication.ts';
import type { RefusedCredential } from '../client/platform-error.ts';
import {
  type Credential,
  type Credentials,
  credentialSchema,
  isSameToPlatform,
  usableUntilMs,
} from './auth.ts';

type Entry = {
  credential: Credential;
  version: string;
  /** From this time on, the secret is read again before it is used. */
  lookAgainAtMs: number;
  refusedAtMs?: number;
};

export type SecretsOptions = {
  client: SecretsManagerClient;
  /** Secrets are `<prefix>/service` and `<prefix>/users/<userId>`. */
  prefix: string;
  /** Time for which a credential is used before its secret is read again. */
  timeToLiveMs: number;
  readTimeoutMs?: number;
  warn: Warn;
  nowMs?: () => number;
};

/** Time for which a refused credential is not used, unless its secret changes. */
const refusedForMs = 60_000;
/** Interval for reading a secret again that was refused, or could not be read. */
const lookAgainMs = 5_000;
/** Maximum number of credentials in a container: there may be tens of thousands of learners. */
const maxEntries = 1_000;

/** Credentials from Secrets Manager: cached per container, one read for concurrent readers, read again when refused. */
export class SecretCredentials implements Credentials {
  readonly #options: SecretsOptions;
  readonly #nowMs: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #reads = new Map<string, Promise<Entry>>();

  constructor(options: SecretsOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
  }

  async read(actor: SigningUser): Promise<Entry> {
    const name = this.#secretName(actor);
    const known = this.#entries.get(name);
    const entry = known && this.#nowMs() < known.lookAgainAtMs ? known : await this.#readOnce(name, actor);
    if (usableUntilMs(entry.credential) <= this.#nowMs()) throw noToken(name, entry.credential);
    if (entry.refusedAtMs === undefined) return entry;
    if (this.#nowMs() - entry.refusedAtMs < refusedForMs) {
      const { message, remedy } = refusedCredential(name, entry.credential.type);
      throw new MessageFailure('credentials', message, { remedy });
    }
    delete entry.refusedAtMs;
    return entry;
  }

  refuse(actor: SigningUser, version: string): RefusedCredential {
    const name = this.#secretName(actor);
    const entry = this.#entries.get(name);
    if (entry?.version === version && entry.refusedAtMs === undefined) {
      entry.refusedAtMs = this.#nowMs();
      entry.lookAgainAtMs = this.#nowMs();
    }
    return refusedCredential(name, entry?.credential.type);
  }

  #secretName(actor: SigningUser): SafeText {
    const { prefix } = this.#options;
    return ownText(actor === undefined ? `${prefix}/service` : `${prefix}/users/${actor}`);
  }

  #readOnce(name: SafeText, actor: SigningUser): Promise<Entry> {
    const underWay = this.#reads.get(name);
    if (underWay) return underWay;
    const read = this.#fetch(name, actor).finally(() => this.#reads.delete(name));
    this.#reads.set(name, read);
    return read;
  }

  async #fetch(name: SafeText, actor: SigningUser): Promise<Entry> {
    const { client, readTimeoutMs, warn } = this.#options;
    const known = this.#entries.get(name);
    try {
      const { version, text } = await readSecret(client, name, { timeoutMs: readTimeoutMs });
      if (known?.version === version) {
        known.lookAgainAtMs = this.#nextLookMs(known);
        return known;
      }
      const entry: Entry = { credential: parse(name, text), version, lookAgainAtMs: 0 };
      if (known?.refusedAtMs !== undefined && isSameToPlatform(known.credential, entry.credential))
        entry.refusedAtMs = known.refusedAtMs;
      entry.lookAgainAtMs = this.#nextLookMs(entry);
      return this.#remember(name, entry);
    } catch (error) {
      if (isMissing(error)) this.#entries.delete(name);
      const failure = unreadable(name, error, () => missing(name, actor));
      if (failure.kind !== 'unavailable' || known === undefined) throw failure;
      // While Secrets Manager is down, the last value is used. It is read again a little later, not for each message.
      warn(safe`a secret could not be read again; its last value is used`, {
        secret: name,
        error: errorName(error),
      });
      known.lookAgainAtMs = this.#nowMs() + lookAgainMs;
      return known;
    }
  }

  /** A credential that cannot be used is read again soon; any other when its time to live, or its token, has expired. */
  #nextLookMs({ credential, refusedAtMs }: Entry): number {
    const nowMs = this.#nowMs();
    const soonestMs = nowMs + lookAgainMs;
    if (refusedAtMs !== undefined) return soonestMs;
    return Math.min(nowMs + this.#options.timeToLiveMs, Math.max(soonestMs, usableUntilMs(credential)));
  }

  #remember(name: SafeText, entry: Entry): Entry {
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    const oldest = this.#entries.keys().next().value;
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }
}

/** The same for the call that is refused and for those that are not sent after it: it is one cause. */
const refusedCredential = (name: SafeText, type: Credential['type'] | undefined): RefusedCredential => ({
  message: safe`The platform refuses the credential in the secret ${name}`,
  remedy: remedyOfRefusal(name, type),
});

export const remedyOfRefusal = (name: string, type: Credential['type'] | undefined): string =>
  `${type === 'oauth' ? 'Invoke token-refresh with {"force":true}: it reports whether a person must authorize again' : `Put a valid credential into the secret ${name}`}. Waiting messages then continue by themselves.`;

/** An expired token is not sent: the platform would refuse it. The function token-refresh renews it, or reports why it cannot. */
const noToken = (name: SafeText, credential: Credential): MessageFailure => {
  const why =
    credential.type === 'oauth' && credential.refused
      ? safe`: a person must authorize again`
      : safe` until token-refresh renews it`;
  return new MessageFailure('credentials', safe`The secret ${name} has no valid access token${why}`, {
    remedy: `Read what token-refresh reports about the secret ${name}. If it asks you to authorize again, do so. Waiting messages then continue by themselves.`,
  });
};

const parse = (name: SafeText, text: string): Credential => {
  const remedy = `Put a credential with the documented fields into the secret ${name}. Waiting messages then continue.`;
  const read = readJson(text);
  if ('problem' in read)
    throw new MessageFailure('credentials', safe`The secret ${name} ${read.problem}`, { remedy });
  const parsed = credentialSchema.safeParse(read.json);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) =>
    issue.path.length > 0 ? ownText(issue.path.join('.')) : flawOf(issue),
  );
  throw new MessageFailure('credentials', safe`The secret ${name} is not a credential: ${safeList(fields)}`, {
    remedy,
  });
};

const missing = (name: SafeText, actor: SigningUser): MessageFailure =>
  new MessageFailure(
    actor === undefined ? 'credentials' : 'missing-credential',
    safe`There is no secret ${name}${actor === undefined ? '' : safe`, so nothing can be sent as user ${ownText(actor)}`}`,
    {
      remedy: `Create the secret ${name} with ${actor === undefined ? "the service's credential" : "that user's credential, then replay"}.`,
    },
  );

/**
 * Why a secret cannot be read. Without its cause: the SDK's error has the text of an answer that it cannot parse, and so the
 * secret.
 */
export const unreadable = (name: SafeText, error: unknown, missing: () => MessageFailure): MessageFailure => {
  if (error instanceof MessageFailure) return error;
  if (isMissing(error)) return missing();
  if (awsTroubleIn(error)?.kind !== 'aws-refused')
    return new MessageFailure('unavailable', safe`Secrets Manager did not answer: ${errorName(error)}`);
  // A role that may read only this name is refused while no secret has it: IAM checks first.
  return new MessageFailure(
    'credentials',
    safe`This function may not read the secret ${name}: ${errorName(error)}`,
    {
      remedy: `If this region has no secret ${name}, create it. If it has, let this function’s role read it (secretsmanager:GetSecretValue) and use its key (kms:Decrypt). Waiting messages then continue.`,
    },
  );
};

/** Describes a wrong field of a secret, without its value. */
export const flawOf = (issue: core.$ZodIssue): SafeText =>
  issue.code === 'unrecognized_keys'
    ? safe`not known: ${safeList(issue.keys.map(secretFieldName))}`
    : ownText(issue.message);

const isMissing = (error: unknown): boolean => missingSecret.test(errorName(error));
