import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { claimedUserId } from './auth/authentication.ts';
import { tokenPath } from './auth/authorization-server.ts';
import type { App } from './auth/signing.ts';
import { answerControl, controlRoot } from './control.ts';
import { send, sendHalf, sendWithoutEnd } from './http/answer.ts';
import { wholeBody } from './http/body.ts';
import type { Arrival } from './route.ts';
import { serveHere } from './servers-here.ts';
import { answerTo } from './site.ts';
import { freshWorld, type World } from './world.ts';

/** The platforms of this process, by address: whoever is in it needs no HTTP to control them, which takes most of the time. */
export const platformsHere = new Map<
  string,
  (method: string, name: string, body: string) => { status: number; text: string }
>();

export type LocalPlatform = {
  url: string;
  tokenUrl: string;
  /** @throws AggregateError if the platform itself met with a bug: that must not pass for an outage. */
  close(): Promise<void>;
};

/** Starts a learning platform on 127.0.0.1 that holds the default seed and obeys its control API, `/_local/`. */
export async function startPlatform(
  options: { port?: number; segment?: string; app?: App } = {},
): Promise<LocalPlatform> {
  const { port = 0, segment = 'svc', app = { appId: 'local-app', appKey: 'local-app-key' } } = options;
  const server = createServer((request, response) => {
    serve(arrivalOf(request), response).catch((error: unknown) => {
      if (!isDeparture(error, request.socket)) onBug(error);
      request.socket.destroy();
    });
  });
  // As with a real platform, a client ends an idle connection first.
  server.keepAliveTimeout = 60_000;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  serveHere(url, server, () => world.faults.needsSocket());
  const spool = await mkdtemp(join(tmpdir(), 'local-platform-'));
  const bugs: unknown[] = [];
  function onBug(error: unknown) {
    console.error('The local platform is broken:', error);
    bugs.push(error);
  }
  const site = { url, segment, spool, app, onBug };
  let world = freshWorld(site);

  // Requests still under way end in the world that they began in, so that nothing of them is left after a reset.
  function reset() {
    world.end.abort();
    world = freshWorld(site);
  }

  const closeIdleConnections = () => server.closeIdleConnections();
  const control = (asked: Parameters<typeof answerControl>[0]) =>
    answerControl(asked, { world, reset, closeIdleConnections });
  platformsHere.set(url, (method, name, body) => {
    const [path = '', query] = name.split('?');
    const asked = { method, name: path, query: new URLSearchParams(query), body: Buffer.from(body) };
    const answer = control(asked);
    return { status: answer.status, text: `${answer.body}` };
  });

  async function serve(arrival: Arrival, response: ServerResponse) {
    response.setHeader('Date', new Date(world.nowIso()).toUTCString());
    if (arrival.path.startsWith(controlRoot)) {
      const { method, path, query, request } = arrival;
      const body = await wholeBody(request);
      await send(response, control({ method, name: path.slice(controlRoot.length), query, body }));
    } else {
      await answerWithFaults(arrival, { world, response });
    }
    // What is left of a refused upload must be read, or the connection's next request would wait behind it.
    arrival.request.resume();
  }

  async function close() {
    platformsHere.delete(url);
    world.end.abort();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    await rm(spool, { recursive: true, force: true });
    if (bugs.length > 0) throw new AggregateError(bugs, `The local platform is broken: ${bugs.join('; ')}`);
  }

  return { url, tokenUrl: `${url}${tokenPath}`, close };
}

/** The path is kept as it was sent: it is what the caller signed. */
function arrivalOf(request: IncomingMessage): Arrival {
  const [path = '', ...query] = (request.url ?? '').split('?');
  return { request, method: request.method ?? '', path, query: new URLSearchParams(query.join('?')) };
}

/** The caller went away, or the world was reset under its request. */
function isDeparture(error: unknown, socket: Socket): boolean {
  return socket.destroyed || (error instanceof Error && error.name === 'AbortError');
}

async function answerWithFaults(
  arrival: Arrival,
  { world, response }: { world: World; response: ServerResponse },
) {
  const { socket } = arrival.request;
  const { method, path, query } = arrival;
  const logged = {
    at: new Date().toISOString(),
    method,
    path,
    queryNames: [...new Set(query.keys())],
    userId: claimedUserId(arrival, world),
    status: null as number | null,
  };
  world.requests.push(logged);
  const fault = world.faults.take(method, path) ?? {};
  if (fault.answer && fault.when === 'before') {
    logged.status = fault.answer.status;
    return send(response, fault.answer);
  }
  if (fault.endless) {
    logged.status = 200;
    return sendWithoutEnd(response);
  }
  if (fault.reset === 'before') return void socket.resetAndDestroy();
  if (fault.delayMs) await delay(fault.delayMs, undefined, { signal: world.end.signal });
  // Nobody waits any more, as after a client's timeout: the request was never handled.
  if (socket.destroyed) return;

  const usual = await answerTo(arrival, world);
  if (fault.reset) return void socket.resetAndDestroy();
  const answer = fault.answer ?? usual;
  logged.status = answer.status;
  await (fault.truncate ? sendHalf(response, answer) : send(response, answer));
}
