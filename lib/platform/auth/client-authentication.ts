import { createPrivateKey, type KeyObject } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import { type SafeText, safe } from '../../message/safe-text.ts';
import type { OAuthCredential } from './oauth.ts';

export class TokenError extends Error {
  override name = 'TokenError';
  declare readonly message: SafeText;
  /**
   * `authorize`: a person must authorize again. `correct`: the secret or the client must be corrected. `wait`: a later run tries
   * again.
   */
  readonly cure: 'authorize' | 'correct' | 'wait';
  /** Time during which the server must not be asked. */
  readonly quietSeconds: number | undefined;

  constructor(message: SafeText, cure: TokenError['cure'], quietSeconds?: number) {
    super(message);
    this.cure = cure;
    this.quietSeconds = quietSeconds;
  }
}

/** How an OAuth client authenticates: by its secret, in a header or in the form, or by a signed assertion. */
export const clientAuthentication = async (credential: OAuthCredential): Promise<oauth.ClientAuth> => {
  const { clientSecret = '', clientSecretIn, privateKey, keyId = '' } = credential;
  if (privateKey === undefined)
    return clientSecretIn === 'form'
      ? oauth.ClientSecretPost(clientSecret)
      : oauth.ClientSecretBasic(clientSecret);
  const signer = { key: await signingKey(privateKey), kid: keyId };
  return oauth.PrivateKeyJwt(signer, { [oauth.modifyAssertion]: (_, claims) => widen(claims) });
};

/** The server's clock may differ a little, so the assertion is valid from 10 seconds ago. It may last for 5 minutes at most. */
const widen = (claims: Record<string, oauth.JsonValue | undefined>): void => {
  const nowSeconds = Number(claims.iat);
  Object.assign(claims, { iat: nowSeconds - 10, nbf: nowSeconds - 10, exp: nowSeconds + 120 });
};

/** RS256 for an RSA key, ES256 for one on P-256. */
const signingKey = async (
  privateKey: NonNullable<OAuthCredential['privateKey']>,
): Promise<oauth.CryptoKey> => {
  const key = keyIn(privateKey);
  if (key.asymmetricKeyType === 'rsa')
    return key.toCryptoKey({ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, false, ['sign']);
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1')
    return key.toCryptoKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
  throw unusableKey();
};

const keyIn = (privateKey: NonNullable<OAuthCredential['privateKey']>): KeyObject => {
  try {
    return typeof privateKey === 'string'
      ? createPrivateKey(privateKey)
      : createPrivateKey({ key: privateKey, format: 'jwk' });
  } catch {
    // Without its cause, which may quote the key.
    throw unusableKey();
  }
};

const unusableKey = (): TokenError =>
  new TokenError(safe`the privateKey is not an RSA or P-256 key in PEM or JWK form`, 'correct');
