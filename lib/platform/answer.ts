import type { Dispatcher } from 'undici';
import { maximumErrorBytes, PlatformError } from './error.ts';
import { isFileAnswer, type Operation } from './operation.ts';

/** By their names in lower case. */
export type Headers = Record<string, string | string[] | undefined>;

/** An answer as a text. `cutOff`: the connection ended before the text did. */
export type Answer = {
  status: number;
  headers: Headers;
  text: string;
  cutOff: boolean;
};

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** What is told of an answer while it comes, and in which it ends: one of the last two, once. */
export type Receiver = {
  operation: Operation<unknown>;
  signal: AbortSignal;
  /** Told before the first byte goes out. */
  onStart(): void;
  onHead: ((status: number, headers: Headers) => void) | undefined;
  onAnswer(answer: Answer): void;
  onError(error: unknown): void;
};

/**
 * Sends a request and reads its answer: the whole of one that is parsed, no more than the start of an error or of what nobody
 * reads. It takes the pieces from undici as they come: a stream for each answer costs a third of all that a call costs.
 * Unlike undici it obeys the signal before it is connected, which may be seconds after the attempt's time is over.
 */
export const receive = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  receiver: Receiver,
): void => {
  const { operation, signal } = receiver;
  let control: Dispatcher.DispatchController | undefined;
  let head: { status: number; headers: Headers } | undefined;
  let mostBytes = maximumErrorBytes;
  let bytes = 0;
  let isOver = false;
  const pieces: Buffer[] = [];
  const end = (cutOff: boolean): void => {
    if (isOver || !head) return;
    // First of all: it throws where the answer is longer than a text can be, and undici then tells that as an error.
    const text = startOf(pieces, mostBytes);
    isOver = true;
    signal.removeEventListener('abort', abort);
    receiver.onAnswer({ ...head, text, cutOff });
  };
  const fail = (error: unknown): void => {
    // Of what is not parsed, half is as good as the whole: the status has told already, and a cut error still names itself.
    if (Number.isFinite(mostBytes)) end(true);
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
      receiver.onStart();
    },
    onResponseStart: (_, status, headers) => {
      // What comes before the answer is none.
      if (status < 200) return;
      head = { status, headers };
      if (isSuccess(status) && operation.answer) mostBytes = Number.POSITIVE_INFINITY;
      receiver.onHead?.(status, headers);
    },
    onResponseData: (controller, piece) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes < mostBytes) return;
      end(false);
      controller.abort(new Error('enough was read'));
    },
    onResponseEnd: () => end(false),
    onResponseError: (_, error) => fail(error),
  });
};

const startOf = (pieces: Buffer[], mostBytes: number): string =>
  pieces.length === 0 ? '' : Buffer.concat(pieces).subarray(0, mostBytes).toString('utf8');

/** The start of an answer that comes as a stream. */
export const readStart = async ({
  statusCode: status,
  headers,
  body,
}: Dispatcher.ResponseData): Promise<Answer> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let cutOff = false;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= maximumErrorBytes) break;
    }
  } catch {
    cutOff = true;
  }
  return { status, headers, text: startOf(pieces, maximumErrorBytes), cutOff };
};

/** Whether a success is a web page: what says it in HTML is a proxy, a login or a notice. */
export const isPage = ({ status, headers, text, cutOff }: Answer): boolean =>
  isSuccess(status) &&
  // An empty text may be labelled as anything.
  ((/html/i.test(String(headers['content-type'])) && (text.trim() !== '' || cutOff)) ||
    /^\s*<(!doctype|html|head|body)\b/i.test(text));

/**
 * What a success carries.
 * @throws PlatformError where it does not read as one: a proxy's page, half a body, another version's shape.
 */
export const parseAnswer = <Parsed>(
  about: { operation: Operation<Parsed>; call: string },
  { text }: Answer,
): Parsed => {
  const { answer } = about.operation;
  if (answer === undefined) return undefined as Parsed;
  if (isFileAnswer(answer))
    throw new TypeError(`${about.operation.name}: its answer is a file, to be downloaded`);
  let json: unknown;
  try {
    // Some servers mark their UTF-8 by an invisible character, of which JSON knows nothing.
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
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
