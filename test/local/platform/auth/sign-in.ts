import { type Answer, bare } from '../http/answer.ts';
import type { Arrival } from '../http/arrival.ts';
import type { World } from '../world.ts';
import { same, sign } from './signing.ts';

/** The ID/key entry: sends the signed-in user back to the callback, with the user's id and key in its query. */
export function answerTokenEntry({ request, query }: Arrival, world: World): Answer {
  const { app, settings, state, site } = world;
  const callback = callbackOf(query.get('x_target'));
  const userKey = state.userKeys.get(settings.signedInUserId);
  const signed = same(query.get('x_b') ?? '', sign(app.appKey, query.get('x_target') ?? ''));
  if (callback === null || query.get('x_a') !== app.appId || !signed || userKey === undefined) {
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
