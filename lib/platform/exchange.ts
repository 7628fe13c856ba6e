import { Client, type Dispatcher, Pool } from 'undici';
import { type AnswerText, readAnswer } from './answer.ts';
import { PlatformError } from './error.ts';
import type { Operation } from './operation.ts';

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

type Incoming = AnswerText & { status: number; headers: Record<string, string | string[] | undefined> };

export type ExchangeOptions = {
  baseUrl: string;
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
};

/** The longest that an idle connection is trusted, in milliseconds: shorter than the common servers' own limits. */
const keepAliveMs = 4_000;

/** Sends one request and reads its answer, whatever its status. Redirects are answers like any other. */
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

  const viaPool = async (outgoing: Outgoing, signal: AbortSignal): Promise<Incoming> => {
    const dispatcher = trustedPool();
    underWay += 1;
    try {
      return await roundTrip(dispatcher, outgoing, { signal, connected: () => true });
    } finally {
      underWay -= 1;
      idleSinceMs = Date.now();
    }
  };

  /** A call that must not be sent twice gets a connection of its own: a cut is then never that of a stale one. */
  const viaOwnConnection = async (outgoing: Outgoing, signal: AbortSignal): Promise<Incoming> => {
    const client = new Client(options.baseUrl, settings);
    let connected = false;
    client.once('connect', () => {
      connected = true;
    });
    try {
      return await roundTrip(client, outgoing, { signal, connected: () => connected });
    } finally {
      void client.destroy();
    }
  };

  const exchange = (outgoing: Outgoing, signal: AbortSignal): Promise<Incoming> =>
    outgoing.operation.repeatable ? viaPool(outgoing, signal) : viaOwnConnection(outgoing, signal);
  return Object.assign(exchange, { close: () => pool.destroy() });
};

const roundTrip = async (
  dispatcher: Dispatcher,
  outgoing: Outgoing,
  context: { signal: AbortSignal; connected(): boolean },
): Promise<Incoming> => {
  const { operation, call, path, headers, payload } = outgoing;
  const source = payload && watched(payload.body);
  try {
    const answer = await dispatcher.request({
      method: operation.method,
      path,
      headers: payload
        ? { ...headers, 'content-type': payload.contentType, 'content-length': String(payload.contentLength) }
        : headers,
      // undici takes any async iterable; its types name Readable only.
      body: (source?.body as Buffer | undefined) ?? null,
      signal: context.signal,
    });
    return { status: answer.statusCode, headers: answer.headers, ...(await readAnswer(answer, outgoing)) };
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    // A file that cannot be read to its end is not the platform's silence, and nor is a call that undici will not make.
    if (source?.broken()) throw source.broken();
    const code = codeOf(error);
    if (code === 'UND_ERR_INVALID_ARG') throw error;
    const sent = context.connected() && !neverConnected.test(code) && (payload?.complete?.() ?? true);
    // Without its cause: a parser's error holds the answer's bytes, which may repeat the query.
    throw new PlatformError({ operation, call, sent, message: reasonOf(code) });
  }
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

/** The code of an error of undici or the system; else its name, as those of a signal have a number for a code. */
const codeOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error && typeof error.code === 'string' ? error.code : error.name) : '';

/** What only the making of a connection ends with. */
const neverConnected =
  /^(UND_ERR_CONNECT_TIMEOUT|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

const reasonOf = (code: string): string => {
  if (neverConnected.test(code)) return `no connection (${code})`;
  if (/TIMEOUT|TimeoutError|AbortError/.test(code)) return `no answer in time (${code})`;
  return `cut off before the answer was complete (${code})`;
};

/** A body that is there as a whole. */
export const wholePayload = (text: string, contentType: string): Payload => {
  const body = Buffer.from(text);
  return { contentType, contentLength: body.length, body };
};
