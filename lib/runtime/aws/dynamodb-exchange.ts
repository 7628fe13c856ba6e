import type { Dispatcher } from 'undici';
import { KeptConnections } from './kept-connections.ts';
import { type HttpAnswer, receive } from './receive-answer.ts';

/**
 * A call whose connection was lost is sent once more: that does no harm, and a new connection costs ten times the CPU of a call. So
 * an idle connection is kept for longer than one to the platform.
 */
const keepAliveMs = 20_000;
/** An item has 400 KB at most; JSON can turn one byte into six. */
const maxBytes = 4 * 1024 ** 2;

type Times = {
  connectTimeoutMs: number;
  /** From the start of a request to the end of its answer. */
  timeoutMs: number;
};

/** Sends single requests. @throws with the names and codes of the SDK's own errors if no complete answer comes. */
export const createDynamoDbExchange = (origin: string, { connectTimeoutMs, timeoutMs }: Times) => {
  // One timer for a whole try is cheaper, and exact.
  const times = { keepAliveMs, connectTimeoutMs, headersTimeoutMs: 0, bodyTimeoutMs: 0 };
  const connections = new KeptConnections(origin, times);

  return async (request: Dispatcher.DispatchOptions, signal?: AbortSignal): Promise<HttpAnswer> => {
    const ending = new AbortController();
    const timer = setTimeout(
      () => ending.abort(named('TimeoutError', `no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const abort = (): void => ending.abort(named('AbortError', 'the call was aborted'));
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    const limits = { maximumBytes: maxBytes, maximumErrorBytes: maxBytes, signal: ending.signal };
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    receive(connections.take(), request, { ...limits, onAnswer: resolve, onError: reject });
    try {
      const answer = await promise;
      if (answer.cutBy !== undefined) throw answer.cutBy;
      return answer;
    } catch (error) {
      throw '$metadata' in (error as Error) ? error : lostBy(error as Error);
    } finally {
      connections.release();
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  };
};

const named = (name: string, message: string): Error =>
  Object.assign(new Error(message), { name, $metadata: {} });

/** Without its cause: a parser's error holds the answer's bytes. */
const lostBy = (error: Error): Error => {
  const code = 'code' in error ? String(error.code) : error.name;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return named('TimeoutError', 'no connection in time');
  // Node's code for a connection that the other side closed. A call that may be sent twice can be sent again.
  const lost = { code: code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : code, $retryable: {}, $metadata: {} };
  return Object.assign(new Error(`no answer (${code})`), lost);
};
