import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { type Check, exactly, id, list, nullable, number, oneOf, or, record, string } from '../http/bind.ts';
import { bindingError } from '../http/refusal.ts';

type PublicKey = JsonWebKey & { kid: string };

const publicKey: Check<PublicKey> = (value, where) => {
  const jwk = record(value, where);
  if (typeof jwk.kid !== 'string') throw bindingError(`${where}.kid must be a string`);
  if ('d' in jwk || !isUsable(jwk)) throw bindingError(`${where} must be a public RSA or P-256 key`);
  return { ...jwk, kid: jwk.kid };
};

function isUsable(jwk: JsonWebKey): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' });
    return asymmetricKeyType === 'rsa' || asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

export const clientShape = exactly({
  clientId: string,
  clientSecret: or(nullable(string), null),
  publicKeys: or(list(publicKey), []),
  userId: id,
  scopes: or(list(string), ['*:*:*']),
  grants: or(list(oneOf('client_credentials', 'refresh_token')), ['client_credentials', 'refresh_token']),
  accessTokenSeconds: or(number, 3600),
});

/** An application that may ask for tokens; what it does with them is done by its user. */
export type OAuthClient = ReturnType<typeof clientShape>;

/** A granted `core:*:*` covers whatever is required of `core`. */
export function scopesCover(granted: string[], required: string): boolean {
  const wanted = required.split(':');
  return granted.some((scope) => {
    const parts = scope.split(':');
    return (
      parts.length === wanted.length && parts.every((part, index) => part === '*' || part === wanted[index])
    );
  });
}
