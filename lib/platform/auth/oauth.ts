import * as z from 'zod';
import { privacy, secret } from '../../message/privacy.ts';
import { isPrivate } from '../../runtime/aws/loopback.ts';

/** Tokens are sent in clear, so TLS is required, except for a server on this machine. */
const tokenUrl = z.url({ protocol: /^https?$/ }).refine((text) => {
  const url = URL.parse(text);
  return url === null || (isPrivate(url) && url.username === '' && url.password === '');
}, 'must be https, without a user name and password');

/** Any word that a header can hold. Servers allow more characters than the standard. */
export const accessTokenForm = /^[!-~]+$/;
const scope = z.string().regex(/^[!#-[\]-~]+$/, 'must be a scope');
const time = z.iso.datetime({ offset: true });
const text = z.string().min(1);
const secretText = z.string().min(1).register(privacy, secret);

/** An OAuth client with its tokens. People write the first half; the function token-refresh writes the second. */
export const oauthCredential = z
  .strictObject({
    type: z.literal('oauth'),
    grant: z.enum(['client_credentials', 'refresh_token']),
    tokenUrl,
    clientId: text,
    clientSecret: secretText.optional(),
    /** How the client secret is sent; default: basic. */
    clientSecretIn: z.enum(['basic', 'form']).optional(),
    /** Instead of a client secret: RSA or P-256, as PEM or as a JWK, for RS256 or ES256. */
    privateKey: z
      .union([text, z.record(z.string(), z.unknown())])
      .register(privacy, secret)
      .optional(),
    /** The id of its public key in the published key set. */
    keyId: text.optional(),
    /** The scopes to request; default: all that the client was granted. */
    scopes: z.array(scope).optional(),

    /** Can be used once: each refresh returns the next one. The first comes from a person's authorization. */
    refreshToken: secretText.optional(),
    accessToken: z
      .string()
      .regex(accessTokenForm, 'must be a bearer token')
      .register(privacy, secret)
      .optional(),
    obtainedAt: time.optional(),
    expiresAt: time.optional(),
    /** Which state of this secret the tokens were obtained from (`stateOf`). */
    replaces: z.string().optional(),
    /** Why a person must authorize again, and for which state of the secret. */
    refused: z.strictObject({ state: z.string(), at: time, reason: z.string() }).optional(),
  })
  .superRefine((credential, context) => {
    const problem = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (credential.grant === 'refresh_token' && !credential.refreshToken)
      problem('refreshToken', 'is missing: a person must authorize');
    if (!credential.clientSecret === !credential.privateKey)
      problem('clientSecret', 'give either this or a privateKey');
    if (credential.privateKey && !credential.keyId) problem('keyId', 'is missing');
  });

export type OAuthCredential = z.infer<typeof oauthCredential>;

/** The end of its access token's use, in milliseconds; without `expiresAt`, it is used until it is refused. */
export const expiryMs = ({ accessToken, expiresAt }: OAuthCredential): number => {
  if (accessToken === undefined) return 0;
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
};
