import type { Server } from 'node:http';

type ServerHere = {
  server: Server;
  /** A fault is in wait that befalls a connection. */
  needsSocket(): boolean;
};

/** The emulators of this process, by origin: its clients may reach them without a socket. */
export const serversHere = new Map<string, ServerHere>();

/** Until it closes. */
export const serveHere = (origin: string, server: Server, needsSocket: () => boolean): void => {
  serversHere.set(origin, { server, needsSocket });
  server.once('close', () => serversHere.delete(origin));
};
