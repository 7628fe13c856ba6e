import { type Dispatcher, Pool } from 'undici';

/** An answer as it came, whatever its status; header names are in lower case. */
export type HttpAnswer = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
};

/** `timeoutMs`: from the start of the request to the end of its answer. */
type Times = { connectTimeoutMs: number; timeoutMs: number };

/**
 * Time for which an idle connection is reused, in milliseconds. A call whose connection was lost is sent once more: that does no
 * harm, and a new connection costs ten times the CPU of a call.
 */
const keepAliveMs = 20_000;

/** An item has 400 KB at most; JSON can turn one byte into six. */
const maxAnswerBytes = 4 * 1024 ** 2;

/**
 * Sends single requests to a scheme, host and port on kept connections. It throws if no complete answer comes, with the names and
 * codes of the SDK's own errors.
 */
export const createExchange = (origin: string, { connectTimeoutMs, timeoutMs }: Times) => {
  const newPool = (): Pool =>
    new Pool(origin, {
      // One timer for a whole try is cheaper, and exact.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      // Otherwise a server's own hint may make it ten minutes.
      keepAliveMaxTimeout: keepAliveMs,
      allowH2: false,
      connect: { timeout: connectTimeoutMs },
    });
  let pool = newPool();
  let underWay = 0;
  let idleSinceMs = Date.now();

  return async (request: Dispatcher.DispatchOptions, signal?: AbortSignal): Promise<HttpAnswer> => {
    // A function that was frozen notices only with its next request that its connections were closed.
    if (underWay === 0 && Date.now() - idleSinceMs > keepAliveMs) {
      void pool.destroy();
      pool = newPool();
    }
    underWay += 1;
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(timeoutError(timeoutMs)), timeoutMs);
    const abort = (): void => ending.abort(abortError());
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    try {
      return await receive(pool, request, ending.signal);
    } catch (error) {
      throw lostAnswer(error as Error, connectTimeoutMs);
    } finally {
      underWay -= 1;
      idleSinceMs = Date.now();
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  };
};

/** The chunks come directly from undici: a stream for each answer would cost a third of the call. */
const receive = (pool: Pool, request: Dispatcher.DispatchOptions, ending: AbortSignal): Promise<HttpAnswer> =>
  new Promise((resolve, reject) => {
    ending.throwIfAborted();
    const answer: HttpAnswer = { status: 0, headers: {}, body: Buffer.alloc(0) };
    const pieces: Buffer[] = [];
    let bytes = 0;
    pool.dispatch(request, {
      onRequestStart: (control) => {
        const stop = (): void => control.abort(ending.reason);
        // Its time was over before it had a connection.
        if (ending.aborted) stop();
        else ending.addEventListener('abort', stop);
      },
      onResponseStart: (_, status, headers) => {
        // An informational response is not the answer.
        if (status >= 200) Object.assign(answer, { status, headers });
      },
      onResponseData: (control, piece) => {
        bytes += piece.length;
        if (bytes > maxAnswerBytes) control.abort(noAnswer('an answer that is too long'));
        else pieces.push(piece);
      },
      onResponseEnd: () => {
        const [first = answer.body] = pieces;
        resolve({ ...answer, body: pieces.length > 1 ? Buffer.concat(pieces) : first });
      },
      onResponseError: (_, error) => reject(error),
    });
    ending.addEventListener('abort', () => reject(ending.reason));
  });

/** A call that may be sent twice can be sent again after such an error. */
export const noAnswer = (message: string, more: { name?: string; code?: string } = {}): Error =>
  Object.assign(new Error(message), { ...more, $retryable: {}, $metadata: {} });

const timeoutError = (ms: number): Error => noAnswer(`no answer within ${ms} ms`, { name: 'TimeoutError' });

const abortError = (): Error =>
  Object.assign(new Error('the call was aborted'), { name: 'AbortError', $metadata: {} });

/** Without its cause: a parser's error holds the answer's bytes. */
const lostAnswer = (error: Error, connectTimeoutMs: number): Error => {
  if ('$metadata' in error) return error;
  const code = 'code' in error ? String(error.code) : error.name;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return timeoutError(connectTimeoutMs);
  // Node's code for a connection that the other side closed.
  return noAnswer(`no answer (${code})`, { code: code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : code });
};
