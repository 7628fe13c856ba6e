import { type Dispatcher, Pool } from 'undici';

/** An answer as it came, whatever its status. */
export type HttpAnswer = { status: number; headers: Headers; body: Buffer };

/** By their names in lower case. */
export type Headers = Record<string, string | string[] | undefined>;

export type ExchangeOptions = {
  /** Scheme, host and port. */
  origin: string;
  connectTimeoutMs: number;
  /** From handing the request over until the end of its answer. */
  timeoutMs: number;
};

type Sent = {
  path: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal | undefined;
};

/**
 * For how long an idle connection is used again, in milliseconds. A call that finds its connection lost all the same is sent
 * once more: it does no harm, and a new connection costs ten times the CPU of a call.
 */
const keepAliveMs = 20_000;

/** An item has 400 KB at most; JSON can make six of one byte. */
const maxAnswerBytes = 4 * 1024 ** 2;

/** By what they are made of: clients of one process that ask alike use the same connections. */
const exchanges = new Map<string, ReturnType<typeof createExchange>>();

/** Sends single requests on connections that are kept, also for the next client of the same origin. */
export const exchangeWith = (options: ExchangeOptions): ReturnType<typeof createExchange> => {
  const key = JSON.stringify(options);
  const exchange = exchanges.get(key) ?? createExchange(options);
  exchanges.set(key, exchange);
  return exchange;
};

const createExchange = ({ origin, connectTimeoutMs, timeoutMs }: ExchangeOptions) => {
  const settings = {
    // One timer for the whole of a try is cheaper, and exact.
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

  /** A function that was frozen notices only with its next request that its connections were closed meanwhile: it takes new ones. */
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
    /** @throws where no whole answer comes, with the names and codes that the SDK's own errors have. */
    send: ({ signal, ...request }: Sent): Promise<HttpAnswer> =>
      dispatch({ method: 'POST', ...request }, signal),
    /** Opens a connection by what needs no signature: DynamoDB tells there whether it is well. */
    open: (): Promise<HttpAnswer> => dispatch({ method: 'GET', path: '/' }),
  };
};

/** Whoever sends a call without harm twice may send it again after such an error. */
export const noAnswer = (message: string, more: { name?: string; code?: string } = {}): Error =>
  Object.assign(new Error(message), { ...more, $retryable: {}, $metadata: {} });

const timeoutError = (ms: number): Error => noAnswer(`no answer within ${ms} ms`, { name: 'TimeoutError' });

const abortError = (): Error =>
  Object.assign(new Error('the call was aborted'), { name: 'AbortError', $metadata: {} });

/** Without its cause: a parser's error holds the answer's bytes. */
const lostAnswer = (error: Error, connectTimeoutMs: number): Error => {
  const code = 'code' in error ? String(error.code) : error.name;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return timeoutError(connectTimeoutMs);
  // What Node calls it when the other side hangs up.
  return noAnswer(`no answer (${code})`, { code: code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : code });
};
