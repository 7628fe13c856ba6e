import { randomUUID } from 'node:crypto';
import type { buildApp } from 'fauxqs';

/** What S3 tells a function of an object, as it is in the event. */
export type ObjectNotice = {
  eventName: string;
  s3: {
    bucket: { name: string };
    object: { key: string; size: number; eTag: string; versionId?: string; sequencer: string };
  };
};

type Listener = (notice: ObjectNotice) => void;

/** S3's notices of new objects, which fauxqs has not: whoever listens is told of each that was put, copied or completed. */
export function tellOfObjects(app: ReturnType<typeof buildApp>, awsRegion: string) {
  const listeners: Listener[] = [];
  let last = 0;
  app.addHook('onResponse', async (request, reply) => {
    const { bucket = '', '*': key = '' } = request.params as Record<string, string>;
    const { uploadId } = request.query as Record<string, string>;
    const eventName = nameOf(request.method, {
      isUpload: uploadId !== undefined,
      isCopy: request.headers['x-amz-copy-source'] !== undefined,
    });
    if (listeners.length === 0 || !eventName || key === '' || reply.statusCode !== 200) return;
    const version = reply.getHeader('x-amz-version-id');
    const ofVersion = version === undefined ? '' : `?versionId=${version}`;
    const url = `/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}${ofVersion}`;
    const { statusCode, headers } = await app.inject({ method: 'HEAD', url });
    if (statusCode !== 200) return;
    last = Math.max(last + 1, Date.now());
    const notice = {
      eventVersion: '2.1',
      eventSource: 'aws:s3',
      awsRegion,
      eventTime: new Date().toISOString(),
      eventName: `ObjectCreated:${eventName}`,
      userIdentity: { principalId: 'AWS:local' },
      requestParameters: { sourceIPAddress: '127.0.0.1' },
      responseElements: { 'x-amz-request-id': randomUUID() },
      s3: {
        s3SchemaVersion: '1.0',
        configurationId: 'local',
        bucket: { name: bucket, ownerIdentity: { principalId: 'local' }, arn: `arn:aws:s3:::${bucket}` },
        object: {
          key: encodeURIComponent(key).replaceAll('%2F', '/').replaceAll('%20', '+'),
          size: Number(headers['content-length']),
          eTag: String(headers.etag).replaceAll('"', ''),
          ...(version !== undefined && { versionId: String(version) }),
          // Of two of one key, the later one's is greater.
          sequencer: last.toString(16).toUpperCase().padStart(18, '0'),
        },
      },
    };
    for (const listener of listeners) listener(notice);
  });
  return (listener: Listener): void => void listeners.push(listener);
}

/** A part of an upload is no object, and neither is an upload that begins. */
function nameOf(method: string, { isUpload, isCopy }: { isUpload: boolean; isCopy: boolean }) {
  if (method === 'POST') return isUpload ? 'CompleteMultipartUpload' : undefined;
  if (method !== 'PUT' || isUpload) return undefined;
  return isCopy ? 'Copy' : 'Put';
}
