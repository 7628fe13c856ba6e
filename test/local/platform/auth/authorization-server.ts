import { randomBytes } from 'node:crypto';
import { type Answer, json, withHeaders } from '../http/answer.ts';
import { bind } from '../http/bind.ts';
import { wholeBody } from '../http/body.ts';
import type { Arrival } from '../route.ts';
import { authenticateClient, clientShape, type OAuthClient, scopesCover, TokenRefusal } from './clients.ts';

export const tokenPath = '/core/connect/token';

type Form = Map<string, string>;
/** Whose token it is and what it may be used for. */
type Grant = { clientId: string; userId: number; scopes: string[] };

/** Answers token requests; access tokens and refresh tokens are opaque. */
export function authorizationServer({ tokenUrl, nowSeconds }: { tokenUrl: string; nowSeconds(): number }) {
  const clients = new Map<string, OAuthClient>();
  const accessTokens = new Map<string, Grant & { expiresAtSeconds: number }>();
  const refreshTokens = new Map<string, Grant>();
  const usedIds = new Map<string, number>();
  const requests = { total: 0, issued: 0, refused: 0 };

  async function answerTokenRequest({ request, method }: Arrival): Promise<Answer> {
    requests.total += 1;
    try {
      if (method !== 'POST') throw new TokenRefusal('invalid_request', 'the method must be POST', 405);
      const form = formOf(request.headers['content-type'], await wholeBody(request));
      const verifier = { clients, tokenUrl, nowSeconds: nowSeconds(), usedIds };
      const client = authenticateClient(form, request.headers.authorization, verifier);
      const answer = issue(client, form);
      requests.issued += 1;
      return uncached(json(answer));
    } catch (error) {
      if (!(error instanceof TokenRefusal)) throw error;
      requests.refused += 1;
      const challenge = { 'WWW-Authenticate': 'Basic realm="token"' };
      return uncached(withHeaders(json(error.body, error.status), error.status === 401 ? challenge : {}));
    }
  }

  function issue(client: OAuthClient, form: Form) {
    const grantType = required(form, 'grant_type');
    if (grantType !== 'client_credentials' && grantType !== 'refresh_token') {
      throw new TokenRefusal('unsupported_grant_type', 'known are client_credentials and refresh_token');
    }
    if (!client.grants.includes(grantType))
      throw new TokenRefusal('unauthorized_client', 'this client may not use the grant');
    if (grantType === 'refresh_token') return refresh(client, form);
    const { clientId, userId } = client;
    return accessTokenFor(client, { clientId, userId, scopes: narrowed(client.scopes, form) });
  }

  function refresh(client: OAuthClient, form: Form) {
    const token = required(form, 'refresh_token');
    const grant = refreshTokens.get(token);
    if (grant?.clientId !== client.clientId) {
      throw new TokenRefusal('invalid_grant', 'the refresh token is unknown, or was used before');
    }
    const answer = accessTokenFor(client, { ...grant, scopes: narrowed(grant.scopes, form) });
    // Single use: from here on only the new one is good, whether or not the answer arrives.
    refreshTokens.delete(token);
    return { ...answer, refresh_token: issued(refreshTokens, grant) };
  }

  function accessTokenFor({ accessTokenSeconds }: OAuthClient, grant: Grant) {
    return {
      access_token: issued(accessTokens, { ...grant, expiresAtSeconds: nowSeconds() + accessTokenSeconds }),
      token_type: 'Bearer',
      expires_in: accessTokenSeconds,
      scope: grant.scopes.join(' '),
    };
  }

  return {
    tokenUrl,
    clients,
    accessTokens,
    refreshTokens,
    answerTokenRequest,
    add: (client: unknown) => {
      const { clientId, ...rest } = bind(clientShape, client);
      clients.set(clientId, { clientId, ...rest });
    },
    issueRefreshToken: (grant: Grant) => issued(refreshTokens, grant),
    overview: () => ({
      tokenUrl,
      tokenRequests: requests,
      refreshTokens: refreshTokens.size,
      accessTokens: [...accessTokens.values()].filter(
        ({ expiresAtSeconds }) => expiresAtSeconds > nowSeconds(),
      ).length,
      clients: [...clients.values()].map(({ clientSecret, publicKeys, ...client }) => ({
        ...client,
        hasSecret: clientSecret !== null,
        keyIds: publicKeys.map(({ kid }) => kid),
      })),
    }),
  };
}

function issued<Token>(tokens: Map<string, Token>, token: Token): string {
  const opaque = randomBytes(32).toString('base64url');
  tokens.set(opaque, token);
  return opaque;
}

function narrowed(granted: string[], form: Form): string[] {
  const asked = form.get('scope')?.split(' ').filter(Boolean) ?? [];
  const excess = asked.filter((scope) => !scopesCover(granted, scope));
  if (excess.length > 0) throw new TokenRefusal('invalid_scope', `not granted: ${excess.join(' ')}`);
  return asked.length === 0 ? granted : asked;
}

function formOf(contentType: string | undefined, body: Buffer): Form {
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(contentType ?? '')) {
    throw new TokenRefusal('invalid_request', 'the body must be a form');
  }
  const form: Form = new Map();
  for (const [name, value] of new URLSearchParams(body.toString())) {
    if (form.has(name)) throw new TokenRefusal('invalid_request', `${name} is repeated`);
    form.set(name, value);
  }
  return form;
}

function required(form: Form, name: string): string {
  const value = form.get(name) ?? '';
  if (value === '') throw new TokenRefusal('invalid_request', `${name} is missing`);
  return value;
}

const uncached = (answer: Answer) => withHeaders(answer, { 'Cache-Control': 'no-store', Pragma: 'no-cache' });
