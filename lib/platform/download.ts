import type { Dispatcher } from 'undici';
import { PlatformError } from './error.ts';
import { isFileAnswer, type Operation } from './operation.ts';
import { codeOf, reasonOf } from './silence.ts';

/** A file as it comes from the platform. */
export type Download = {
  /** Undefined where the platform does not tell. */
  bytes: number | undefined;
  contentType: string;
  /** Its bytes, which can be read once. A connection that breaks ends them with a PlatformError. */
  stream(): AsyncIterable<Uint8Array>;
};

/** What is done with a file while it comes; what is left unread when it ends is let go of, with its connection. */
export type Use<Result> = (file: Download) => Promise<Result>;

/**
 * Lets a file be used. What `use` ends with is given back and not thrown, so that no error of its own is taken for one of
 * the platform.
 * @throws PlatformError where the answer is no such file, or the connection broke while it was read.
 */
export const useFile = async <Result>(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  about: { operation: Operation<unknown>; call: string },
  use: Use<Result>,
): Promise<PromiseSettledResult<Result>> => {
  // Without a listener the end of a body that nobody read would end the process.
  body.on('error', () => {});
  const contentType = String(headers['content-type'] ?? 'application/octet-stream');
  const length = String(headers['content-length']);
  let broken: PlatformError | undefined;
  const stream = async function* () {
    try {
      yield* body;
    } catch (error) {
      broken = new PlatformError({ ...about, sent: true, message: reasonOf(codeOf(error)) });
      throw broken;
    }
  };
  try {
    const { answer } = about.operation;
    if (!isFileAnswer(answer) || !answer.file.test(contentType))
      throw new PlatformError({
        ...about,
        sent: true,
        message: `answered ${statusCode} with ${typeIn(contentType)}`,
      });
    const bytes = /^\d+$/.test(length) ? Number(length) : undefined;
    const [settled] = await Promise.allSettled([use({ bytes, contentType, stream })]);
    if (broken) throw broken;
    return settled;
  } finally {
    body.destroy();
  }
};

/** No more of it than a type: what follows one, or is too long to be one, may repeat the request. */
const typeIn = (contentType: string): string =>
  /^[a-z]{1,15}(?![\w.+-])(?:\/[\w.+-]{1,30}(?![\w.+-]))?/i.exec(contentType)?.[0] ?? 'what names no type';
