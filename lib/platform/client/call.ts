import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Priority } from '../../message/priority.ts';
import { ownText, safe } from '../../message/safe-text.ts';
import type { Headers } from '../../runtime/aws/receive-answer.ts';
import { sensitiveValues } from '../../runtime/privacy/request-secrets.ts';
import type { CallReport } from '../../runtime/telemetry/call-report.ts';
import type { AnswerFacts } from '../rate-limit/answered.ts';
import type { RateLimiter, RateSlot, SlotResult } from '../rate-limit/rate-limiter.ts';
import {
  type AuthParameters,
  type CallAuthenticator,
  type SigningUser,
  signedPath,
} from './authentication.ts';
import { budgetIn } from './budget-headers.ts';
import { resultOf } from './check-answer.ts';
import { fileIn } from './download.ts';
import { type createExchange, type Payload, wholePayload } from './exchange.ts';
import type { ConfiguredOperation, Operation } from './operation.ts';
import { type CallFacts, isTimestampOutOfRange, PlatformError } from './platform-error.ts';
import type { CallInput, requestOf } from './request.ts';

/** Who calls, what may be called, and until when. */
export type CallContext = {
  actor: SigningUser;
  signal: AbortSignal;
  /** The operations that may be called; default: all. */
  operations?: readonly Operation<unknown>[];
  /** Decides which calls go first if the platform does not take all at once; default: `normal`. */
  priority?: Priority;
  /** A slot that was granted before by this client; default: each call waits for its own. */
  slot?: RateSlot;
  onCall(report: CallReport): void;
};

type CallParts<Result> = {
  exchange: ReturnType<typeof createExchange>;
  rateLimiter: RateLimiter;
  operation: ConfiguredOperation<Result>;
  request: ReturnType<typeof requestOf>;
  input: CallInput;
  auth: CallAuthenticator;
  context: CallContext;
  take: Take<Result> | undefined;
  /** Gets the Date header of each answer. */
  onDate(date: string | string[] | undefined): void;
};

/** One call: authenticated and sent once, and once more if a refusal corrected the clock or the credential. */
export class PlatformCall<Result> {
  readonly #parts: CallParts<Result>;
  readonly #facts: CallFacts;
  readonly #priority: Priority;

  constructor(parts: CallParts<Result>) {
    this.#parts = parts;
    this.#facts = { operation: parts.operation, call: parts.request.call };
    this.#priority = parts.context.priority ?? 'normal';
  }

  /** @throws PlatformError if the platform refuses, or if no usable answer comes. */
  async run(): Promise<Result> {
    const { auth, request } = this.#parts;
    await this.#waitForSlot();
    const parameters = await auth.authenticate(request);
    try {
      return await this.#send(parameters);
    } catch (first) {
      if (!this.#isCorrectedBy(first)) throw first;
      // If no other credential can be read, report the refusal, and not why the reading failed.
      const corrected = await this.#waitForSlot()
        .then(() => auth.authenticate(request))
        .catch(() => Promise.reject(first));
      return await this.#send(corrected).catch((second: unknown) => {
        this.#isCorrectedBy(second);
        throw second;
      });
    }
  }

  /** Before the call is authenticated: a signature ages while its call waits. */
  async #waitForSlot(): Promise<void> {
    const { rateLimiter, context } = this.#parts;
    const { signal } = context;
    const granted = context.slot ? { slot: context.slot } : await slotIn(rateLimiter, this.#priority, signal);
    let turnInSeconds = granted.slot ? granted.slot.next() : granted.seconds;
    if (granted.slot && turnInSeconds > 0 && turnInSeconds <= maxHeldSeconds) {
      await sleep(turnInSeconds * 1_000, undefined, { signal }).catch(() => {});
      turnInSeconds = granted.slot.next();
    }
    if (turnInSeconds === 0) return;
    const message = safe`the rate limiter did not admit the call in time`;
    throw new PlatformError({ ...this.#facts, sent: false, turnInSeconds, message });
  }

  async #send(parameters: AuthParameters): Promise<Result> {
    const { rateLimiter, request, input, context } = this.#parts;
    const path = signedPath(request, parameters);
    const payload = await payloadOf(input);
    const startedMs = performance.now();
    let status: number | undefined;
    let mayHaveActed = request.method !== 'GET';
    const sentMs = Date.now();
    let answered: Partial<AnswerFacts> = {};
    // A failure on our side shows nothing about the platform.
    let isAnswered = true;
    try {
      const { headers } = parameters;
      const onHead = (came: number, head: Headers): void => {
        status = came;
        this.#parts.onDate(head.date);
        answered = budgetIn(head);
      };
      const answer = await this.#exchange({ ...this.#facts, path, headers, payload, onHead });
      if ('result' in answer) return answer.result;
      const secrets = () => sensitiveValues(parameters, input.secrets);
      return resultOf(
        { operation: this.#parts.operation, call: request.call, input, sensitiveValues: secrets },
        answer,
      );
    } catch (error) {
      answered = { ...answered, ...refusalIn(error) };
      isAnswered = status !== undefined || (error instanceof PlatformError && !context.signal.aborted);
      mayHaveActed &&= error instanceof PlatformError ? error.mayHaveActed : (payload?.complete?.() ?? true);
      throw error;
    } finally {
      if (isAnswered) rateLimiter.recordAnswer({ sentMs, status, ...answered });
      // Further digits are noise, and logging them costs money.
      const durationMs = Math.round((performance.now() - startedMs) * 10) / 10;
      context.onCall({
        operation: ownText(this.#parts.operation.name),
        call: request.call,
        status,
        durationMs,
        mayHaveActed,
        priority: this.#priority,
      });
    }
  }

  async #exchange(outgoing: Parameters<CallParts<Result>['exchange']['send']>[0]) {
    const { exchange, operation, context, take } = this.#parts;
    if (take === undefined) return exchange.send(outgoing, context.signal);
    return exchange.stream(
      outgoing,
      async (incoming) => {
        const file = await fileIn(operation, incoming);
        return 'body' in file ? { result: await take(file, this.#facts) } : file;
      },
      context.signal,
    );
  }

  /** Whether the refusal corrected the clock or the credential, and the call may be sent again. */
  #isCorrectedBy(error: unknown): boolean {
    const { auth, context, operation } = this.#parts;
    if (!(error instanceof PlatformError) || error.refused === undefined) return false;
    const corrected = auth.correctAfter(error.refused);
    if (typeof corrected === 'object') error.credential = corrected;
    // Whose the other credential is was not asked.
    const isOtherKey = !isTimestampOutOfRange(error.refused);
    if (isOtherKey && context.actor !== undefined && !operation.repeatable) return false;
    return corrected !== false && (operation.repeatable || !error.mayHaveActed);
  }
}

/** A further call of a message waits this long at most for its turn: an accepted submission can still be looked up at once. */
const maxHeldSeconds = 5;

/** Waits for a slot; stops waiting when the signal aborts. */
const slotIn = async (
  rateLimiter: Pick<RateLimiter, 'requestSlot'>,
  priority: Priority,
  signal: AbortSignal,
): Promise<SlotResult> => {
  const { promise, resolve } = Promise.withResolvers<SlotResult>();
  const leave = rateLimiter.requestSlot(priority, Number.POSITIVE_INFINITY, resolve);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  const slot = await promise;
  signal.removeEventListener('abort', leave);
  return slot;
};

const payloadOf = ({ payload, json }: CallInput): Payload | undefined | Promise<Payload> => {
  if (payload) return payload();
  return json === undefined ? undefined : wholePayload(JSON.stringify(json), 'application/json');
};

/** A refusal with a success status is still a refusal. */
const refusalIn = (error: unknown): Partial<AnswerFacts> => {
  const refused = error instanceof PlatformError ? error.refused : undefined;
  return refused ? { status: refused.status, retryAfterSeconds: refused.retryAfterSeconds } : {};
};

/** Handles the answer of a file as a stream. */
export type Take<Result> = (incoming: Dispatcher.ResponseData, about: CallFacts) => Promise<Result>;
