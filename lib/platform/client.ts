import type { Actor, Authenticator, Proof } from './auth.ts';
import { PlatformError, parseRefusal } from './error.ts';
import { createExchange, type Payload, wholePayload } from './exchange.ts';
import { type Configured, configured, type Operation, type OperationOverride, pathOf } from './operation.ts';

export type CallInput = {
  /** Values of the path's placeholders: positive integers, or plain words. */
  path?: Record<string, number | string>;
  query?: Record<string, string>;
  json?: unknown;
  /** Makes the body anew for each time it is sent, as a stream can be read only once. */
  payload?: () => Promise<Payload>;
};

/** The platform as one actor sees it within one attempt. */
export type Platform = {
  /** @throws PlatformError where the platform refuses, or where no usable answer comes. */
  call<Answer>(operation: Operation<Answer>, input?: CallInput): Promise<Answer>;
  /** How far the platform's clock is ahead of ours, to about a second, by its last answer; undefined if none told. */
  clockOffsetMs(): number | undefined;
};

/** One request and its answer, for metrics, logs and the ledger. */
export type CallReport = {
  operation: string;
  /** `METHOD /path`, without query. */
  call: string;
  /** Undefined where no answer came. */
  status: number | undefined;
  durationMs: number;
  /** False only if the platform certainly did not change anything because of it. */
  mayHaveActed: boolean;
};

export type Attempt = { actor: Actor; signal: AbortSignal; onCall(report: CallReport): void };

export type PlatformOptions = {
  /** Scheme, host and port of the platform. */
  baseUrl: string;
  /** The path before the components, such as `/svc/api`. */
  apiRoot: string;
  versions: { lp: string; le: string };
  /** What a site does otherwise, by operation name. */
  overrides: Record<string, OperationOverride>;
  connectTimeoutMs: number;
  /** From the end of the request to the answer's headers. */
  headersTimeoutMs: number;
  /** Between two pieces of the answer's body. */
  bodyTimeoutMs: number;
};

export type PlatformClient = { for(attempt: Attempt): Platform; close(): Promise<void> };

/** The API client: proves each call as its actor, sends it once, and once more where a refusal taught how to prove it. */
export const createPlatformClient = (
  options: PlatformOptions,
  authenticate: Authenticator,
): PlatformClient => {
  const exchange = createExchange(options);
  let clockOffsetMs: number | undefined;

  const call = async <Answer>(
    declared: Operation<Answer>,
    input: CallInput,
    attempt: Attempt,
  ): Promise<Answer> => {
    const operation = configured(declared, options.overrides[declared.name]);
    const request = { method: operation.method, path: pathOf(operation, options, input.path ?? {}) };
    const about = { operation, call: `${request.method} ${request.path}` };
    const auth = authenticate(attempt.actor);

    const send = async (proof: Proof): Promise<Answer> => {
      const query = new URLSearchParams({ ...input.query, ...proof.query });
      const payload = input.payload
        ? await input.payload()
        : input.json === undefined
          ? undefined
          : wholePayload(JSON.stringify(input.json), 'application/json');
      const startedMs = performance.now();
      let status: number | undefined;
      let mayHaveActed = request.method !== 'GET';
      try {
        const path = query.size > 0 ? `${request.path}?${query}` : request.path;
        const answer = await exchange({ ...about, path, headers: proof.headers, payload }, attempt.signal);
        status = answer.status;
        const toldMs = Date.parse(String(answer.headers.date));
        if (!Number.isNaN(toldMs)) clockOffsetMs = toldMs - Date.now();
        if (status < 200 || status >= 300) {
          const refused = parseRefusal(answer, longWordsOf(proof));
          throw new PlatformError({ ...about, refused, sent: true, message: `answered with ${status}` });
        }
        return parseAnswer(about, answer.text);
      } catch (error) {
        mayHaveActed &&=
          error instanceof PlatformError ? error.mayHaveActed : (payload?.complete?.() ?? true);
        throw error;
      } finally {
        const durationMs = performance.now() - startedMs;
        attempt.onCall({ operation: operation.name, call: about.call, status, durationMs, mayHaveActed });
      }
    };

    /** Tells the auth of a refusal: true where it taught something, so that the next proof will differ. */
    const learn = (error: unknown): boolean =>
      error instanceof PlatformError && error.refused !== undefined && auth.learn(error.refused);

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
      call: (operation, input = {}) => call(operation, input, attempt),
      clockOffsetMs: () => clockOffsetMs,
    }),
    close: exchange.close,
  };
};

/** The proof's long words: an error page that repeats them has them taken out, however it writes its address. */
const longWordsOf = ({ query, headers }: Proof): string[] =>
  [...Object.values(query), ...Object.values(headers)]
    .flatMap((value) => value.split(' '))
    .filter((word) => word.length >= 20)
    .flatMap((word) => [word, encodeURIComponent(word)]);

/** A success that does not read as one is no answer: a proxy's page, half a body, another version's shape. */
const parseAnswer = <Answer>(
  about: { operation: Configured<Answer>; call: string },
  text: string | undefined,
): Answer => {
  const { answer } = about.operation;
  if (answer === undefined) return undefined as Answer;
  let json: unknown;
  try {
    json = JSON.parse(text ?? '');
  } catch {
    // Without its cause, which quotes the answer.
    throw new PlatformError({ ...about, sent: true, message: 'the answer is not readable as JSON' });
  }
  const parsed = answer.safeParse(json);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole').join(', ');
  throw new PlatformError({
    ...about,
    sent: true,
    message: `the answer lacks what it must carry: ${fields}`,
  });
};
