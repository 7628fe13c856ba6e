import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { SQSClient } from '@aws-sdk/client-sqs';
import { buildQueryString, type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import { Client, type Dispatcher } from 'undici';
import { serversHere } from '../platform/servers-here.ts';

type Request = { method: string; path: string; headers: [string, string][]; body: Uint8Array | string };
type Answer = { status: number; headers: Record<string, string | string[]>; body: Buffer };

let isOn = false;

const serverAt = (origin: string): Server | undefined => {
  const here = isOn ? serversHere.get(origin) : undefined;
  return here === undefined || here.needsSocket() ? undefined : here.server;
};

/** What a server writes, with its listeners as for a real connection. */
class ResponseHere extends ServerResponse {
  readonly #pieces: Buffer[] = [];
  readonly #onEnd: (answer: Answer) => void;

  constructor(request: IncomingMessage, onEnd: (answer: Answer) => void) {
    super(request);
    this.#onEnd = onEnd;
    // Without a header that was set before, `writeHead` would keep none.
    this.setHeader('Date', '');
    this.removeHeader('Date');
  }

  override write(piece: unknown, encoding?: unknown, done?: unknown): boolean {
    if (!this.headersSent) this.writeHead(this.statusCode);
    this.#pieces.push(
      typeof piece === 'string'
        ? Buffer.from(piece, encoding as BufferEncoding)
        : Buffer.from(piece as Buffer),
    );
    const callback = typeof encoding === 'function' ? encoding : done;
    if (typeof callback === 'function') process.nextTick(callback as () => void);
    return true;
  }

  override end(piece?: unknown, encoding?: unknown): this {
    if (this.finished) return this;
    if (typeof piece === 'string' || Buffer.isBuffer(piece)) this.write(piece, encoding);
    if (!this.headersSent) this.writeHead(this.statusCode);
    this.finished = true;
    const headers = this.getHeaders() as Answer['headers'];
    this.#onEnd({ status: this.statusCode, headers, body: Buffer.concat(this.#pieces) });
    process.nextTick(() => {
      this.emit('finish');
      this.emit('close');
    });
    return this;
  }
}

const lost = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

/** What the server answers. `abandon` is what closes the connection. */
const exchange = (server: Server, { method, path, headers, body }: Request) => {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const socket = { readable: false, destroyed: false, remoteAddress: '127.0.0.1', destroy: () => abandon() };
  const request = new IncomingMessage(socket as unknown as Socket);
  const response = new ResponseHere(request, resolve);
  const abandon = (): void => {
    socket.destroyed = true;
    reject(lost());
    response.emit('close');
  };
  const lower = headers.map(([name, value]) => [name.toLowerCase(), value]);
  Object.assign(request, { method, url: path, headers: Object.fromEntries(lower) });
  if (body.length > 0) request.push(body);
  request.push(null);
  request.complete = true;
  // As a request that comes by a socket, after the code that has sent it.
  setImmediate(() => server.emit('request', request, response));
  return { answer: promise, abandon };
};

/** Undefined: a stream. */
const wholeBody = (body: unknown): string | Uint8Array | undefined =>
  body === undefined || body === null
    ? ''
    : typeof body === 'string' || body instanceof Uint8Array
      ? body
      : undefined;

type Handle = (
  request: HttpRequest,
  options?: { abortSignal?: AbortSignal },
) => Promise<{ response: HttpResponse }>;

const withoutSocket = (bySocket: Handle): Handle =>
  async function (this: unknown, request, options = {}) {
    const { protocol, hostname, port, method, headers } = request;
    const server = serverAt(`${protocol}//${hostname}:${port}`);
    const body = wholeBody(request.body);
    const { abortSignal } = options;
    if (server === undefined || body === undefined || abortSignal?.aborted)
      return bySocket.call(this, request, options);
    const query = buildQueryString(request.query);
    const path = query === '' ? request.path : `${request.path}?${query}`;
    const { answer, abandon } = exchange(server, { method, path, headers: Object.entries(headers), body });
    abortSignal?.addEventListener('abort', abandon, { once: true });
    try {
      const { status: statusCode, headers: given, body: bytes } = await answer;
      const headerPairs = Object.entries(given).map(([name, value]) => [name, `${value}`]);
      // S3's answers are streams for their readers.
      const stream = method === 'GET' ? Readable.from([bytes], { objectMode: false }) : bytes;
      return {
        response: new HttpResponse({ statusCode, headers: Object.fromEntries(headerPairs), body: stream }),
      };
    } catch (error) {
      throw abortSignal?.aborted
        ? Object.assign(new Error('Request aborted'), { name: 'AbortError' })
        : error;
    } finally {
      abortSignal?.removeEventListener('abort', abandon);
    }
  };

type Dispatch = Dispatcher['dispatch'];

const originOf = (dispatcher: object): string | undefined => {
  const key = Object.getOwnPropertySymbols(dispatcher).find(({ description }) => description === 'url');
  const url: unknown = key && Reflect.get(dispatcher, key);
  return url instanceof URL ? url.origin : undefined;
};

const dispatchedHere = (bySocket: Dispatch): Dispatch =>
  function (this: Dispatcher, options, handler) {
    const origin = originOf(this);
    const server = origin === undefined ? undefined : serverAt(origin);
    const body = wholeBody(options.body);
    const { destroyed, closed } = this as unknown as { destroyed: boolean; closed: boolean };
    if (server === undefined || body === undefined || destroyed || closed)
      return bySocket.call(this, options, handler);
    const controller = {
      paused: false,
      aborted: false,
      reason: null as Error | null,
      rawHeaders: [],
      pause: () => undefined,
      resume: () => undefined,
      abort: (reason: Error) => {
        if (controller.aborted) return;
        Object.assign(controller, { aborted: true, reason });
        sent?.abandon();
        handler.onResponseError?.(controller, reason);
      },
    };
    let sent: ReturnType<typeof exchange> | undefined;
    const begin = async (): Promise<void> => {
      handler.onRequestStart?.(controller, {});
      if (controller.aborted) return;
      const headers = Object.entries((options.headers ?? {}) as Record<string, string>);
      const own: [string, string] = ['content-length', String(Buffer.byteLength(body))];
      const { method, path } = options;
      const all: [string, string][] = body.length > 0 ? [own, ...headers] : headers;
      sent = exchange(server, { method, path, headers: all, body });
      try {
        const answer = await sent.answer;
        if (controller.aborted) return;
        handler.onResponseStart?.(controller, answer.status, answer.headers, '');
        if (answer.body.length > 0 && !controller.aborted) handler.onResponseData?.(controller, answer.body);
        if (!controller.aborted) handler.onResponseEnd?.(controller, {});
      } catch (error) {
        if (!controller.aborted) handler.onResponseError?.(controller, error as Error);
      }
    };
    queueMicrotask(begin);
    return true;
  };

/**
 * Whether the clients of AWS' SDK and of undici reach emulators of their own process without HTTP, which takes most of the time of
 * a test. Streams, and what a fault may befall, go by HTTP in any case.
 */
export const useSockets = (bySocket: boolean): void => {
  isOn = !bySocket;
  const base = Object.getPrototypeOf(Client.prototype) as { dispatch: Dispatch };
  if (Object.hasOwn(base, installed)) return;
  Object.defineProperty(base, installed, { value: true });
  base.dispatch = dispatchedHere(base.dispatch);
  // All clients of the SDK share its class, which is a package of its own.
  const { requestHandler } = new SQSClient({ region: 'us-east-1' }).config;
  const sdk = Object.getPrototypeOf(requestHandler) as { handle: Handle };
  sdk.handle = withoutSocket(sdk.handle);
};

const installed = Symbol('without sockets');
