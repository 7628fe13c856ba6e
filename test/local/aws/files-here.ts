import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { VersionOf } from './object-versions.ts';
import type { S3Store } from './sqs-fidelity.ts';

type Emulated = {
  store: S3Store;
  versionOf: VersionOf;
  /** A call must meet its fault. */
  hasFaults(): boolean;
};

/**
 * The emulated files without HTTP, which takes most of the time of a job that does little. What this does not know, and what is
 * refused or has a fault, goes by HTTP as before.
 */
export function withoutHttp(client: S3Client, { hasFaults, ...emulated }: Emulated): S3Client {
  const byHttp = client.send.bind(client) as (command: unknown, ...others: unknown[]) => Promise<unknown>;
  const send = async (command: unknown, ...others: unknown[]): Promise<unknown> => {
    if (hasFaults()) return byHttp(command, ...others);
    let answer: object | undefined;
    try {
      answer = answerTo(command, emulated);
    } catch {
      // The emulator refuses it; that changes nothing, so that it can be asked again.
    }
    return answer === undefined ? byHttp(command, ...others) : { $metadata: {}, ...answer };
  };
  return Object.assign(client, { send });
}

/** Undefined where it is not known. @throws what the emulator refuses. */
function answerTo(command: unknown, emulated: Here): object | undefined {
  const { store } = emulated;
  if (command instanceof PutObjectCommand) return put(command.input, emulated);
  if (command instanceof GetObjectCommand) return get(command.input, emulated);
  if (command instanceof ListObjectsV2Command) return list(command.input, store);
  if (command instanceof HeadObjectCommand) {
    const { Bucket = '', Key = '', VersionId } = command.input;
    return VersionId === undefined ? described(store.headObject(Bucket, Key), emulated) : undefined;
  }
  if (!(command instanceof DeleteObjectCommand)) return undefined;
  const { Bucket = '', Key = '', VersionId } = command.input;
  if (VersionId !== undefined) return undefined;
  store.deleteObject(Bucket, Key);
  return {};
}

type Here = Omit<Emulated, 'hasFaults'>;

function put(input: PutObjectCommand['input'], { store, versionOf }: Here) {
  const { Bucket = '', Key = '', Body, ContentType, ...others } = input;
  if (Object.keys(others).length > 0) return undefined;
  if (typeof Body !== 'string' && !(Body instanceof Uint8Array)) return undefined;
  // A copy: the caller may go on with its own bytes.
  const object = store.putObject(Bucket, Key, Buffer.from(Body as Uint8Array), ContentType);
  return { ETag: object.etag, VersionId: versionOf(object) };
}

function get(input: GetObjectCommand['input'], emulated: Here) {
  const { Bucket = '', Key = '', IfMatch, Range, ...others } = input;
  const object = emulated.store.getObject(Bucket, Key);
  const [, from = '', to = ''] = Range?.match(/^bytes=(\d+)-(\d+)$/) ?? [];
  if (Object.keys(others).length > 0 || (IfMatch !== undefined && IfMatch !== object.etag)) return undefined;
  if (Range !== undefined && (to === '' || Number(from) >= object.body.length)) return undefined;
  const body = Range === undefined ? object.body : object.body.subarray(Number(from), Number(to) + 1);
  const Body = Object.assign(Readable.from(piecesOf(body), { objectMode: false }), {
    transformToString: async (encoding?: BufferEncoding) => body.toString(encoding),
    transformToByteArray: async () => new Uint8Array(body),
  });
  return { ...described(object, emulated), ContentLength: body.length, Body };
}

const pieceBytes = 64 * 1024;

/** As they come from a connection. */
function* piecesOf(body: Buffer) {
  for (let from = 0; from < body.length; from += pieceBytes)
    yield Buffer.from(body.subarray(from, from + pieceBytes));
}

function list(input: ListObjectsV2Command['input'], store: S3Store) {
  const { Bucket = '', Prefix = '', MaxKeys = 1_000, ContinuationToken = '', ...others } = input;
  if (Object.keys(others).length > 0) return undefined;
  const startAfter = Buffer.from(ContinuationToken, 'base64').toString();
  const found = store.listObjects(Bucket, { prefix: Prefix, maxKeys: Math.min(MaxKeys, 1_000), startAfter });
  const Contents = found.objects.map(({ key, contentLength, etag, lastModified }) => {
    const LastModified = new Date(lastModified);
    return { Key: key, Size: contentLength, ETag: etag, LastModified, StorageClass: 'STANDARD' };
  });
  const last = found.isTruncated ? found.objects.at(-1)?.key : undefined;
  return {
    ...(Contents.length > 0 && { Contents }),
    KeyCount: Contents.length,
    IsTruncated: found.isTruncated,
    ...(last !== undefined && { NextContinuationToken: Buffer.from(last).toString('base64') }),
  };
}

function described(object: ReturnType<S3Store['headObject']>, { versionOf }: Here) {
  const { etag, contentType, contentLength, lastModified } = object;
  // A header tells no more than seconds.
  const LastModified = new Date(Math.floor(lastModified.getTime() / 1000) * 1000);
  const VersionId = versionOf(object);
  return { ETag: etag, ContentType: contentType, ContentLength: contentLength, LastModified, VersionId };
}
