import { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { MessageFailure } from '../../message/failure.ts';
import { type SafeText, safe } from '../../message/safe-text.ts';
import { awsTroubleIn } from '../aws/error.ts';
import { checkFileHosts } from '../aws/file-hosts.ts';
import { errorCode } from '../privacy/log-text.ts';
import type { HttpsFileOptions } from './https.ts';
import { type FileSource, type OpenedFile, openedFile, within } from './source.ts';
import { type FileRules, parseFileUri } from './uri.ts';

/** Opens the files that messages name. When the signal fires, files that were not read are released. */
export type Files = { open(uri: string, limits: FileLimits): Promise<OpenedFile> };

export type FileLimits = { maximumBytes: number; signal: AbortSignal };

export type FilesOptions = FileRules & {
  /** Called when the first s3:// file is opened, so that messages without files do not load the SDK. */
  s3: () => Promise<S3Client>;
  /** The time limit of each step: the connection, the answer's headers, the time between two chunks of the body. */
  timeoutMs: number;
} & Pick<HttpsFileOptions, 'resolve' | 'tls'>;

/**
 * Failures are `invalid` if the message names something unusable, `unavailable` if waiting may help. A file that ends early or
 * changes fails while it is streamed.
 */
export const createFiles = (options: FilesOptions): Files & { close(): Promise<void> } => {
  checkFileHosts(options.hosts);
  const closing = new AbortController();

  const open = async (uri: string, limits: FileLimits): Promise<OpenedFile> => {
    const location = parseFileUri(uri, options);
    const { name } = location;
    const abandoning = new AbortController();
    const signal = AbortSignal.any([limits.signal, closing.signal, abandoning.signal]);
    const abandon = () => abandoning.abort();
    try {
      const source =
        location.scheme === 's3'
          ? await openObject(location, { client: await options.s3(), signal, timeoutMs: options.timeoutMs })
          : await openHttps(name, location.url, { ...options, signal });
      if (source.bytes > limits.maximumBytes) throw tooLarge(name, source.bytes, limits.maximumBytes);
      return openedFile(source, { name, signal, timeoutMs: options.timeoutMs, abandon });
    } catch (error) {
      abandon();
      throw error;
    }
  };

  return { open, close: async () => closing.abort() };
};

/** Loaded when needed: few messages name such a file. */
const openHttps: typeof import('./https.ts').openHttpsFile = async (...given) =>
  (await import('./https.ts')).openHttpsFile(...given);

const tooLarge = (name: SafeText, bytes: number, maximumBytes: number): MessageFailure =>
  new MessageFailure('invalid', safe`${name} has ${bytes} bytes; the limit is ${maximumBytes}`, {
    remedy: 'Make the file smaller and send the message again. Or raise the limit and replay.',
  });

/** An object that S3 itself has named. */
export type StoredObject = { bucket: string; key: string; versionId?: string | undefined };

export type StoredFile = OpenedFile & {
  name: SafeText;
  /** Identifies the content that is read. */
  etag: string;
  /** First byte that is read: 0, unless the object is unchanged. */
  start: number;
};

/** Opens an object to continue from a byte of it. Failures are those of `Files`. */
export const openStored = async (
  { bucket, key, versionId }: StoredObject,
  { from, ...access }: S3Access & { maximumBytes: number; from?: { byte: number; etag: string } | undefined },
): Promise<StoredFile> => {
  const location = parseFileUri(`s3://${bucket}/${key}`, { hosts: [], allowLoopback: false });
  if (location.scheme !== 's3') throw new Error('The uri names no object');
  const abandoning = new AbortController();
  const signal = AbortSignal.any([access.signal, abandoning.signal]);
  const { name } = location;
  const source = await openObject({ ...location, versionId, from }, { ...access, signal });
  if (source.start + source.bytes > access.maximumBytes)
    throw tooLarge(name, source.start + source.bytes, access.maximumBytes);
  const { timeoutMs } = access;
  const file = openedFile(source, { name, signal, timeoutMs, abandon: () => abandoning.abort() });
  return { ...file, name, etag: source.etag, start: source.start };
};

type S3Access = { client: S3Client; signal: AbortSignal; timeoutMs: number };
type ObjectToRead = StoredObject & { name: SafeText; from?: { byte: number; etag: string } | undefined };

/** The size is requested now and the bytes later, so that several files can be open while one of them is read. */
const openObject = async (
  { name, bucket, key, versionId, from }: ObjectToRead,
  { client, signal, timeoutMs }: S3Access,
): Promise<FileSource & { etag: string; start: number }> => {
  const { GetObjectCommand, HeadObjectCommand } = await import('@aws-sdk/client-s3');
  const asking = <Answer>(ask: (abortSignal: AbortSignal) => Promise<Answer>): Promise<Answer> =>
    within(timeoutMs, (late) => ask(AbortSignal.any([signal, late]))).catch((error: unknown) => {
      throw s3Failure(name, error);
    });
  const where = { Bucket: bucket, Key: key, ...(versionId !== undefined && { VersionId: versionId }) };
  const head = await asking((abortSignal) => client.send(new HeadObjectCommand(where), { abortSignal }));
  if (head.ContentLength === undefined)
    throw new MessageFailure('unavailable', safe`${name}: S3 did not say how long the file is`);
  const start = from && from.etag === head.ETag ? Math.min(from.byte, head.ContentLength) : 0;
  const bytes = head.ContentLength - start;
  return {
    bytes,
    etag: head.ETag ?? '',
    start,
    body: async () => {
      // S3 refuses a range of no bytes.
      if (start > 0 && bytes === 0) return Readable.from([]);
      const range = start > 0 ? { Range: `bytes=${start}-` } : {};
      const get = new GetObjectCommand({ ...where, ...range, IfMatch: head.ETag });
      const { Body } = await asking((abortSignal) => client.send(get, { abortSignal }));
      if (!(Body instanceof Readable))
        throw new Error('The S3 client answered with something else than a stream');
      return Body;
    },
  };
};

const s3Failure = (name: SafeText, error: unknown): MessageFailure => {
  const { $metadata } = Object(error) as { $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  // S3 answers 403 for a missing object if the caller may not list the bucket.
  if (status === 403 || status === 404)
    return new MessageFailure(
      'invalid',
      safe`${name}: does not exist, or may not be read (S3 answered ${status})`,
      {
        remedy: 'Put the file there, or let the function’s role read it (s3:GetObject), then replay.',
      },
    );
  if (status === 301)
    return new MessageFailure('invalid', safe`${name}: the bucket is in another region`, {
      remedy: 'Copy the file into a bucket in the function’s region, and name it in the message.',
    });
  if (status === 412)
    return new MessageFailure('unavailable', safe`${name}: changed while it was being read`);
  const trouble = awsTroubleIn(error);
  if (trouble?.kind === 'aws-refused')
    return new MessageFailure(trouble.kind, safe`${name}: ${trouble.message}`, { remedy: trouble.remedy });
  return new MessageFailure('unavailable', safe`${name}: S3 did not answer (${status ?? errorCode(error)})`, {
    cause: error,
  });
};

/** The type of an image by its first bytes, and the whole file to read; undefined if it is no image. */
export const sniffImage = async (
  file: OpenedFile,
): Promise<{ contentType: ImageType; file: OpenedFile } | undefined> => {
  const pieces = file.stream()[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < longestSignature) {
    const next = await pieces.next();
    if (next.done) break;
    start = Buffer.concat([start, next.value]);
  }
  const contentType = imageTypes.find(([, signature]) =>
    start.subarray(0, signature.length).equals(signature),
  )?.[0];
  if (contentType)
    return { contentType, file: { bytes: file.bytes, stream: () => continued(start, pieces) } };
  await pieces.return?.();
  return undefined;
};

async function* continued(start: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield start;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

type ImageType = 'image/png' | 'image/jpeg' | 'image/gif';

const imageTypes: [ImageType, Buffer][] = [
  ['image/png', Buffer.from('89504e470d0a1a0a', 'hex')],
  ['image/jpeg', Buffer.from('ffd8ff', 'hex')],
  ['image/gif', Buffer.from('GIF87a')],
  ['image/gif', Buffer.from('GIF89a')],
];

const longestSignature = 8;
