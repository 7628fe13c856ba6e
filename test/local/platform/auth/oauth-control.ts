import type { Controls } from '../control.ts';
import { exactly, id, list, optional, string } from '../http/bind.ts';
import { notFound } from '../http/refusal.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { clientShape } from './oauth-client.ts';

/** The control API's part for OAuth: clients, tokens, and how often tokens were asked for. */
export const oauthControls: Controls = {
  'GET oauth': ({ world }) => overview(world.oauth, world.nowSeconds()),

  'POST oauth/clients': ({ world, body }) => {
    const client = clientShape(body, '');
    world.oauth.clients.set(client.clientId, client);
  },

  // As if a person had authorized the client in a browser.
  'POST oauth/refreshTokens': ({ world: { oauth }, body }) => {
    const shape = exactly({ clientId: string, userId: optional(id), scopes: optional(list(string)) });
    const { clientId, userId, scopes } = shape(body, '');
    const client = oauth.clients.get(clientId);
    if (client === undefined) throw notFound('Client');
    const grant = { clientId, userId: userId ?? client.userId, scopes: scopes ?? client.scopes };
    return { refreshToken: oauth.tokens.issueRefreshToken(grant) };
  },

  'DELETE oauth/refreshTokens': ({ world }) => world.oauth.tokens.revokeRefreshTokens(),
  'POST oauth/expire': ({ world }) => world.oauth.tokens.expireAccessTokens(),
};

function overview({ tokenUrl, clients, tokens, requests }: AuthorizationServer, nowSeconds: number) {
  const shown = [...clients.values()].map(({ clientSecret, publicKeys, ...client }) => ({
    ...client,
    hasSecret: clientSecret !== null,
    keyIds: publicKeys.map(({ kid }) => kid),
  }));
  return { tokenUrl, tokenRequests: requests, ...tokens.counts(nowSeconds), clients: shown };
}
