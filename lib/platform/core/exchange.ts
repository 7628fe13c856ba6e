import { Client, type Dispatcher, Pool } from 'undici';
import { codeOf, reasonOf } from './connection-error.ts';
import type { Operation } from './operation.ts';
import { PlatformError } from './platform-error.ts';
import { type Answer, type Headers, maximumAnswerBytes, receive } from './receive-answer.ts';

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
  /** With its query, signatures included. */
  path: string;
  headers: Record<string, string>;
  payload: Payload | undefined;
  /** Told what heads the answer, when it comes. */
  onHead?(status: number, headers: Headers): void;
};

/** Reads an answer, of which the status and the headers are there and the body comes. */
type Read<Result> = (answer: Dispatcher.ResponseData) => Promise<Result>;

export type ExchangeOptions = {
  baseUrl: string;
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  /** Of a success; more of it is not read. */
  maximumAnswerBytes?: number;
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
  const pooled = (): Connection => {
    if (underWay === 0 && Date.now() - idleSinceMs > keepAliveMs) {
      void pool.destroy();
      pool = new Pool(options.baseUrl, settings);
    }
    underWay += 1;
    return { dispatcher: pool, release: backToPool };
  };
  const backToPool = (): void => {
    underWay -= 1;
    idleSinceMs = Date.now();
  };

  /** A call that must not be sent twice gets a connection of its own: a cut is then never that of a stale one. */
  const own = (): Connection => {
    const dispatcher = new Client(options.baseUrl, settings);
    // Not while undici is still at its last answer.
    return { dispatcher, release: () => queueMicrotask(() => void dispatcher.destroy()) };
  };

  return {
    /** @throws PlatformError where no answer comes. */
    send: (outgoing: Outgoing, signal: AbortSignal): Promise<Answer> => {
      const { operation, onHead } = outgoing;
      const { dispatcher, release } = operation.repeatable ? pooled() : own();
      const { request, onStart, errorOf } = prepared(outgoing);
      return new Promise((resolve, reject) =>
        receive(dispatcher, request, {
          maximumBytes: options.maximumAnswerBytes ?? maximumAnswerBytes,
          signal,
          onStart,
          onHead,
          onAnswer: (answer) => {
            release();
            resolve(answer.cutBy === undefined ? answer : { ...answer, cutBy: errorOf(answer.cutBy) });
          },
          onError: (error) => {
            release();
            reject(errorOf(error));
          },
        }),
      );
    },
    /** The answer is read while it comes. */
    stream: async <Result>(outgoing: Outgoing, read: Read<Result>, signal: AbortSignal): Promise<Result> => {
      const { dispatcher, release } = pooled();
      const { request, onStart, errorOf } = prepared(outgoing);
      try {
        signal.throwIfAborted();
        onStart();
        const answer = await unlessAborted(dispatcher.request({ ...request, signal }), signal);
        outgoing.onHead?.(answer.statusCode, answer.headers);
        return await read(answer);
      } catch (error) {
        throw errorOf(error);
      } finally {
        release();
      }
    },
    close: () => pool.destroy(),
  };
};

type Connection = { dispatcher: Dispatcher; release(): void };

/** A request as undici takes it, and what is to be said where no answer to it comes. */
const prepared = ({ operation, call, path, headers, payload }: Outgoing) => {
  const source = payload && !Buffer.isBuffer(payload.body) ? watched(payload.body) : undefined;
  let started = false;
  return {
    request: {
      method: operation.method,
      path,
      headers: {
        ...headers,
        // Without it, any encoding may come, such as gzip.
        'accept-encoding': 'identity',
        ...(payload && {
          'content-type': payload.contentType,
          'content-length': String(payload.contentLength),
        }),
      },
      // undici takes any async iterable; its types name Readable only.
      body: ((source?.body ?? payload?.body) as Buffer | undefined) ?? null,
    },
    onStart: (): void => {
      started = true;
    },
    errorOf: (error: unknown): unknown => {
      if (error instanceof PlatformError) return error;
      // A file that cannot be read to its end is not the platform's silence, and nor is a call that undici will not make.
      if (source?.broken()) return source.broken();
      const code = codeOf(error);
      if (code === 'UND_ERR_INVALID_ARG') return error;
      const sent = started && (payload?.complete?.() ?? true);
      // Without its cause: a parser's error holds the answer's bytes, which may repeat the query.
      return new PlatformError({ operation, call, sent, message: reasonOf(code) });
    },
  };
};

/** undici obeys a signal only once it is connected, which may be seconds after the attempt's time is over. */
const unlessAborted = <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort));
};

/** A body that remembers the error with which it ended, if it did. */
const watched = (source: AsyncIterable<Uint8Array>) => {
  let error: unknown;
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
