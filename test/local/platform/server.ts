import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { claimedUserId } from './auth/authentication.ts';
import { tokenPath } from './auth/authorization-server.ts';
import type { App } from './auth/signing.ts';
import { answerControl, controlRoot } from './control.ts';
import { send, sendHalf } from './http/answer.ts';
import { type Arrival, arrivalOf } from './http/arrival.ts';
import { answerTo } from './site.ts';
import { freshWorld, type World } from './world.ts';

export type LocalPlatform = { url: string; tokenUrl: string; close(): Promise<void> };

/** Starts a learning platform on 127.0.0.1 that holds the default seed and obeys its control API, `/_local/`. */
export async function startPlatform(
  options: { port?: number; segment?: string; app?: App } = {},
): Promise<LocalPlatform> {
  const { port = 0, segment = 'svc', app = { appId: 'local-app', appKey: 'local-app-key' } } = options;
  const server = createServer((request, response) => {
    serve(arrivalOf(request), response).catch(() => request.socket.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const spool = await mkdtemp(join(tmpdir(), 'local-platform-'));
  const site = { url, segment, spool, app };
  let world = freshWorld(site);

  // Requests still under way end in the world that they began in, so that nothing of them is left after a reset.
  function reset() {
    world.end.abort();
    world = freshWorld(site);
  }

  const closeIdleConnections = () => server.closeIdleConnections();

  async function serve(arrival: Arrival, response: ServerResponse) {
    response.setHeader('Date', new Date(world.nowIso()).toUTCString());
    if (arrival.path.startsWith(controlRoot)) {
      await send(response, await answerControl(arrival, { world, reset, closeIdleConnections }));
    } else {
      await answerWithFaults(arrival, { world, response });
    }
    // What is left of a refused upload must be read, or the connection's next request would wait behind it.
    arrival.request.resume();
  }

  async function close() {
    world.end.abort();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    await rm(spool, { recursive: true, force: true });
  }

  return { url, tokenUrl: `${url}${tokenPath}`, close };
}

async function answerWithFaults(
  arrival: Arrival,
  { world, response }: { world: World; response: ServerResponse },
) {
  const { socket } = arrival.request;
  const logged = world.requests.begin(arrival, claimedUserId(arrival, world));
  const fault = world.faults.take(arrival.method, arrival.path);
  if (fault?.kind === 'answer') {
    logged.status = fault.answer.status;
    return send(response, fault.answer);
  }
  if (fault?.kind === 'reset' && fault.when === 'before') return void socket.resetAndDestroy();
  if (fault?.kind === 'delay') await delay(fault.delayMs, undefined, { signal: world.end.signal });
  // Nobody waits any more, as after a client's timeout: the request was never handled.
  if (socket.destroyed) return;

  const answer = await answerTo(arrival, world);
  if (fault?.kind === 'reset') return void socket.resetAndDestroy();
  logged.status = answer.status;
  await (fault?.kind === 'truncate' ? sendHalf(response, answer) : send(response, answer));
}
