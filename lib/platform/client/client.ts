import { createRateLimiter, type RateLimiter } from '../rate-limit/rate-limiter.ts';
import type { RatePolicyOptions } from '../rate-limit/rate-policy.ts';
import type { AuthenticatorFactory, CallAuthenticator } from './authentication.ts';
import { type CallContext, PlatformCall, type Take } from './call.ts';
import { type Use, useFile } from './download.ts';
import { createExchange, type ExchangeOptions } from './exchange.ts';
import {
  type ConfiguredOperation,
  configured,
  isFileAnswer,
  type Operation,
  type OperationOverride,
} from './operation.ts';
import { type CallInput, requestOf, type Site } from './request.ts';

/** The platform as one actor calls it within one attempt at a message. */
export type Platform = {
  /** @throws PlatformError if the platform refuses, or if no usable answer comes. */
  call<Answer>(operation: Operation<Answer>, input?: CallInput): Promise<Answer>;
  /** Calls an operation whose answer is a file; `use` gets it as a stream. */
  download<Result>(operation: Operation<never>, input: CallInput, use: Use<Result>): Promise<Result>;
  /** How far the platform's clock is ahead of ours, to about a second, by the Date header of its answers. */
  clockOffsetMs(): number | undefined;
};

export type PlatformOptions = ExchangeOptions &
  Site &
  RatePolicyOptions & {
    /** Default: one of its own. */
    rateLimiter?: RateLimiter;
    /** What differs on this site, by operation name. */
    overrides: Record<string, OperationOverride>;
  };

export type PlatformClient = {
  for(context: CallContext): Platform;
  /** Shared by all calls of this client. */
  rateLimiter: Pick<RateLimiter, 'requestSlot' | 'budget'>;
  close(): Promise<void>;
};

export const createPlatformClient = (
  options: PlatformOptions,
  authOf: AuthenticatorFactory,
): PlatformClient => {
  const exchange = createExchange(options);
  const rateLimiter = options.rateLimiter ?? createRateLimiter(options);
  let clockOffsetMs: number | undefined;
  let lastDate: string | string[] | undefined;

  const measureClockOffset = (date: string | string[] | undefined): void => {
    // The header has whole seconds, so the first answer within a second is the most exact.
    if (date === lastDate) return;
    lastDate = date;
    const serverMs = Date.parse(String(date));
    if (!Number.isNaN(serverMs)) clockOffsetMs = serverMs - Date.now();
  };

  /** Each operation as this site is configured to call it, computed once. */
  const known = new Map<Operation<unknown>, ConfiguredOperation<unknown>>();
  const asConfigured = <Answer>(declared: Operation<Answer>): ConfiguredOperation<Answer> => {
    const operation = known.get(declared) ?? configured(declared, options.overrides[declared.name]);
    known.set(declared, operation);
    return operation as ConfiguredOperation<Answer>;
  };

  /** `take` is given for a file: it handles the answer as a stream. */
  const call = async <Result>(
    declared: Operation<Result>,
    input: CallInput,
    { context, take }: { context: CallContext; take?: Take<Result> },
  ): Promise<Result> => {
    if (context.operations?.includes(declared) === false)
      throw new TypeError(`${declared.name} is not among the operations that the integration declares`);
    if (isFileAnswer(declared.answer) !== (take !== undefined))
      throw new TypeError(`${declared.name}: a file is downloaded, and nothing else is`);
    const operation = asConfigured(declared);
    const request = requestOf(operation, input, options);
    const auth = operation.anonymous ? anonymous : authOf(context.actor);
    return new PlatformCall({
      exchange,
      rateLimiter,
      operation,
      request,
      input,
      auth,
      context,
      take,
      onDate: measureClockOffset,
    }).run();
  };

  return {
    for: (context) => ({
      call: (operation, input = {}) => call(operation, input, { context }),
      download: async (operation, input, use) => {
        const settled = await call(operation, input, {
          context,
          take: (incoming, about) => useFile(incoming, about, use),
        });
        if (settled.status === 'rejected') throw settled.reason;
        return settled.value;
      },
      clockOffsetMs: () => clockOffsetMs,
    }),
    rateLimiter,
    close: exchange.close,
  };
};

const anonymous: CallAuthenticator = {
  authenticate: async () => ({ query: {}, headers: {} }),
  correctAfter: () => false,
};
