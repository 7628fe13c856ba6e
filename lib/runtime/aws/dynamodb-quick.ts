import { ServiceException } from '@smithy/core/client';
import { HttpResponse, loadJsonRpcErrorCode } from '@smithy/core/protocols';
import { DEFAULT_MAX_ATTEMPTS, retryMiddleware, StandardRetryStrategy } from '@smithy/core/retry';
import type { ClientOptions } from './clients.ts';
import type { DynamoDb, DynamoDbOutput } from './dynamodb.ts';
import { createDynamoDbExchange } from './dynamodb-exchange.ts';
import { createSigner } from './dynamodb-signer.ts';
import { tracedCall } from './error.ts';
import { memoize } from './memoize.ts';
import type { HttpAnswer } from './receive-answer.ts';

export type QuickDynamoDb = DynamoDb & {
  /** By how much our clock certainly differs from that of the last answer, to a second, however long reading took. */
  clockDiffersByMs(): number;
  /** Opens a connection before it is needed. It never fails, and nothing waits for it. */
  warm(): void;
};

/**
 * DynamoDB on a message's way. A call by the SDK's client takes three times the CPU, so only parts of the SDK are used: credentials,
 * signature, names of errors, and which of them are tried again and when.
 */
export const createQuickDynamoDb = (options: ClientOptions = {}): QuickDynamoDb => {
  const { connectionTimeout = 5_000, requestTimeout = 15_000 } = options.requestHandler ?? {};
  const times = { connectTimeoutMs: connectionTimeout, timeoutMs: requestTimeout };
  const retrying = retryingUpTo(options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS);
  const connected = memoize(async () => {
    const { origin, signed } = await createSigner(options);
    return { signed, exchange: createDynamoDbExchange(origin, times) };
  });
  let clockDiffersByMs = 0;

  const attempt = async (action: string, body: string, signal?: AbortSignal): Promise<DynamoDbOutput> => {
    const { signed, exchange } = await connected();
    const request = await signed(action, body);
    const sentMs = Date.now();
    const answer = await exchange(request, signal);
    clockDiffersByMs = differenceIn(answer, sentMs);
    const json = jsonIn(answer);
    if (json === undefined || answer.status >= 300) throw refusalIn(answer, json);
    return json;
  };

  return {
    call: (action, input, { signal } = {}) =>
      tracedCall({ clientName: 'DynamoDBClient', commandName: action }, input, () => {
        const body = JSON.stringify(input);
        return retrying(() => attempt(action, body, signal), signal);
      }),
    clockDiffersByMs: () => clockDiffersByMs,
    warm: () =>
      void connected()
        .then(({ exchange }) => exchange({ method: 'GET', path: '/' }))
        .catch(() => {}),
  };
};

/** The SDK's value for DynamoDB. */
const backoffMs = 25;

/** Tries again as the SDK's clients do. */
const retryingUpTo = (maxAttempts: number) => {
  const strategy = new StandardRetryStrategy({ maxAttempts, baseDelay: backoffMs });
  const middleware = retryMiddleware({
    maxAttempts: async () => maxAttempts,
    retryStrategy: async () => strategy,
  });
  const firstToken = strategy.acquireInitialRetryToken('');
  return async (
    attempt: () => Promise<DynamoDbOutput>,
    signal: AbortSignal | undefined,
  ): Promise<DynamoDbOutput> => {
    try {
      const answer = await attempt();
      strategy.recordSuccess(await firstToken);
      return answer;
    } catch (error) {
      // The SDK's code is needed only after a failure: without one, it takes a tenth of the call.
      let tries = 0;
      const next = async () => {
        tries += 1;
        if (tries === 1) throw error;
        return { response: undefined, output: { $metadata: {}, answer: await attempt() } };
      };
      const handler = middleware(next, { __smithy_context: signal ? { abortSignal: signal } : {} });
      return (await handler({ input: {}, request: undefined })).output.answer;
    }
  };
};

type Json = DynamoDbOutput & { message?: string };

/** Undefined if another system has answered, such as a proxy. */
const jsonIn = ({ text }: HttpAnswer): Json | undefined => {
  try {
    const json: unknown = JSON.parse(text || '{}');
    return typeof json === 'object' && json !== null ? json : undefined;
  } catch {
    return undefined;
  }
};

/** Without what another system says. */
const refusalIn = ({ status, headers }: HttpAnswer, json: Json | undefined): ServiceException => {
  const response = new HttpResponse({ statusCode: status, headers: headers as Record<string, string> });
  const error = new ServiceException({
    name: loadJsonRpcErrorCode(response, json) ?? (json ? 'Unknown' : 'SyntaxError'),
    message: json?.message ?? 'UnknownError',
    $fault: status < 500 ? 'client' : 'server',
    $metadata: { httpStatusCode: status },
  });
  return Object.assign(error, json?.Item && { Item: json.Item });
};

/** Nonzero if our clock was past the answer's date before the request, or not there yet after the answer. */
const differenceIn = ({ headers: { date, age } }: HttpAnswer, sentMs: number): number => {
  // An answer from a cache is older.
  const dateMs = age === undefined ? Date.parse(String(date)) : Number.NaN;
  return Math.max(sentMs - dateMs, dateMs - Date.now(), 0) || 0;
};
