import { missingPermission, problem } from '../http/refusal.ts';
import type { Arrival } from '../route.ts';
import { organizationId, type Row, type State } from '../state.ts';
import type { World } from '../world.ts';
import { scopesCover } from './clients.ts';
import { signerOf, verifySignature } from './signing.ts';

type Authenticated = { user: Row<'users'>; covers(scope: string): boolean };

/** By token or by keys; keys carry no scopes and so cover every one of them. */
export function authenticate(arrival: Arrival, world: World): Authenticated {
  const { authorization } = arrival.request.headers;
  if (authorization !== undefined) return authenticateBearer(authorization, world);
  const lenient = world.settings.invalidTokenReads === 'answer' && arrival.method === 'GET';
  const verifier = { app: world.site.app, state: world.state, nowSeconds: world.nowSeconds(), lenient };
  return { user: verifySignature(arrival, verifier), covers: () => true };
}

/** Whom a request claims to come from, before anything is proved. */
export function claimedUserId({ request, query }: Arrival, world: World): number | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) return tokenIn(authorization, world)?.userId ?? null;
  return signerOf(query.get('x_b') ?? '', world.state) ?? null;
}

/** One that is expired, unknown or malformed is told so in one and the same way. */
function authenticateBearer(authorization: string, world: World): Authenticated {
  const token = tokenIn(authorization, world);
  const user = token && world.state.tables.users.get(token.userId);
  if (token === undefined || user === undefined || token.expiresAtSeconds <= world.nowSeconds())
    throw problem(
      {
        status: 401,
        anchor: 'invalid-token',
        title: 'Invalid Token',
        detail: 'The access token is invalid or expired',
      },
      { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    );
  return { user, covers: (scope) => scopesCover(token.scopes, scope) };
}

const tokenIn = (authorization: string, { oauth }: World) =>
  oauth.accessTokens.get(/^Bearer +([\w\-.~+/]+=*)$/i.exec(authorization)?.[1] ?? '');

export function authorize(
  { tables }: State,
  userId: number,
  { orgUnitId, permission }: { orgUnitId: number; permission: string },
) {
  const { enrollments, roles } = tables;
  const enrollment = enrollments.get(orgUnitId, userId) ?? enrollments.get(organizationId, userId);
  const permissions = (enrollment && roles.get(enrollment.roleId)?.permissions) ?? [];
  if (!permissions.includes('*') && !permissions.includes(permission))
    throw missingPermission(orgUnitId, permission);
}
