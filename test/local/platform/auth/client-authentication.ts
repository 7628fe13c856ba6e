import { claimedClientId, faultInAssertion } from './assertion.ts';
import type { OAuthClient } from './oauth-client.ts';
import { same } from './signing.ts';
import { tokenError } from './token-refusal.ts';

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

type Verifier = {
  clients: Map<string, OAuthClient>;
  tokenUrl: string;
  nowSeconds: number;
  usedIds: Map<string, number>;
};

/** The client that a token request proves to come from, in exactly one way: Basic, form or private_key_jwt. */
export function authenticateClient(
  form: Map<string, string>,
  authorization: string | undefined,
  verifier: Verifier,
): OAuthClient {
  const ways = [authorization, form.get('client_secret'), form.get('client_assertion')];
  if (ways.filter((way) => way !== undefined).length > 1) {
    throw tokenError('invalid_request', 'the client must be authenticated in one way only');
  }
  if (form.has('client_assertion')) return byAssertion(form, verifier);
  if (authorization !== undefined) return bySecret(basicCredentials(authorization), verifier);
  const [clientId, secret] = [form.get('client_id'), form.get('client_secret')];
  if (clientId === undefined || secret === undefined) throw refused('the client is not authenticated');
  return bySecret({ clientId, secret }, verifier);
}

function byAssertion(form: Map<string, string>, { clients, ...rest }: Verifier): OAuthClient {
  if (form.get('client_assertion_type') !== assertionType) {
    throw tokenError('invalid_request', `client_assertion_type must be ${assertionType}`);
  }
  const assertion = form.get('client_assertion') ?? '';
  const client = clients.get(claimedClientId(assertion));
  if (client === undefined) throw refused('iss names no client');
  if ((form.get('client_id') ?? client.clientId) !== client.clientId) throw refused('client_id must be iss');
  const fault = faultInAssertion(assertion, { client, ...rest });
  if (fault !== null) throw refused(fault);
  return client;
}

function bySecret(
  { clientId, secret }: { clientId: string; secret: string },
  { clients }: Verifier,
): OAuthClient {
  const client = clients.get(clientId);
  if (client?.clientSecret == null || !same(secret, client.clientSecret)) {
    throw refused('the client or its secret is wrong');
  }
  return client;
}

function basicCredentials(authorization: string) {
  const [, encoded] = /^Basic ([A-Za-z0-9+/]+=*)$/i.exec(authorization) ?? [];
  const [clientId, secret] = Buffer.from(encoded ?? '', 'base64')
    .toString()
    .split(/:(.*)/s);
  if (clientId === undefined || secret === undefined) throw refused('the Authorization header is malformed');
  // OAuth has both form-encoded before they are joined, so that an id may hold a colon.
  return { clientId: formDecoded(clientId), secret: formDecoded(secret) };
}

const formDecoded = (value: string) => new URLSearchParams(`v=${value}`).get('v') ?? '';

const refused = (description: string) => tokenError('invalid_client', description, 401);
