import { type Dispatcher, Pool } from 'undici';

/** An answer as it came, whatever its status. */
export type HttpAnswer = { status: number; headers: Headers; body: Buffer };

/** By their names in lower case. */
export type Headers = Record<string, string | string[] | undefined>;

export type ExchangeOptions = {
  /** Scheme, host and port. */
  origin: string;
  connectTimeoutMs: number;
  /** From the start of the request to the end of its answer. */
  timeoutMs: number;
};

type Sent = {
  path: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal | undefined;
};

/**
 * Time for which an idle connection is reused, in milliseconds. A call whose connection was lost is sent once more: that does no
 * harm, and a new connection costs ten times the CPU of a call.
 */
const keepAliveMs = 20_000;

/** An item has 400 KB at most; JSON can turn one byte into six. */
const maxAnswerBytes = 4 * 1024 ** 2;

/** By their options: clients of one process with the same options share connections. */
const exchanges = new Map<string, ReturnType<typeof createExchange>>();

/** Sends single requests on kept connections, which the next client of the same origin reuses. */
export const exchangeWith = (options: ExchangeOptions): ReturnType<typeof createExchange> => {
  const key = JSON.stringify(options);
  const exchange = exchanges.get(key) ?? createExchange(options);
  exchanges.set(key, exchange);
  return exchange;
};

const createExchange = ({ origin, connectTimeoutMs, timeoutMs }: ExchangeOptions) => {
  const settings = {
    // One timer for a whole try is cheaper, and exact.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    // Otherwise a server's own hint may make it ten minutes.
    keepAliveMaxTimeout: keepAliveMs,
    allowH2: false,
    connect: { timeout: connectTimeoutMs },
  };
  let pool = new Pool(origin, settings);
  let underWay = 0;
  let idleSinceMs = Date.now();

  /** A function that was frozen notices only with its next request that its connections were closed: it opens new ones. */
  const fresh = (): Pool => {
    if (underWay === 0 && Date.now() - idleSinceMs > keepAliveMs) {
      void pool.destroy();
      pool = new Pool(origin, settings);
    }
    return pool;
  };

  const dispatch = (request: Dispatcher.DispatchOptions, signal?: AbortSignal): Promise<HttpAnswer> =>
    new Promise((resolve, reject) => {
      const dispatcher = fresh();
      underWay += 1;
      let control: Dispatcher.DispatchController | undefined;
      let isOver = false;
      let bytes = 0;
      const answer: HttpAnswer = { status: 0, headers: {}, body: Buffer.alloc(0) };
      const pieces: Buffer[] = [];
      const end = (settle: () => void): void => {
        if (isOver) return;
        isOver = true;
        underWay -= 1;
        idleSinceMs = Date.now();
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        settle();
      };
      const fail = (error: Error): void => {
        end(() => reject(error));
        control?.abort(error);
      };
      const abort = (): void => fail(abortError());
      const timer = setTimeout(() => fail(timeoutError(timeoutMs)), timeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      if (signal?.aborted) return abort();
      dispatcher.dispatch(request, {
        onRequestStart: (controller) => {
          // Its time was over before it had a connection.
          if (isOver) return controller.abort(abortError());
          control = controller;
        },
        onResponseStart: (_, status, headers) => {
          // An informational response is not the answer.
          if (status >= 200) Object.assign(answer, { status, headers });
        },
        onResponseData: (_, piece) => {
          bytes += piece.length;
          if (bytes > maxAnswerBytes) fail(noAnswer('an answer that is too long'));
          else pieces.push(piece);
        },
        onResponseEnd: () =>
          end(() => {
            const [first = answer.body] = pieces;
            resolve({ ...answer, body: pieces.length > 1 ? Buffer.concat(pieces) : first });
          }),
        onResponseError: (_, error) => end(() => reject(lostAnswer(error, connectTimeoutMs))),
      });
    });

  return {
    /** @throws if no complete answer comes, with the names and codes of the SDK's own errors. */
    send: ({ signal, ...request }: Sent): Promise<HttpAnswer> =>
      dispatch({ method: 'POST', ...request }, signal),
    /** Opens a connection with a request that needs no signature: DynamoDB answers it with its health. */
    open: (): Promise<HttpAnswer> => dispatch({ method: 'GET', path: '/' }),
  };
};

/** A call that may be sent twice can be sent again after such an error. */
export const noAnswer = (message: string, more: { name?: string; code?: string } = {}): Error =>
  Object.assign(new Error(message), { ...more, $retryable: {}, $metadata: {} });

const timeoutError = (ms: number): Error => noAnswer(`no answer within ${ms} ms`, { name: 'TimeoutError' });

const abortError = (): Error =>
  Object.assign(new Error('the call was aborted'), { name: 'AbortError', $metadata: {} });

/** Without its cause: a parser's error holds the answer's bytes. */
const lostAnswer = (error: Error, connectTimeoutMs: number): Error => {
  const code = 'code' in error ? String(error.code) : error.name;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return timeoutError(connectTimeoutMs);
  // Node's code for a connection that the other side closed.
  return noAnswer(`no answer (${code})`, { code: code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : code });
};
