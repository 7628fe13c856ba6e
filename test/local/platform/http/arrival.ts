import type { IncomingMessage } from 'node:http';

export type Arrival = { request: IncomingMessage; method: string; path: string; query: URLSearchParams };

/** The path is kept as it was sent: it is what the caller signed. */
export function arrivalOf(request: IncomingMessage): Arrival {
  const [path = '', ...query] = (request.url ?? '').split('?');
  return { request, method: request.method ?? '', path, query: new URLSearchParams(query.join('?')) };
}
