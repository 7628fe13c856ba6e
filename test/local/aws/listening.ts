import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveHere } from '../platform/servers-here.ts';

/** Has a server listen on a free port of this machine alone; with `needsSocket`, also without it, as without-sockets.ts tells. */
export async function listening(
  server: Server,
  needsSocket?: () => boolean,
): Promise<{ url: string; close(): Promise<void> }> {
  // As with AWS, a client ends an idle connection first.
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  if (needsSocket) serveHere(url, server, needsSocket);
  return {
    url,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Node's own header tells the machine's time, also where this process has another: the SDK would take the difference for a wrong clock. */
export const tellDate = (response: ServerResponse): void => {
  response.setHeader('Date', new Date().toUTCString());
};
