import * as z from 'zod';
import { privacy, secret } from '../../redaction/privacy.ts';

/** Tokens go over the wire in clear, so only over TLS, but to a server of this machine. */
const tokenUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => /^(https:|http:\/\/(127\.0\.0\.1|localhost|\[::1\])[:/])/.test(url), 'must be https');

/** What may stand in a header as one word. Servers take more signs than the standard has. */
export const accessTokenForm = /^[!-~]+$/;
const scope = z.string().regex(/^[!#-[\]-~]+$/, 'must be a scope');
const time = z.iso.datetime({ offset: true });
const text = z.string().min(1);
const secretText = z.string().min(1).register(privacy, secret);

/** An OAuth client with its tokens. People write the first half; the second is token-refresh's, which alone asks for tokens. */
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
    /** The id of its public half in the key set that is published. */
    keyId: text.optional(),
    /** To ask for; default: all that the client was granted. */
    scopes: z.array(scope).optional(),

    /** Single-use: each refresh answers the next one. The first is a person's authorization. */
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
    /** Why no refresh can help any more, and of which state that is told. */
    refused: z.strictObject({ state: z.string(), at: time, reason: z.string() }).optional(),
  })
  .superRefine((credential, context) => {
    const problem = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (credential.grant === 'refresh_token' && !credential.refreshToken)
      problem('refreshToken', 'is missing: a person must authorize');
    if (!credential.clientSecret === !credential.privateKey)
      problem('clientSecret', 'there must be either this or a privateKey');
    if (credential.privateKey && !credential.keyId) problem('keyId', 'is missing');
  });

export type OAuthCredential = z.infer<typeof oauthCredential>;

/** Until when its access token can be used, in milliseconds; where nothing is told, until it is refused. */
export const expiryMs = ({ accessToken, expiresAt }: OAuthCredential): number => {
  if (accessToken === undefined) return 0;
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
};

export const bearerHeaders = ({ accessToken = '' }: OAuthCredential): Record<string, string> => ({
  authorization: `Bearer ${accessToken}`,
});
