import { addAbortSignal, type Readable } from 'node:stream';
import { MessageFailure } from '../../message/failure.ts';
import { type SafeText, safe } from '../../message/safe-text.ts';
import { errorCode } from '../privacy/log-text.ts';
import { collectGarbage } from './memory-limit.ts';

/** A file of known size; its bytes come when `stream` is read, which is possible once. */
export type OpenedFile = { readonly bytes: number; stream(): AsyncIterable<Uint8Array> };

/** A file at its source: S3 or an https server. */
export type FileSource = {
  bytes: number;
  body(): Promise<Readable>;
  /** Called after the last byte; throws if the file was not complete. */
  finish?(): Promise<void>;
};

export type SourceOptions = {
  /** The file's name in errors. */
  name: SafeText;
  /** Ends the reading, and releases everything that the source holds. */
  signal: AbortSignal;
  /** The time limit between two chunks, without the time that the consumer takes. */
  timeoutMs: number;
  /** Releases what the source holds, if the file was not read to its end. */
  abandon(): void;
};

/** Exactly `bytes` bytes, or an error: the size was promised to the platform before the first of them was read. */
export const openedFile = (source: FileSource, options: SourceOptions): OpenedFile => {
  let isStreamed = false;
  return {
    bytes: source.bytes,
    stream: () => {
      if (isStreamed) throw new Error('A file is streamed a second time');
      isStreamed = true;
      return exactly(source, options);
    },
  };
};

async function* exactly(
  source: FileSource,
  options: SourceOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { name } = options;
  let missing = source.bytes;
  let isWhole = false;
  try {
    for await (const piece of pieces(await source.body(), options)) {
      missing -= piece.byteLength;
      if (missing < 0)
        throw new MessageFailure('unavailable', safe`${name}: more bytes came than its length says`);
      yield piece;
      collectPieces(piece.byteLength);
    }
    if (missing > 0) throw new MessageFailure('unavailable', safe`${name}: ended ${missing} bytes too early`);
    await source.finish?.();
    isWhole = true;
  } catch (error) {
    if (error instanceof MessageFailure) throw error;
    throw new MessageFailure(
      'unavailable',
      safe`${name}: the connection broke while the file was read (${errorCode(error)})`,
      {
        cause: error,
      },
    );
  } finally {
    if (!isWhole) options.abandon();
  }
}

async function* pieces(
  body: Readable,
  { signal, timeoutMs }: SourceOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  addAbortSignal(signal, body);
  const iterator: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  for (;;) {
    const next = await within(timeoutMs, (late) => {
      late.addEventListener('abort', () => body.destroy(late.reason));
      return iterator.next();
    });
    if (next.done) return;
    yield next.value;
  }
}

const collectEveryBytes = 4 * 1024 * 1024;
let passedBytes = 0;

/**
 * Chunks that were consumed are garbage outside of V8's heap, which V8 collects only after 64 MB: a 200 MB file cost a fresh
 * process 70 to 110 MB. Minor collections cost less CPU time than none (430 ms instead of 780), as the same memory is reused
 * while it is in the cache. For 1 GiB in half a second, the process grows by 80 MB with one collection every 16 MB, by 52 MB with
 * one every 8, and by 29 MB with one every 4, for 0.48 s of CPU time instead of 0.44.
 */
const collectPieces = (bytes: number): void => {
  passedBytes += bytes;
  if (passedBytes < collectEveryBytes) return;
  passedBytes = 0;
  collectGarbage('minor');
};

/** Runs work with a signal that fires after a time limit, and never after the work is done. */
export const within = async <Result>(
  timeoutMs: number,
  work: (late: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('too slow', 'TimeoutError')), timeoutMs);
  try {
    return await work(late.signal);
  } finally {
    clearTimeout(timer);
  }
};
