import type { Dispatcher } from 'undici';
import type { Actor, Auth, Authenticator } from './auth/auth.ts';
import { type Proof, provedPath, unspeakable } from './auth/auth-parameters.ts';
import type { Headers } from './core/answer.ts';
import { fileIn, type Use, useFile } from './core/download.ts';
import { PlatformError } from './core/error.ts';
import { createExchange, wholePayload } from './core/exchange.ts';
import {
  type Configured,
  configured,
  isFileAnswer,
  type Operation,
  type OperationOverride,
  type Versions,
} from './core/operation.ts';
import { type CallInput, requestOf } from './core/request.ts';
import { resultOf } from './core/success.ts';

/** The platform as one actor sees it within one attempt. */
export type Platform = {
  /** @throws PlatformError where the platform refuses, or where no usable answer comes. */
  call<Answer>(operation: Operation<Answer>, input?: CallInput): Promise<Answer>;
  /** Calls an operation whose answer is a file, and has it used while it comes. */
  download<Result>(operation: Operation<never>, input: CallInput, use: Use<Result>): Promise<Result>;
  /** How far the platform's clock is ahead of ours, to about a second, by its last answer; undefined if none told. */
  clockOffsetMs(): number | undefined;
};

/** One request and its answer, for metrics, logs and the ledger. */
export type CallReport = {
  operation: string;
  /** `METHOD /path`, without query. */
  call: string;
  /** Undefined where no answer came; of one that is not usable it is told all the same. */
  status: number | undefined;
  durationMs: number;
  /** False only if the platform certainly did not change anything because of it. */
  mayHaveActed: boolean;
};

export type Attempt = {
  actor: Actor;
  signal: AbortSignal;
  /** What may be called; without it, everything. */
  operations?: readonly Operation<unknown>[];
  onCall(report: CallReport): void;
};

export type PlatformOptions = {
  /** Scheme, host and port of the platform. */
  baseUrl: string;
  /** The path before the components, such as `/svc/api`. */
  apiRoot: string;
  versions: Versions;
  /** What a site does otherwise, by operation name. */
  overrides: Record<string, OperationOverride>;
  connectTimeoutMs: number;
  /** From the end of the request to the answer's headers. */
  headersTimeoutMs: number;
  /** Between two pieces of the answer's body. */
  bodyTimeoutMs: number;
  /** Of a success that is parsed; more of it is not read. */
  maximumAnswerBytes?: number;
};

export type PlatformClient = { for(attempt: Attempt): Platform; close(): Promise<void> };

/** The API client: proves each call as its actor, sends it once, and once more where a refusal taught how to prove it. */
export const createPlatformClient = (
  options: PlatformOptions,
  authenticate: Authenticator,
): PlatformClient => {
  const exchange = createExchange(options);
  let clockOffsetMs: number | undefined;

  let lastDate: string | string[] | undefined;

  const learnClock = (date: string | string[] | undefined): void => {
    // It tells whole seconds: the first answer of each has told more closely than the others can.
    if (date === lastDate) return;
    lastDate = date;
    const toldMs = Date.parse(String(date));
    if (!Number.isNaN(toldMs)) clockOffsetMs = toldMs - Date.now();
  };

  /** Each operation as this site does it, once. */
  const known = new Map<Operation<unknown>, Configured<unknown>>();
  const asConfigured = <Answer>(declared: Operation<Answer>): Configured<Answer> => {
    const operation = known.get(declared) ?? configured(declared, options.overrides[declared.name]);
    known.set(declared, operation);
    return operation as Configured<Answer>;
  };

  /** `take` is for a file: it ends with what is done with it while it comes. */
  const call = async <Result>(
    declared: Operation<Result>,
    input: CallInput,
    { attempt, take }: { attempt: Attempt; take?: Take<Result> },
  ): Promise<Result> => {
    const { name } = declared;
    if (attempt.operations?.includes(declared) === false)
      throw new TypeError(`${name} is not among the operations that the integration declares`);
    if (isFileAnswer(declared.answer) !== (take !== undefined))
      throw new TypeError(`${name}: a file is downloaded, and nothing else is`);
    const operation = asConfigured(declared);
    const request = requestOf(operation, input, options);
    const about = { operation, call: request.call };
    const auth = operation.anonymous ? anonymous : authenticate(attempt.actor);

    const send = async (proof: Proof): Promise<Result> => {
      const path = provedPath(request, proof);
      const payload = input.payload
        ? await input.payload()
        : input.json === undefined
          ? undefined
          : wholePayload(JSON.stringify(input.json), 'application/json');
      const startedMs = performance.now();
      let status: number | undefined;
      let mayHaveActed = request.method !== 'GET';
      try {
        const outgoing = {
          operation,
          call: about.call,
          path,
          headers: proof.headers,
          payload,
          onHead: (told: number, headers: Headers): void => {
            status = told;
            learnClock(headers.date);
          },
        };
        const answer = take
          ? await exchange.stream(
              outgoing,
              async (incoming) => {
                const file = await fileIn(operation, incoming);
                return 'body' in file ? { taken: await take(file, about) } : file;
              },
              attempt.signal,
            )
          : await exchange.send(outgoing, attempt.signal);
        if ('taken' in answer) return answer.taken;
        return resultOf({ ...about, input, unspeakable: () => unspeakable(proof, input.secrets) }, answer);
      } catch (error) {
        mayHaveActed &&=
          error instanceof PlatformError ? error.mayHaveActed : (payload?.complete?.() ?? true);
        throw error;
      } finally {
        // Further digits are noise, and each is written to the logs and paid for.
        const durationMs = Math.round((performance.now() - startedMs) * 10) / 10;
        attempt.onCall({ operation: name, call: about.call, status, durationMs, mayHaveActed });
      }
    };

    /** Tells the auth of a refusal: true where it taught something, so that the next proof will differ, and may be sent. */
    const learn = (error: unknown): boolean =>
      error instanceof PlatformError &&
      error.refused !== undefined &&
      auth.learn(error.refused) &&
      (operation.repeatable || !error.mayHaveActed);

    const proof = await auth.prove(request);
    try {
      return await send(proof);
    } catch (first) {
      if (!learn(first)) throw first;
      // Where no other proof can be had, the refusal is the news, not what failed while looking for one.
      const next = await auth.prove(request).catch(() => Promise.reject(first));
      return await send(next).catch((second: unknown) => {
        learn(second);
        throw second;
      });
    }
  };

  return {
    for: (attempt) => ({
      call: (operation, input = {}) => call(operation, input, { attempt }),
      download: async (operation, input, use) => {
        const settled = await call(operation, input, {
          attempt,
          take: (incoming, about) => useFile(incoming, about, use),
        });
        if (settled.status === 'rejected') throw settled.reason;
        return settled.value;
      },
      clockOffsetMs: () => clockOffsetMs,
    }),
    close: exchange.close,
  };
};

type Take<Result> = (
  incoming: Dispatcher.ResponseData,
  about: { operation: Operation<unknown>; call: string },
) => Promise<Result>;

const anonymous: Auth = { prove: async () => ({ query: {}, headers: {} }), learn: () => false };
