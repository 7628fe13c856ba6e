import { problem } from '../http/refusal.ts';
import type { User } from '../state.ts';
import type { World } from '../world.ts';
import { scopesCover } from './oauth-client.ts';

const bearerForm = /^Bearer +([\w\-.~+/]+=*)$/i;

/** The user and scopes of a token; one that is expired, unknown or malformed is told so in one and the same way. */
export function authenticateBearer(
  authorization: string,
  world: World,
): { user: User; covers(scope: string): boolean } {
  const token = tokenIn(authorization, world);
  const user = token && world.state.tables.users.get(token.userId);
  if (token === undefined || user === undefined || token.expiresAtSeconds <= world.nowSeconds())
    throw invalidToken();
  return { user, covers: (scope) => scopesCover(token.scopes, scope) };
}

export function tokenIn(authorization: string, { oauth }: World) {
  return oauth.tokens.accessToken(bearerForm.exec(authorization)?.[1] ?? '');
}

const invalidToken = () =>
  problem(
    {
      status: 401,
      anchor: 'invalid-token',
      title: 'Invalid Token',
      detail: 'The access token is invalid or expired',
    },
    { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  );
