import { createHash } from 'node:crypto';
import * as z from 'zod';
import { flawOf } from '../credentials/cache.ts';
import type { SecretVersion } from '../credentials/versions.ts';
import { jsonIn } from '../json.ts';
import { type OAuthCredential, oauthCredential } from '../platform/auth/oauth.ts';

/** An OAuth client's secret; `fields` are its own JSON, which goes back as it came but for the tokens. */
export type OAuthSecret = { version: string; fields: Record<string, unknown>; credential: OAuthCredential };

/** Undefined where the secret holds something else; the names of the wrong fields where it is no usable OAuth client. */
export const oauthSecretIn = ({
  version,
  text,
}: SecretVersion): OAuthSecret | { wrong: string } | undefined => {
  const fields = fieldsIn(text);
  if (fields?.type !== 'oauth') return undefined;
  const parsed = oauthCredential.safeParse(fields);
  if (parsed.success) return { version, fields, credential: parsed.data };
  const wrong = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${flawOf(issue)}`.trim());
  return { wrong: wrong.join('; ') };
};

const fieldsIn = (text: string): Record<string, unknown> | undefined =>
  z.record(z.string(), z.unknown()).safeParse(jsonIn(text)).data;

/**
 * Names what tokens are asked with, and tells nothing of it: the refresh token, which is good for one refresh whatever
 * else changes in the secret; where there is none, the secret's version.
 */
export const stateOf = ({ credential, version }: OAuthSecret): string =>
  digest(credential.grant === 'refresh_token' ? `refresh ${credential.refreshToken}` : `version ${version}`);

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** At least two runs of a schedule of 5 minutes before the end. */
const minLeadMs = 600_000;

/** From when on an access token is renewed: with a third of its life left, so that several runs may fail. */
export const dueAtMs = ({ accessToken, obtainedAt, expiresAt }: OAuthCredential): number => {
  if (accessToken === undefined || expiresAt === undefined) return 0;
  const endMs = Date.parse(expiresAt);
  const lifeMs = obtainedAt === undefined ? 0 : endMs - Date.parse(obtainedAt);
  return endMs - Math.max(minLeadMs, lifeMs / 3);
};

/** A staged note that tokens are being asked for with this state of a secret. It holds nothing that is secret. */
const claim = z.strictObject({
  type: z.literal('claim'),
  state: z.string(),
  /** Counts those of one state from 0. */
  attempt: z.int().nonnegative(),
  run: z.string(),
  at: z.iso.datetime(),
  /** When the run that made it is certainly over. */
  until: z.iso.datetime(),
});

export type Claim = z.infer<typeof claim>;

export const claimIn = ({ text }: SecretVersion): Claim | undefined => claim.safeParse(fieldsIn(text)).data;

/** The version under which a claim is staged: two runs would make the same one, and only one of them can. */
export const claimVersion = ({ state, attempt }: { state: string; attempt: number }): string =>
  digest(`${state} ${attempt}`);

const minuteMs = 60_000;

/**
 * When tokens may be asked for again after a claim that brought none. Each claim is a version of the secret, and Secrets
 * Manager takes no more than about one in 10 minutes for long.
 */
export const nextAttemptMs = ({ at, until, attempt }: Claim): number =>
  Math.max(Date.parse(until), Date.parse(at) + Math.min(14, 5 * (attempt + 1) - 1) * minuteMs);
