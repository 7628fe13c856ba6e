import { crc32 } from 'node:zlib';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { doesIdentityRequireRefresh, isIdentityExpired } from '@smithy/core';
import { ServiceException } from '@smithy/core/client';
import { memoize } from '@smithy/core/config';
import { HttpResponse, loadJsonRpcErrorCode } from '@smithy/core/protocols';
import {
  DEFAULT_MAX_ATTEMPTS,
  getRetryAfterHint,
  isClockSkewError,
  isThrottlingError,
  isTransientError,
  StandardRetryStrategy,
} from '@smithy/core/retry';
import type { ClientOptions } from './clients.ts';
import { dynamoDbEndpoint } from './dynamodb-endpoint.ts';
import { createExchange, type HttpAnswer, noAnswer } from './dynamodb-exchange.ts';
import { createSigner } from './dynamodb-signer.ts';
import { errorName, tracedCall, unlessError } from './error.ts';
import { once } from './once.ts';

/** DynamoDB's form of a value, as far as it is used here. */
export type AttributeValue = { S: string; N?: undefined } | { N: string; S?: undefined };
export type Attributes = Record<string, AttributeValue>;

type Action =
  | 'GetItem'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'Query'
  | 'Scan'
  | 'BatchGetItem'
  | 'BatchWriteItem';
/** As DynamoDB documents them. */
type Input = Record<string, unknown>;
type Answer = {
  Item?: Attributes;
  Attributes?: Attributes;
  Items?: Attributes[];
  /** Present if there is more. */
  LastEvaluatedKey?: Attributes;
  /** By table. */
  Responses?: Record<string, Attributes[]>;
  UnprocessedKeys?: Record<string, object>;
  UnprocessedItems?: Record<string, object[]>;
};

export type DynamoDb = {
  /** May be sent twice. @throws errors with the SDK's names, which know their call. */
  call(action: Action, input: Input, options?: { signal?: AbortSignal | undefined }): Promise<Answer>;
  /** By how much our clock certainly differs from that of the last answer, to a second, however long reading took. */
  clockDiffersByMs(): number;
  /** Opens a connection before it is needed. It never fails, and nothing waits for it. */
  warm(): void;
};

/** The SDK's value for DynamoDB. */
const backoffMs = 25;
/** The default, as for commands. */
const defaultTimeouts = { connectionTimeout: 5_000, requestTimeout: 15_000 };

/**
 * DynamoDB without the SDK's client, whose calls take three times the CPU. The SDK's own code still decides credentials, region
 * and endpoint, and which errors are retried and when.
 */
export const createDynamoDb = (options: ClientOptions = {}): DynamoDb => {
  const { connectionTimeout, requestTimeout } = options.requestHandler ?? defaultTimeouts;
  const retries = new StandardRetryStrategy({
    maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    baseDelay: backoffMs,
  });
  const credentials = credentialsOf(options);
  /** How far AWS' clock is ahead of ours, once it has refused a call for that. */
  let skewMs = 0;
  let clockDiffersByMs = 0;

  const connected = once(async () => {
    const { url, region } = await dynamoDbEndpoint(options);
    const path = url.pathname.replace(/\/?$/, '/');
    const times = { connectTimeoutMs: connectionTimeout, timeoutMs: requestTimeout };
    return {
      path,
      exchange: createExchange(url.origin, times),
      sign: createSigner({ region, host: url.host, path }),
    };
  });

  const attempt = async (action: Action, body: string, signal?: AbortSignal): Promise<Answer> => {
    const { path, exchange, sign } = await connected();
    const identity = await credentials();
    const usedSkewMs = skewMs;
    const sentMs = Date.now();
    const target = `DynamoDB_20120810.${action}`;
    const headers = sign(identity, { target, body, atMs: sentMs + usedSkewMs });
    const answer = await exchange({ method: 'POST', path, headers, body }, signal);
    clockDiffersByMs = differenceIn(answer, sentMs);
    checkWhole(answer);
    if (answer.status < 300) {
      const json = jsonIn(answer.body);
      if (isObject(json)) return json;
      throw noAnswer('an answer that is not JSON', { name: 'SyntaxError' });
    }
    const error = refusalIn(answer);
    const skewIsMs = dateIn(answer) - Date.now();
    if (Math.abs(skewIsMs - usedSkewMs) >= toleratedSkewMs) {
      skewMs = skewIsMs;
      if (isClockSkewError(error as SdkError)) Object.assign(error.$metadata, { clockSkewCorrected: true });
    }
    throw error;
  };

  const untilAnswered = async (action: Action, body: string, signal?: AbortSignal): Promise<Answer> => {
    let token = await retries.acquireInitialRetryToken('');
    for (;;)
      try {
        const answer = await attempt(action, body, signal);
        retries.recordSuccess(token);
        return answer;
      } catch (error) {
        const next = retries.refreshRetryTokenForRetry(token, retryInfoOf(error));
        const attempts = token.getRetryCount() + 1;
        token = await unlessAborted(next, signal).catch(() => {
          throw withAttempts(error, attempts);
        });
      }
  };

  return {
    call: (action, input, { signal } = {}) =>
      tracedCall({ clientName: 'DynamoDBClient', commandName: action }, input, () =>
        untilAnswered(action, JSON.stringify(input), signal),
      ),
    clockDiffersByMs: () => clockDiffersByMs,
    warm: () =>
      void connected()
        .then(async ({ exchange }) => {
          const sentMs = Date.now();
          clockDiffersByMs = differenceIn(await exchange({ method: 'GET', path: '/' }), sentMs);
        })
        .catch(() => {}),
  };
};

export const attribute = (value: string | number): AttributeValue =>
  typeof value === 'number' ? { N: String(value) } : { S: value };

/** The answer of a conditional write; undefined if its condition does not hold. */
export const unlessRefused = <Answered>(write: () => Promise<Answered>): Promise<Answered | undefined> =>
  unlessError(refusedCondition, write);

const refusedCondition = /^ConditionalCheckFailedException$/;

/** Parameters of a conditional write that returns the former item, even if its condition does not hold. */
export const tellingWhatWasThere = {
  ReturnValues: 'ALL_OLD',
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
} as const;

/** Whether such a write was done, and the former item. */
export const whatWasThere = async (
  write: () => Promise<Answer>,
): Promise<{ done: boolean; before: Attributes | undefined }> => {
  try {
    return { done: true, before: (await write()).Attributes };
  } catch (error) {
    if (!refusedCondition.test(errorName(error))) throw error;
    return { done: false, before: (error as { Item?: Attributes }).Item };
  }
};

/** @throws if the answer is not what DynamoDB has sent. */
const checkWhole = ({ headers, body }: HttpAnswer): void => {
  const sum = headers['x-amz-crc32'];
  if (sum !== undefined && Number(sum) !== crc32(body))
    throw noAnswer('an answer with a wrong checksum', { name: 'CRC32CheckFailed' });
};

/** Undefined if it is no JSON. */
const jsonIn = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** An answer from another system, such as a proxy, has no name; the SDK names it after its own failure to read it. */
const refusalIn = (answer: HttpAnswer): ServiceException => {
  const { status, headers } = answer;
  const json = answer.body.length === 0 ? {} : jsonIn(answer.body);
  const data: { message?: string; Item?: Attributes } = isObject(json) ? json : {};
  const nameless = json === undefined ? 'SyntaxError' : 'Unknown';
  const response = new HttpResponse({ statusCode: status, headers: headers as Record<string, string> });
  const error = new ServiceException({
    name: loadJsonRpcErrorCode(response, data) ?? nameless,
    message: data.message ?? 'UnknownError',
    $fault: status < 500 ? 'client' : 'server',
    $metadata: { httpStatusCode: status },
  });
  const retryAfter = getRetryAfterHint(response);
  return Object.assign(error, data.Item && { Item: data.Item }, retryAfter && { retryAfter });
};

/** The SDK's value: signatures are accepted for five minutes. */
const toleratedSkewMs = 240_000;

/** NaN if the answer has no date, or is from a cache. */
const dateIn = ({ headers: { date, age } }: HttpAnswer): number =>
  age === undefined ? Date.parse(String(date)) : Number.NaN;

/** Nonzero if our clock was past the answer's date before the request, or not there yet after the answer. */
const differenceIn = (answer: HttpAnswer, sentMs: number): number =>
  Math.max(sentMs - dateIn(answer), dateIn(answer) - Date.now(), 0) || 0;

/** Read again five minutes before they end, as by the SDK's clients. */
const credentialsOf = ({ credentials, profile }: ClientOptions) => {
  const provider =
    typeof credentials === 'object'
      ? async () => credentials
      : (credentials ?? defaultProvider(profile === undefined ? {} : { profile }));
  return memoize(provider, isIdentityExpired, doesIdentityRequireRefresh);
};

const withAttempts = (error: unknown, attempts: number): unknown => {
  if (error instanceof Error && '$metadata' in error)
    error.$metadata = { ...(error.$metadata as object), attempts };
  return error;
};

type SdkError = Parameters<typeof isTransientError>[0];
type RetryInfo = Parameters<StandardRetryStrategy['refreshRetryTokenForRetry']>[1];

const retryInfoOf = (thrown: unknown): RetryInfo => {
  const error = thrown as SdkError & { retryAfter?: Date };
  const isTransient = isTransientError(error) ? 'TRANSIENT' : 'CLIENT_ERROR';
  const errorType = isThrottlingError(error) ? 'THROTTLING' : isTransient;
  return { error, errorType, ...(error.retryAfter && { retryAfterHint: error.retryAfter }) };
};

/** Rejects if the signal ends the wait first. */
const unlessAborted = <Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> => {
  if (signal === undefined) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort));
};
