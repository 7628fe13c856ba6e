import type { RefusedCall, RefusedCredential } from './platform-error.ts';
import type { Request } from './request.ts';

/** What authenticates a request: signatures in its query, or a token in a header. */
export type AuthParameters = { query: Record<string, string>; headers: Record<string, string> };

export type CallAuthenticator = {
  authenticate(request: { method: string; path: string }): Promise<AuthParameters>;
  /**
   * Corrects the clock, or drops the credential, after a refusal. False: to send the call once more would change nothing. After a
   * refused credential: what to report if no other one is accepted.
   */
  correctAfter(refused: RefusedCall): boolean | RefusedCredential;
};

/** A platform user's id, or undefined for the service's own credential. */
export type SigningUser = string | undefined;

/** Creates the Auth of one call of this actor. */
export type AuthenticatorFactory = (actor: SigningUser) => CallAuthenticator;

/** The path with its whole query: the parameters that authenticate it come last. */
export const signedPath = ({ path, query }: Request, auth: AuthParameters): string => {
  let signed = path;
  let mark = '?';
  const add = (name: string, value: string): void => {
    signed += `${mark}${encoded(name)}=${encoded(value)}`;
    mark = '&';
  };
  for (const [name, value] of query) add(name, value);
  for (const name in auth.query) add(name, auth.query[name] ?? '');
  return signed;
};

/** Ids and signatures need no encoding: to check is cheaper than to encode. */
const encoded = (text: string): string => (/^[\w.~-]*$/.test(text) ? text : encodeURIComponent(text));
