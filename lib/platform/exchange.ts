import { Client, type Dispatcher, Pool } from 'undici';
import { maximumErrorBytes, PlatformError } from './error.ts';
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

type Incoming = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
};

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
    return { status: answer.statusCode, headers: answer.headers, text: await textOf(answer, outgoing) };
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    // A file that cannot be read to its end is not the platform's silence.
    if (source?.broken()) throw source.broken();
    const sent = context.connected() && (payload?.complete?.() ?? true);
    throw new PlatformError({ operation, call, sent, message: reasonOf(error), cause: error });
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

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

const textOf = async (answer: Dispatcher.ResponseData, { operation, call }: Outgoing): Promise<string> => {
  const { statusCode, headers, body } = answer;
  if (!isSuccess(statusCode)) return startOf(body);
  if (/html/i.test(String(headers['content-type'] ?? ''))) {
    await body.dump().catch(() => undefined);
    throw new PlatformError({
      operation,
      call,
      sent: true,
      message: `answered ${statusCode} with an HTML page`,
    });
  }
  if (operation.answer) return body.text();
  // Nothing of it is read, so half of it is as good as the whole: the status has told already.
  await body.dump().catch(() => undefined);
  return '';
};

/** As much of an error's body as can be had, up to the limit: a cut one still names its error. */
const startOf = async (body: Dispatcher.ResponseData['body']): Promise<string> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= maximumErrorBytes) break;
    }
  } catch {
    // What came until the cut is kept.
  }
  return Buffer.concat(pieces).subarray(0, maximumErrorBytes).toString('utf8');
};

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : error instanceof Error ? error.name : '';

const neverConnected =
  /^(UND_ERR_CONNECT_TIMEOUT|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

const reasonOf = (error: unknown): string => {
  const code = codeOf(error);
  if (neverConnected.test(code)) return `no connection (${code})`;
  if (/TIMEOUT|TimeoutError|AbortError/.test(code)) return `no answer in time (${code})`;
  return `cut off before the answer was complete (${code})`;
};

/** A body that is there as a whole. */
export const wholePayload = (text: string, contentType: string): Payload => {
  const body = Buffer.from(text);
  return { contentType, contentLength: body.length, body };
};
