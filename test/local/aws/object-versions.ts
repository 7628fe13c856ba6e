import { randomUUID } from 'node:crypto';
import type { buildApp } from 'fauxqs';
import type { S3Store } from './sqs-fidelity.ts';

type App = ReturnType<typeof buildApp>;
type Stored = ReturnType<S3Store['headObject']>;
type RequestParts = Record<string, string | undefined>;

/** Undefined: the bucket kept no versions when the object was put. */
export type VersionOf = (object: Stored) => string | undefined;

const header = 'x-amz-version-id';

/** Where a version lies; no key holds a line feed here. */
const placeOf = (key: string, id: string): string => `${key}\n${id}`;

/**
 * S3's versions, which fauxqs has not. As S3 documents them: `PutBucketVersioning` switches them on; a put, a copy and a completed
 * upload answer `x-amz-version-id`, and so do GET and HEAD, which take a `versionId`; a DELETE without one leaves the versions. There
 * are no delete markers, no lists of versions and no copies of old ones.
 */
export function keepVersions(app: App, store: S3Store): VersionOf {
  /** By bucket, and by place. */
  const kept = new Map<string, Map<string, ReturnType<S3Store['getObject']>>>();
  const ids = new WeakMap<Stored, string>();

  const keep = (bucket: string, object: ReturnType<S3Store['getObject']>) => {
    const versions = kept.get(bucket);
    if (versions === undefined) return object;
    const id = randomUUID().replaceAll('-', '');
    ids.set(object, id);
    versions.set(placeOf(object.key, id), object);
    return object;
  };
  const { putObject, getObject, headObject, createMultipartUpload, completeMultipartUpload } = store;
  const bucketOf = new Map<string, string>();
  store.putObject = (bucket, ...given) => keep(bucket, putObject.call(store, bucket, ...given));
  store.createMultipartUpload = (bucket, ...given) => {
    const uploadId = createMultipartUpload.call(store, bucket, ...given);
    bucketOf.set(uploadId, bucket);
    return uploadId;
  };
  store.completeMultipartUpload = (uploadId, parts) =>
    keep(bucketOf.get(uploadId) ?? '', completeMultipartUpload.call(store, uploadId, parts));
  store.getObject = (bucket, key) => kept.get(bucket)?.get(key) ?? getObject.call(store, bucket, key);
  store.headObject = (bucket, key) => kept.get(bucket)?.get(key) ?? headObject.call(store, bucket, key);

  app.addHook('preHandler', async (request, reply) => {
    const { bucket = '', '*': key = '' } = request.params as RequestParts;
    const { versioning, versionId } = request.query as RequestParts;
    if (versioning !== undefined && request.method === 'PUT' && key === '') {
      if (/<Status>Enabled</.test(String(request.body))) kept.set(bucket, kept.get(bucket) ?? new Map());
      return reply.code(200).send();
    }
    if (versionId === undefined) return;
    const place = placeOf(key, versionId);
    const object = kept.get(bucket)?.get(place);
    if (object === undefined) {
      const text = '<Error><Code>NoSuchVersion</Code><Message>There is no such version</Message></Error>';
      return reply.header('content-type', 'application/xml').code(404).send(text);
    }
    if (request.method !== 'DELETE') request.params = { bucket, '*': place };
    else {
      kept.get(bucket)?.delete(place);
      if (currentOf(store, { bucket, key }) === object) store.deleteObject(bucket, key);
      return reply.code(204).send();
    }
  });
  // Not async: fauxqs' handlers are over before a second async hook is, and Fastify would answer twice.
  app.addHook('onSend', (request, reply, payload, done) => {
    const { bucket = '', '*': key = '' } = request.params as RequestParts;
    const { uploads, partNumber } = request.query as RequestParts;
    const isOfObject = uploads === undefined && partNumber === undefined && request.method !== 'DELETE';
    if (key !== '' && isOfObject && reply.statusCode < 300) {
      const object = currentOf(store, { bucket, key });
      const id = object && ids.get(object);
      if (id !== undefined) reply.header(header, id);
    }
    done(null, payload);
  });
  return (object) => ids.get(object);
}

function currentOf(store: S3Store, { bucket, key }: { bucket: string; key: string }): Stored | undefined {
  try {
    return store.headObject(bucket, key);
  } catch {
    return undefined;
  }
}
