import { createHash } from 'node:crypto';
import * as z from 'zod';
import { jsonIn } from '../../../message/json.ts';
import { ownText, type SafeText, safe, safeList } from '../../../message/safe-text.ts';
import type { SecretVersion } from '../../../runtime/aws/secret.ts';
import { flawOf } from '../credentials.ts';
import { type OAuthCredential, oauthCredential } from '../oauth.ts';

/** An OAuth client's secret. `fields` is its JSON, which is written back unchanged but for the tokens. */
export type OAuthSecret = { version: string; fields: Record<string, unknown>; credential: OAuthCredential };

/** Undefined if the secret is not an OAuth client; the names of the wrong fields if it is unusable. */
export const oauthSecretIn = ({
  version,
  text,
}: SecretVersion): OAuthSecret | { wrong: SafeText } | undefined => {
  const fields = fieldsIn(text);
  if (fields?.type !== 'oauth') return undefined;
  const parsed = oauthCredential.safeParse(fields);
  if (parsed.success) return { version, fields, credential: parsed.data };
  const wrong = parsed.error.issues.map((issue) =>
    issue.path.length > 0 ? safe`${ownText(issue.path.join('.'))} ${flawOf(issue)}` : flawOf(issue),
  );
  return { wrong: safeList(wrong, '; ') };
};

const fieldsIn = (text: string): Record<string, unknown> | undefined =>
  z.record(z.string(), z.unknown()).safeParse(jsonIn(text)).data;

/** A digest of what tokens are requested with: the refresh token, which can be used once; without one, the secret's version. */
export const stateOf = ({ credential, version }: OAuthSecret): string =>
  digest(credential.grant === 'refresh_token' ? `refresh ${credential.refreshToken}` : `version ${version}`);

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Two runs of a schedule of 5 minutes. */
const minLeadMs = 600_000;

/** When to renew an access token: a third of its lifetime before its end, so that several runs may fail. */
export const dueAtMs = ({ accessToken, obtainedAt, expiresAt }: OAuthCredential): number => {
  if (accessToken === undefined || expiresAt === undefined) return 0;
  const endMs = Date.parse(expiresAt);
  const lifeMs = obtainedAt === undefined ? 0 : endMs - Date.parse(obtainedAt);
  return endMs - Math.max(minLeadMs, lifeMs / 3);
};

/** A staged version: tokens are being requested with this state of the secret. It holds no secret. */
const claim = z.strictObject({
  type: z.literal('claim'),
  state: z.string(),
  /** Counts the claims of one state, from 0. */
  attempt: z.int().nonnegative(),
  run: z.string(),
  at: z.iso.datetime(),
  /** By then the run that staged it has certainly ended. */
  until: z.iso.datetime(),
});

export type RefreshLease = z.infer<typeof claim>;

export const leaseIn = ({ text }: SecretVersion): RefreshLease | undefined =>
  claim.safeParse(fieldsIn(text)).data;

/** The version id of a claim: two runs would create the same id, and only one of them can. */
export const leaseVersion = ({ state, attempt }: { state: string; attempt: number }): string =>
  digest(`${state} ${attempt}`);

const minuteMs = 60_000;

/**
 * When tokens may be requested again after a claim that failed. Each claim is a version of the secret, and Secrets Manager
 * allows only about one version in 10 minutes for long.
 */
export const nextAttemptMs = ({ at, until, attempt }: RefreshLease): number =>
  Math.max(Date.parse(until), Date.parse(at) + Math.min(14, 5 * (attempt + 1) - 1) * minuteMs);
