import { Client, type Dispatcher, Pool } from 'undici';
import { PlatformError } from './error.ts';
import type { Operation } from './operation.ts';
import { codeOf, isNeverConnected, reasonOf } from './silence.ts';

/** A body of known size, whole or as a stream; `complete` tells whether a stream was handed over to its last byte. */
export type Payload = {
  contentType: string;
  contentLength: number;
  body: Buffer | AsyncIterable<Uint8Array>;
  complete?(): boolean;
};

type Outgoing = {
  operation: Operation<unknown>;
  /** `METHOD /path`, for errors. */
  call: string;
  /** With its query, the proof included. */
  path: string;
  headers: Record<string, string>;
  payload: Payload | undefined;
};

/** Reads an answer, of which the status and the headers are there and the body comes. */
type Receive<Received> = (answer: Dispatcher.ResponseData) => Promise<Received>;

export type ExchangeOptions = {
  baseUrl: string;
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
};

/** The longest that an idle connection is trusted, in milliseconds: shorter than the common servers' own limits. */
const keepAliveMs = 4_000;

/** Sends one request and has its answer read, whatever its status. Redirects are answers like any other. */
export const createExchange = (options: ExchangeOptions) => {
  const settings = {
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    // Else a server's own hint may make it ten minutes.
    keepAliveMaxTimeout: keepAliveMs,
    // One call a connection: else a lost connection takes all calls on it along, and which of them were acted on is not told.
    allowH2: false,
    connect: { timeout: options.connectTimeoutMs },
  };
  let pool = new Pool(options.baseUrl, settings);
  let underWay = 0;
  let idleSinceMs = Date.now();

  /**
   * A frozen function notices only after its next request that the platform has closed the idle connection, and cannot
   * tell that from a lost answer. So connections that may have been idle for too long are not used at all.
   */
  const trustedPool = (): Pool => {
    if (underWay === 0 && Date.now() - idleSinceMs > keepAliveMs) {
      void pool.destroy();
      pool = new Pool(options.baseUrl, settings);
    }
    return pool;
  };

  const viaPool = async <Received>(
    outgoing: Outgoing,
    receive: Receive<Received>,
    signal: AbortSignal,
  ): Promise<Received> => {
    const dispatcher = trustedPool();
    underWay += 1;
    try {
      return await roundTrip(dispatcher, outgoing, { receive, signal, connected: () => true });
    } finally {
      underWay -= 1;
      idleSinceMs = Date.now();
    }
  };

  /** A call that must not be sent twice gets a connection of its own: a cut is then never that of a stale one. */
  const viaOwnConnection = async <Received>(
    outgoing: Outgoing,
    receive: Receive<Received>,
    signal: AbortSignal,
  ): Promise<Received> => {
    const client = new Client(options.baseUrl, settings);
    let connected = false;
    client.once('connect', () => {
      connected = true;
    });
    try {
      return await roundTrip(client, outgoing, { receive, signal, connected: () => connected });
    } finally {
      void client.destroy();
    }
  };

  const exchange = <Received>(
    outgoing: Outgoing,
    receive: Receive<Received>,
    signal: AbortSignal,
  ): Promise<Received> =>
    outgoing.operation.repeatable
      ? viaPool(outgoing, receive, signal)
      : viaOwnConnection(outgoing, receive, signal);
  return Object.assign(exchange, { close: () => pool.destroy() });
};

const roundTrip = async <Received>(
  dispatcher: Dispatcher,
  outgoing: Outgoing,
  context: { receive: Receive<Received>; signal: AbortSignal; connected(): boolean },
): Promise<Received> => {
  const { operation, call, path, headers, payload } = outgoing;
  const { signal } = context;
  if (signal.aborted)
    throw new PlatformError({ operation, call, sent: false, message: reasonOf(codeOf(signal.reason)) });
  const source = payload && watched(payload.body);
  try {
    const answering = dispatcher.request({
      method: operation.method,
      path,
      headers: payload
        ? { ...headers, 'content-type': payload.contentType, 'content-length': String(payload.contentLength) }
        : headers,
      // undici takes any async iterable; its types name Readable only.
      body: (source?.body as Buffer | undefined) ?? null,
      signal,
    });
    return await context.receive(await unlessAborted(answering, signal));
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    // A file that cannot be read to its end is not the platform's silence, and nor is a call that undici will not make.
    if (source?.broken()) throw source.broken();
    const code = codeOf(error);
    if (code === 'UND_ERR_INVALID_ARG') throw error;
    const sent = context.connected() && !isNeverConnected(code) && (payload?.complete?.() ?? true);
    // Without its cause: a parser's error holds the answer's bytes, which may repeat the query.
    throw new PlatformError({ operation, call, sent, message: reasonOf(code) });
  }
};

/** undici obeys a signal only once it is connected, which may be seconds after the attempt's time is over. */
const unlessAborted = <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort));
};

/** A body that remembers the error with which it ended, if it did. */
const watched = (body: Payload['body']) => {
  if (Buffer.isBuffer(body)) return { body, broken: () => undefined };
  let error: unknown;
  const source = body;
  const watching = async function* () {
    try {
      yield* source;
    } catch (thrown) {
      error = thrown;
      throw thrown;
    }
  };
  return { body: watching(), broken: () => error };
};

/** A body that is there as a whole. */
export const wholePayload = (text: string, contentType: string): Payload => {
  const body = Buffer.from(text);
  return { contentType, contentLength: body.length, body };
};
