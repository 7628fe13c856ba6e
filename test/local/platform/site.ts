import { answerApiCall, versions } from './api.ts';
import { tokenPath } from './auth/authorization-server.ts';
import { answerTokenEntry } from './auth/signing.ts';
import { type Answer, json, text, withHeaders } from './http/answer.ts';
import { errorAnswer, problem } from './http/refusal.ts';
import type { Arrival } from './route.ts';
import type { World } from './world.ts';

/** What the platform answers to a request, whatever happens; throws only if the caller went away. */
export async function answerTo(arrival: Arrival, world: World): Promise<Answer> {
  const { granted, headers } = world.rateLimit.spend();
  try {
    if (!granted) throw tooManyRequests();
    return withHeaders(await dispatch(arrival, world), headers);
  } catch (error) {
    if (arrival.request.socket.destroyed) throw error;
    return withHeaders(errorAnswer(error, world.site), headers);
  }
}

function dispatch(arrival: Arrival, world: World): Answer | Promise<Answer> {
  const { apiRoot, docsUrl, segment } = world.site;
  const { path, method } = arrival;
  if (path === `${apiRoot}/versions/` && method === 'GET') return json(versions);
  if (path.startsWith(`${apiRoot}/`)) return answerApiCall(arrival, world);
  if (path === new URL(`${docsUrl}/res/apiprop.html`).pathname) return page(200, 'Error kinds');
  if (path === tokenPath) return world.oauth.answerTokenRequest(arrival);
  if (method === 'GET' && path.replace(/\/$/, '') === `/${segment}/auth/api/token`) {
    return answerTokenEntry(arrival, world);
  }
  return page(404, 'Page not found');
}

const tooManyRequests = () =>
  problem({
    status: 429,
    anchor: 'too-many-requests',
    title: 'Too Many Requests',
    detail: 'The rate limit is exceeded',
  });

function page(status: number, title: string): Answer {
  return text(
    status,
    'text/html; charset=UTF-8',
    `<!DOCTYPE html><html><head><title>${title}</title></head></html>`,
  );
}
