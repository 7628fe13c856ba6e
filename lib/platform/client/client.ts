import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Priority } from '../../message/priority.ts';
import { ownText, safe } from '../../message/safe-text.ts';
import type { Headers } from '../../runtime/aws/receive-answer.ts';
import { sensitiveValues } from '../../runtime/privacy/request-secrets.ts';
import type { CallReport } from '../../runtime/telemetry/call-report.ts';
import type { Answered } from '../pace/answered.ts';
import { createPace, type Pace, type RateSlot, type SlotResult } from '../pace/pace.ts';
import type { PacerOptions } from '../pace/pacer.ts';
import {
  type Actor,
  type Auth,
  type Authenticator,
  type AuthParameters,
  signedPath,
} from './authentication.ts';
import { budgetIn } from './budget-headers.ts';
import { resultOf } from './check-answer.ts';
import { fileIn, type Use, useFile } from './download.ts';
import { createExchange, type ExchangeOptions, type Payload, wholePayload } from './exchange.ts';
import {
  type Configured,
  configured,
  isFileAnswer,
  type Operation,
  type OperationOverride,
} from './operation.ts';
import { type CallFacts, isTimestampOutOfRange, PlatformError } from './platform-error.ts';
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

/** Who calls, what may be called, and until when. */
export type CallContext = {
  actor: Actor;
  signal: AbortSignal;
  /** The operations that may be called; default: all. */
  operations?: readonly Operation<unknown>[];
  /** Decides which calls go first if the platform does not take all at once; default: `normal`. */
  priority?: Priority;
  /** A turn that was granted before by this client; default: each call waits for its own. */
  slot?: RateSlot;
  onCall(report: CallReport): void;
};

export type PlatformOptions = ExchangeOptions &
  Site &
  PacerOptions & {
    /** Default: one of its own. */
    pace?: Pace;
    /** What differs on this site, by operation name. */
    overrides: Record<string, OperationOverride>;
  };

export type PlatformClient = {
  for(context: CallContext): Platform;
  /** Shared by all calls of this client. */
  pace: Pick<Pace, 'ask' | 'budget'>;
  close(): Promise<void>;
};

/** Authenticates each call and sends it once, and once more if a refusal corrected the clock or the credential. */
export const createPlatformClient = (options: PlatformOptions, authOf: Authenticator): PlatformClient => {
  const exchange = createExchange(options);
  const pace = options.pace ?? createPace(options);
  let clockOffsetMs: number | undefined;
  let lastDate: string | string[] | undefined;

  const measureClockOffset = (date: string | string[] | undefined): void => {
    // The header has whole seconds, so the first answer within a second is the most exact.
    if (date === lastDate) return;
    lastDate = date;
    const toldMs = Date.parse(String(date));
    if (!Number.isNaN(toldMs)) clockOffsetMs = toldMs - Date.now();
  };

  /** Each operation as this site is configured to call it, computed once. */
  const known = new Map<Operation<unknown>, Configured<unknown>>();
  const asConfigured = <Answer>(declared: Operation<Answer>): Configured<Answer> => {
    const operation = known.get(declared) ?? configured(declared, options.overrides[declared.name]);
    known.set(declared, operation);
    return operation as Configured<Answer>;
  };

  /** `take` is given for a file: it handles the answer as a stream. */
  const call = async <Result>(
    declared: Operation<Result>,
    input: CallInput,
    { context, take }: { context: CallContext; take?: Take<Result> },
  ): Promise<Result> => {
    const { name } = declared;
    if (context.operations?.includes(declared) === false)
      throw new TypeError(`${name} is not among the operations that the integration declares`);
    if (isFileAnswer(declared.answer) !== (take !== undefined))
      throw new TypeError(`${name}: a file is downloaded, and nothing else is`);
    const operation = asConfigured(declared);
    const request = requestOf(operation, input, options);
    const about = { operation, call: request.call };
    const auth = operation.anonymous ? anonymous : authOf(context.actor);
    const { priority = 'normal', signal } = context;

    /** Before the call is authenticated: a signature ages while its call waits. */
    const waitForTurn = async (): Promise<void> => {
      const asked = context.slot ? { slot: context.slot } : await slotIn(pace, priority, signal);
      let slotInSeconds = asked.slot ? asked.slot.next() : asked.seconds;
      if (asked.slot && slotInSeconds > 0 && slotInSeconds <= maxHeldSeconds) {
        await sleep(slotInSeconds * 1_000, undefined, { signal }).catch(() => {});
        slotInSeconds = asked.slot.next();
      }
      if (slotInSeconds > 0)
        throw new PlatformError({
          ...about,
          sent: false,
          turnInSeconds: slotInSeconds,
          message: safe`its turn did not come in time`,
        });
    };

    const send = async (parameters: AuthParameters): Promise<Result> => {
      const path = signedPath(request, parameters);
      const payload = await payloadOf(input);
      const startedMs = performance.now();
      let status: number | undefined;
      let mayHaveActed = request.method !== 'GET';
      const sentMs = Date.now();
      let answered: Partial<Answered> = {};
      // A failure on our side shows nothing about the platform.
      let isHeard = true;
      try {
        const outgoing = {
          ...about,
          path,
          headers: parameters.headers,
          payload,
          onHead: (came: number, headers: Headers): void => {
            status = came;
            measureClockOffset(headers.date);
            answered = budgetIn(headers);
          },
        };
        const answer = take
          ? await exchange.stream(
              outgoing,
              async (incoming) => {
                const file = await fileIn(operation, incoming);
                return 'body' in file ? { result: await take(file, about) } : file;
              },
              context.signal,
            )
          : await exchange.send(outgoing, context.signal);
        if ('result' in answer) return answer.result;
        const asked = { ...about, input, sensitiveValues: () => sensitiveValues(parameters, input.secrets) };
        return resultOf(asked, answer);
      } catch (error) {
        answered = { ...answered, ...refusalIn(error) };
        isHeard = status !== undefined || (error instanceof PlatformError && !signal.aborted);
        mayHaveActed &&=
          error instanceof PlatformError ? error.mayHaveActed : (payload?.complete?.() ?? true);
        throw error;
      } finally {
        if (isHeard) pace.learn({ sentMs, status, ...answered });
        // Further digits are noise, and logging them costs money.
        const durationMs = Math.round((performance.now() - startedMs) * 10) / 10;
        context.onCall({
          operation: ownText(name),
          call: request.call,
          status,
          durationMs,
          mayHaveActed,
          priority,
        });
      }
    };

    /** Whether the refusal corrected the clock or the credential, and the call may be sent again. */
    const isCorrectedBy = (error: unknown): boolean => {
      if (!(error instanceof PlatformError) || error.refused === undefined) return false;
      const corrected = auth.correctAfter(error.refused);
      if (typeof corrected === 'object') error.credential = corrected;
      // Whose the other credential is was not asked.
      const isOtherKey = !isTimestampOutOfRange(error.refused);
      if (isOtherKey && context.actor !== undefined && !operation.repeatable) return false;
      return corrected !== false && (operation.repeatable || !error.mayHaveActed);
    };

    await waitForTurn();
    const parameters = await auth.authenticate(request);
    try {
      return await send(parameters);
    } catch (first) {
      if (!isCorrectedBy(first)) throw first;
      // If no other credential can be read, report the refusal, and not why the reading failed.
      const corrected = await waitForTurn()
        .then(() => auth.authenticate(request))
        .catch(() => Promise.reject(first));
      return await send(corrected).catch((second: unknown) => {
        isCorrectedBy(second);
        throw second;
      });
    }
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
    pace,
    close: exchange.close,
  };
};

/** A further call of a message waits this long at most for its turn: an accepted submission can still be looked up at once. */
const maxHeldSeconds = 5;

/** Waits for a turn; stops waiting when the signal aborts. */
const slotIn = async (
  pace: Pick<Pace, 'ask'>,
  priority: Priority,
  signal: AbortSignal,
): Promise<SlotResult> => {
  const { promise, resolve } = Promise.withResolvers<SlotResult>();
  const leave = pace.ask(priority, Number.POSITIVE_INFINITY, resolve);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  const asked = await promise;
  signal.removeEventListener('abort', leave);
  return asked;
};

const payloadOf = ({ payload, json }: CallInput): Payload | undefined | Promise<Payload> => {
  if (payload) return payload();
  return json === undefined ? undefined : wholePayload(JSON.stringify(json), 'application/json');
};

/** A refusal with a success status is still a refusal. */
const refusalIn = (error: unknown): Partial<Answered> => {
  const refused = error instanceof PlatformError ? error.refused : undefined;
  return refused ? { status: refused.status, retryAfterSeconds: refused.retryAfterSeconds } : {};
};

type Take<Result> = (incoming: Dispatcher.ResponseData, about: CallFacts) => Promise<Result>;

const anonymous: Auth = {
  authenticate: async () => ({ query: {}, headers: {} }),
  correctAfter: () => false,
};
