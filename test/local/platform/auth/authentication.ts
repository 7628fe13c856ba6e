import type { Arrival } from '../http/arrival.ts';
import type { User } from '../state.ts';
import type { World } from '../world.ts';
import { authenticateBearer, tokenIn } from './bearer.ts';
import { signerOf, verifySignature } from './signing.ts';

type Authenticated = { user: User; covers(scope: string): boolean };

/** By token or by keys; keys carry no scopes and so cover every one of them. */
export function authenticate(arrival: Arrival, world: World): Authenticated {
  const { authorization } = arrival.request.headers;
  if (authorization !== undefined) return authenticateBearer(authorization, world);
  const lenient = world.settings.invalidTokenReads === 'answer' && arrival.method === 'GET';
  const verifier = { app: world.app, state: world.state, nowSeconds: world.nowSeconds(), lenient };
  return { user: verifySignature(arrival, verifier), covers: () => true };
}

/** Whom a request claims to come from, before anything is proved. */
export function claimedUserId({ request, query }: Arrival, world: World): number | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) return tokenIn(authorization, world)?.userId ?? null;
  return signerOf(query.get('x_b') ?? '', world.state) ?? null;
}
