import { Client, type Dispatcher } from 'undici';
import { connectionFailure } from '../../message/network-errors.ts';
import { connectionSettings, KeptConnections } from '../../runtime/aws/kept-connections.ts';
import { type Headers, type HttpAnswer, maxAnswerBytes, receive } from '../../runtime/aws/receive-answer.ts';
import { errorCode } from '../../runtime/privacy/log-text.ts';
import { type CallFacts, PlatformError } from './platform-error.ts';

/** A body of known size, whole or as a stream; `complete` is true after the stream was handed over to its end. */
export type Payload = {
  contentType: string;
  contentLength: number;
  body: Buffer | AsyncIterable<Uint8Array>;
  complete?(): boolean;
};

type OutgoingCall = CallFacts & {
  /** With its query, signatures included. */
  path: string;
  headers: Record<string, string>;
  payload: Payload | undefined;
  /** Called with the status and headers of the answer. */
  onHead?(status: number, headers: Headers): void;
};

/** Reads an answer whose status and headers have come, and whose body is a stream. */
type ReadAnswer<Result> = (answer: Dispatcher.ResponseData) => Promise<Result>;

export type ExchangeOptions = {
  /** Scheme, host and port of the platform. */
  baseUrl: string;
  connectTimeoutMs: number;
  /** From the end of the request to the answer's headers. */
  headersTimeoutMs: number;
  /** Between two pieces of the answer's body. */
  bodyTimeoutMs: number;
  /** At most this much of a success is read. */
  maxAnswerBytes?: number;
};

/** For how long an idle connection is reused, in milliseconds: less than the usual limit of servers. */
const keepAliveMs = 4_000;

/** Sends one request and reads its answer, whatever its status. Redirects are answers like any other. */
export const createExchange = (options: ExchangeOptions) => {
  const settings = { ...options, keepAliveMs };
  const connections = new KeptConnections(options.baseUrl, settings);
  const pooled = (): Connection => ({ dispatcher: connections.take(), release: () => connections.release() });

  /** A call that must not be sent twice gets a new connection, so that it is never cut off by a stale one. */
  const own = (): Connection => {
    const dispatcher = new Client(options.baseUrl, connectionSettings(settings));
    // Not at once: undici may still be processing the answer.
    return { dispatcher, release: () => queueMicrotask(() => void dispatcher.destroy()) };
  };

  return {
    /** @throws PlatformError if no answer comes. */
    send: (outgoing: OutgoingCall, signal: AbortSignal): Promise<HttpAnswer> => {
      const { operation, onHead } = outgoing;
      const { dispatcher, release } = operation.repeatable ? pooled() : own();
      const { request, onStart, errorOf } = prepared(outgoing);
      return new Promise((resolve, reject) =>
        receive(dispatcher, request, {
          maximumBytes: options.maxAnswerBytes ?? maxAnswerBytes,
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
    stream: async <Result>(
      outgoing: OutgoingCall,
      read: ReadAnswer<Result>,
      signal: AbortSignal,
    ): Promise<Result> => {
      const { dispatcher, release } = pooled();
      const { request, onStart, errorOf } = prepared(outgoing);
      try {
        signal.throwIfAborted();
        onStart();
        const answer = await dispatcher.request({ ...request, signal });
        outgoing.onHead?.(answer.statusCode, answer.headers);
        return await read(answer);
      } catch (error) {
        throw errorOf(error);
      } finally {
        release();
      }
    },
    close: () => connections.close(),
  };
};

type Connection = { dispatcher: Dispatcher; release(): void };

/** A request in undici's form, and the error to throw if no answer comes. */
const prepared = ({ operation, call, path, headers, payload }: OutgoingCall) => {
  const source = payload && !Buffer.isBuffer(payload.body) ? watched(payload.body) : undefined;
  let started = false;
  return {
    request: {
      method: operation.method,
      path,
      headers: {
        ...headers,
        // Otherwise the answer may be encoded, such as by gzip.
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
      // A file that cannot be read to its end, or a request that undici rejects, is not a missing answer of the platform.
      if (source?.broken()) return source.broken();
      const code = errorCode(error);
      if (code === 'UND_ERR_INVALID_ARG') return error;
      const sent = started && (payload?.complete?.() ?? true);
      // Without its cause: a parser's error holds the answer's bytes, which may repeat the query.
      return new PlatformError({ operation, call, sent, message: connectionFailure(code) });
    },
  };
};

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

export const wholePayload = (text: string, contentType: string): Payload => {
  const body = Buffer.from(text);
  return { contentType, contentLength: body.length, body };
};
