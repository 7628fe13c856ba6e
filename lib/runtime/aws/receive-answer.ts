import type { Dispatcher } from 'undici';

/** By their names in lower case. */
export type Headers = Record<string, string | string[] | undefined>;

export type HttpAnswer = {
  status: number;
  headers: Headers;
  text: string;
  /** The error that cut it off. */
  cutBy?: unknown;
  /** A success longer than the limit: `text` is only its start. */
  isTooLong?: boolean;
};

/** At most this much of a success is read: a list of 90,000 users. Parsed, it takes up to 250 MB of a function's memory. */
export const maxAnswerBytes = 32 * 1024 ** 2;

/** At most this much of an error's body is read, in bytes. */
export const maxErrorBytes = 64 * 1024;

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Callbacks while an answer comes. Either `onAnswer` or `onError` is called, once. */
export type Receiver = {
  signal: AbortSignal;
  /** Limit for a success. */
  maximumBytes: number;
  /** Limit for an error. */
  maximumErrorBytes?: number;
  /** Called before the first byte is sent. */
  onStart?(): void;
  onHead?: ((status: number, headers: Headers) => void) | undefined;
  onAnswer(answer: HttpAnswer): void;
  onError(error: unknown): void;
};

/**
 * Sends a request and reads its answer: all of a success, only the start of an error. A stream for each answer would cost a third
 * of the whole call. Unlike undici, it obeys the signal before the connection is made.
 */
export const receive = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  receiver: Receiver,
): void => {
  const { maximumBytes, maximumErrorBytes = maxErrorBytes, signal } = receiver;
  let control: Dispatcher.DispatchController | undefined;
  let head: { status: number; headers: Headers } | undefined;
  let maxBytes = maximumErrorBytes;
  let bytes = 0;
  let isOver = false;
  const pieces: Buffer[] = [];
  const end = (how: Pick<HttpAnswer, 'cutBy' | 'isTooLong'> = {}): void => {
    if (isOver || !head) return;
    isOver = true;
    signal.removeEventListener('abort', abort);
    const text = startOf(pieces, how.isTooLong ? maximumErrorBytes : maxBytes);
    receiver.onAnswer({ ...head, text, ...how });
  };
  const fail = (error: unknown): void => {
    // What was read before the cut is still used: an error may have named itself, and a success may be complete enough.
    end({ cutBy: error });
    if (isOver) return;
    isOver = true;
    signal.removeEventListener('abort', abort);
    receiver.onError(error);
  };
  const abort = (): void => {
    fail(signal.reason);
    control?.abort(signal.reason);
  };
  if (signal.aborted) {
    receiver.onError(signal.reason);
    return;
  }
  signal.addEventListener('abort', abort, { once: true });
  dispatcher.dispatch(request, {
    onRequestStart: (controller) => {
      if (signal.aborted) return controller.abort(signal.reason);
      control = controller;
      receiver.onStart?.();
    },
    onResponseStart: (_, status, headers) => {
      // An informational response is not the answer.
      if (status < 200) return;
      head = { status, headers };
      if (isSuccess(status)) maxBytes = maximumBytes;
      receiver.onHead?.(status, headers);
    },
    onResponseData: (controller, piece) => {
      pieces.push(piece);
      bytes += piece.length;
      const isTooLong = head !== undefined && isSuccess(head.status);
      if (isTooLong ? bytes <= maxBytes : bytes < maxBytes) return;
      end(isTooLong ? { isTooLong } : {});
      controller.abort(new Error('enough was read'));
    },
    onResponseEnd: () => end(),
    onResponseError: (_, error) => fail(error),
  });
};

const startOf = (pieces: Buffer[], maxBytes: number): string =>
  pieces.length === 0 ? '' : Buffer.concat(pieces).subarray(0, maxBytes).toString('utf8');

/** The start of an answer that is a stream. */
export const readStart = async ({
  statusCode: status,
  headers,
  body,
}: Dispatcher.ResponseData): Promise<HttpAnswer> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let cut: Pick<HttpAnswer, 'cutBy'> = {};
  try {
    for await (const piece of body) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= maxErrorBytes) break;
    }
  } catch (cutBy) {
    cut = { cutBy };
  }
  return { status, headers, text: startOf(pieces, maxErrorBytes), ...cut };
};
