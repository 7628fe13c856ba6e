import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { connectionFailure } from '../../message/network-errors.ts';
import { type HttpAnswer, maxErrorBytes, readStart } from '../../runtime/aws/receive-answer.ts';
import { errorCode } from '../../runtime/privacy/log-text.ts';
import { isFileAnswer, type Operation } from './operation.ts';
import { isKnownError } from './parse-refusal.ts';
import { type CallFacts, PlatformError } from './platform-error.ts';

/** A file that the platform sends. */
export type Download = {
  /** Undefined if the answer does not state it. */
  bytes: number | undefined;
  contentType: string;
  /** Its bytes, which can be read once. Throws a PlatformError if the connection breaks. */
  stream(): AsyncIterable<Uint8Array>;
};

/** Uses a file as a stream. What it leaves unread is dropped, with the connection. */
export type Use<Result> = (file: Download) => Promise<Result>;

/** The file that the operation declares, or an answer that is not that file. A small one that may be an error is checked. */
export const fileIn = async (
  { answer }: Operation<unknown>,
  incoming: Dispatcher.ResponseData,
): Promise<Dispatcher.ResponseData | HttpAnswer> => {
  const { statusCode: status, headers, body } = incoming;
  const contentType = contentTypeOf(headers);
  const isWhole = status === 200 || status === 203;
  if (!isWhole || !isFileAnswer(answer) || !answer.file.test(contentType)) return readStart(incoming);
  if (!/json|^text\/plain/i.test(contentType) || !(Number(headers['content-length']) <= maxErrorBytes))
    return incoming;
  const bytes = Buffer.from(await body.arrayBuffer());
  const small = { status, headers, text: bytes.toString() };
  return isKnownError(small) ? small : { ...incoming, body: Readable.from([bytes]) as typeof body };
};

const contentTypeOf = (headers: Dispatcher.ResponseData['headers']): string =>
  String(headers['content-type'] ?? 'application/octet-stream');

/**
 * Lets `use` read a file. Returns its result or its error instead of throwing it, so that its own error is not mistaken for one
 * of the platform.
 * @throws PlatformError if the connection broke while it was read.
 */
export const useFile = async <Result>(
  { headers, body }: Dispatcher.ResponseData,
  about: CallFacts,
  use: Use<Result>,
): Promise<PromiseSettledResult<Result>> => {
  // Without a listener, an error of a body that nobody reads would end the process.
  body.on('error', () => {});
  const contentType = contentTypeOf(headers);
  const length = String(headers['content-length']);
  let broken: PlatformError | undefined;
  const stream = async function* () {
    try {
      yield* body;
    } catch (error) {
      broken = new PlatformError({ ...about, sent: true, message: connectionFailure(errorCode(error)) });
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
