import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { type Credentials, createAuthenticator } from '../../../lib/platform/auth/auth.ts';
import type { CallContext } from '../../../lib/platform/client/call.ts';
import { createPlatformClient, type PlatformOptions } from '../../../lib/platform/client/client.ts';
import { acknowledged, reading } from '../../../lib/platform/client/operation.ts';
import { PlatformError } from '../../../lib/platform/client/platform-error.ts';
import type { CallReport } from '../../../lib/runtime/telemetry/call-report.ts';
import { unpaced } from './rate-limit/unpaced.ts';

/** A request as it arrived; `path` is without the query. */
export type Arrived = {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingMessage['headers'];
  body: string;
};

type Answer = { status?: number; headers?: Record<string, string>; body?: string | Buffer };

/** An HTTP server that reads each request whole, remembers it, and answers the nth as told. */
export const answering = async (
  answerTo: (arrived: Arrived, index: number) => Answer | Promise<Answer> = () => ({ body: '{}' }),
) => {
  const requests: Arrived[] = [];
  const { url, connections, sockets } = await handling(async (request, response) => {
    const body = (await buffer(request)).toString();
    const { pathname, searchParams } = new URL(request.url!, 'http://any');
    const query = Object.fromEntries(searchParams);
    const arrived = { method: request.method!, path: pathname, query, headers: request.headers, body };
    requests.push(arrived);
    const answer = await answerTo(arrived, requests.length - 1);
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body ?? '');
  });
  return { url, requests, connections, sockets };
};

/** An HTTP server with a handler of one's own; `connections` counts those that were ever opened. */
export const handling = async (handler: (request: IncomingMessage, response: ServerResponse) => void) => {
  const server = createServer(handler);
  return { ...(await listening(server)), closeIdle: () => server.closeIdleConnections() };
};

/** A TCP server that says what it likes; `started` is called with each connection's first bytes. */
export const raw = (started: (socket: Socket, first: Buffer) => void) =>
  listening(createRawServer((socket) => socket.once('data', (first) => started(socket, first))));

const listening = async (server: Server) => {
  const sockets = new Set<Socket>();
  const opened = { count: 0 };
  server.on('connection', (socket: Socket) => {
    opened.count += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, sockets, connections: () => opened.count };
};

/** An address where nobody listens. */
export const nobody = async (): Promise<string> => {
  const server = createRawServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
};

export const credential = {
  type: 'id-key' as const,
  appId: 'the-app',
  appKey: 'the-app-key',
  userId: '7',
  userKey: 'the-user-key',
};

export const fixedCredentials: Credentials = {
  read: async () => ({ credential, version: '1' }),
  refuse: () => {},
};

/** What the client of most tests is made with. */
export const clientOptions = (baseUrl: string): PlatformOptions => ({
  baseUrl,
  apiRoot: '/svc/api',
  versions: { lp: '1.49', le: '1.82' },
  overrides: {},
  connectTimeoutMs: 2_000,
  headersTimeoutMs: 5_000,
  bodyTimeoutMs: 5_000,
  // Else whoever calls again after a refusal waits for a turn, up to minutes.
  rateLimiter: unpaced,
});

/** The client at an address, with what every call reported. */
export const clientAt = (
  baseUrl: string,
  {
    credentials = fixedCredentials,
    nowMs = Date.now,
    operations,
    ...options
  }: Partial<PlatformOptions> &
    Pick<CallContext, 'operations'> & { credentials?: Credentials; nowMs?: () => number } = {},
) => {
  const client = createPlatformClient(
    { ...clientOptions(baseUrl), ...options },
    createAuthenticator(credentials, nowMs),
  );
  onTestFinished(() => client.close());
  const reports: CallReport[] = [];
  const platformOf = (actor?: string, signal: AbortSignal = new AbortController().signal) =>
    client.for({
      actor,
      signal,
      onCall: (report) => void reports.push(report),
      ...(operations && { operations }),
    });
  return { client, platform: platformOf(), platformOf, reports };
};

const declared = { call: 'POST /lp/things/{id}', scope: undefined } as const;
const answer = z.looseObject({ Id: z.number() });

/** One operation of each sort, for what holds of all of them. */
export const operations = {
  repeatable: acknowledged({ ...declared, name: 'set-thing', call: 'PUT /lp/things/{id}', repeatable: true }),
  once: acknowledged({ ...declared, name: 'add-thing' }),
  read: reading({ ...declared, name: 'read-thing', call: 'GET /lp/things/{id}', answer }),
  readOnce: reading({ ...declared, name: 'make-thing', answer }),
};

/** The error with which a call of the platform must fail. */
export const errorOf = async (call: Promise<unknown>): Promise<PlatformError> => {
  const error = await call.then(
    () => new Error('the call succeeded'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof PlatformError) return error;
  throw error;
};

/** Everything that can be reached from a value, hidden properties, getters and causes included. */
export const everythingOf = (value: unknown): string => {
  const seen = new Set<unknown>();
  const words: string[] = [inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true })];
  const walk = (each: unknown): void => {
    if (typeof each === 'string') words.push(each);
    if (Buffer.isBuffer(each)) words.push(each.toString());
    if (each === null || typeof each !== 'object' || seen.has(each)) return;
    seen.add(each);
    for (const name of Reflect.ownKeys(each)) walk((each as Record<PropertyKey, unknown>)[name]);
  };
  walk(value);
  return words.join('\n');
};
