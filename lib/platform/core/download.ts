import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { codeOf, reasonOf } from './connection-error.ts';
import { isFileAnswer, type Operation } from './operation.ts';
import { isKnownError, maximumErrorBytes } from './parse-refusal.ts';
import { PlatformError } from './platform-error.ts';
import { type Answer, readStart } from './receive-answer.ts';

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
 * The file that the operation declares, whole and of its type; or an answer that is none. A file may be of any type, and so
 * may be as an error is written: a small one is looked at before it is handed over.
 */
export const fileIn = async (
  { answer }: Operation<unknown>,
  incoming: Dispatcher.ResponseData,
): Promise<Dispatcher.ResponseData | Answer> => {
  const { statusCode: status, headers, body } = incoming;
  const contentType = contentTypeOf(headers);
  const isWhole = status === 200 || status === 203;
  if (!isWhole || !isFileAnswer(answer) || !answer.file.test(contentType)) return readStart(incoming);
  if (!/json|^text\/plain/i.test(contentType) || !(Number(headers['content-length']) <= maximumErrorBytes))
    return incoming;
  const bytes = Buffer.from(await body.arrayBuffer());
  const small = { status, headers, text: bytes.toString() };
  return isKnownError(small) ? small : { ...incoming, body: Readable.from([bytes]) as typeof body };
};

const contentTypeOf = (headers: Dispatcher.ResponseData['headers']): string =>
  String(headers['content-type'] ?? 'application/octet-stream');

/**
 * Lets a file be used. What `use` ends with is given back and not thrown, so that no error of its own is taken for one of
 * the platform.
 * @throws PlatformError where the connection broke while it was read.
 */
export const useFile = async <Result>(
  { headers, body }: Dispatcher.ResponseData,
  about: { operation: Operation<unknown>; call: string },
  use: Use<Result>,
): Promise<PromiseSettledResult<Result>> => {
  // Without a listener the end of a body that nobody read would end the process.
  body.on('error', () => {});
  const contentType = contentTypeOf(headers);
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
    const bytes = /^\d+$/.test(length) ? Number(length) : undefined;
    const [settled] = await Promise.allSettled([use({ bytes, contentType, stream })]);
    if (broken) throw broken;
    return settled;
  } finally {
    body.destroy();
  }
};
