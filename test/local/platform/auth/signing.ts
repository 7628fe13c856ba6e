import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Answer, bare } from '../http/answer.ts';
import { invalidToken, timestampOutOfRange } from '../http/refusal.ts';
import type { Arrival } from '../route.ts';
import type { Row, State } from '../state.ts';
import type { World } from '../world.ts';

export type App = { appId: string; appKey: string };
/** `lenient`: a signature that is wrong is let pass. */
type Verifier = { app: App; state: State; nowSeconds: number; lenient: boolean };

const toleranceSeconds = 300;

/** HMAC-SHA256 in base64url without padding. */
export function sign(key: string, data: string): string {
  return createHmac('sha256', key).update(data).digest('base64url');
}

/** What a call signs: the path percent-decoded and in lower case, without the query. */
export function baseString(method: string, path: string, timestamp: string): string {
  return `${method.toUpperCase()}&${decodeURIComponent(path).toLowerCase()}&${timestamp}`;
}

/** The user whose keys signed the call; refuses a clock too far off before it looks at the signatures. */
export function verifySignature(
  signed: Arrival,
  { app, state, nowSeconds, lenient }: Verifier,
): Row<'users'> {
  const [appId, userId, appSignature, userSignature, timestamp] = ['x_a', 'x_b', 'x_c', 'x_d', 'x_t'].map(
    (name) => only(signed.query.getAll(name)),
  ) as [string, string, string, string, string];
  if (!/^\d{1,12}$/.test(timestamp)) throw invalidToken();
  if (Math.abs(Number(timestamp) - nowSeconds) > toleranceSeconds) throw timestampOutOfRange(nowSeconds);

  const signerId = signerOf(userId, state);
  const user = signerId === undefined ? undefined : state.tables.users.get(signerId);
  if (appId !== app.appId || user === undefined) throw invalidToken();

  const data = baseString(signed.method, decodable(signed.path), timestamp);
  const isGood = same(appSignature, sign(app.appKey, data)) && same(userSignature, sign(user.userKey, data));
  if (!isGood && !lenient) throw invalidToken();
  return user;
}

/** The user who signs under this id: the user's own, or one that was given for it. */
export function signerOf(keyId: string, { keyIds }: State): number | undefined {
  return keyIds.get(keyId) ?? (/^[1-9]\d{0,14}$/.test(keyId) ? Number(keyId) : undefined);
}

export function same(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function only(values: string[]): string {
  if (values.length !== 1 || values[0] === undefined) throw invalidToken();
  return values[0];
}

function decodable(path: string): string {
  try {
    decodeURIComponent(path);
    return path;
  } catch {
    throw invalidToken();
  }
}

/** The ID/key entry: sends the signed-in user back to the callback, with the user's id and key in its query. */
export function answerTokenEntry({ request, query }: Arrival, world: World): Answer {
  const { settings, state, site } = world;
  const callback = callbackOf(query.get('x_target'));
  const userKey = state.tables.users.get(settings.signedInUserId)?.userKey;
  const signed = same(query.get('x_b') ?? '', sign(site.app.appKey, query.get('x_target') ?? ''));
  if (callback === null || query.get('x_a') !== site.app.appId || !signed || userKey === undefined) {
    const targetUrl = encodeURIComponent(request.url ?? '');
    return bare(302, { Location: `/${site.segment}/error/404/log?targetUrl=${targetUrl}` });
  }
  const [keyId] = [...state.keyIds].find(([, userId]) => userId === settings.signedInUserId) ?? [];
  callback.searchParams.set('x_a', keyId ?? String(settings.signedInUserId));
  callback.searchParams.set('x_b', userKey);
  return bare(302, { Location: callback.href });
}

function callbackOf(target: string | null): URL | null {
  const url = URL.parse(target ?? '');
  return url !== null && /^https?:$/.test(url.protocol) ? url : null;
}
