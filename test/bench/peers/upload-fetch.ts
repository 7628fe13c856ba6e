import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { SQSEvent } from 'aws-lambda';
import { signedPath } from './signing.ts';

const keys = { appId: 'bench-app', appKey: 'bench-app-key', userId: '301', userKey: 'bench-key-301' };
const s3 = new S3Client({ forcePathStyle: true });

const upload = async (body: string): Promise<void> => {
  const { orgUnitId, folderId, files } = JSON.parse(body).data;
  const { hostname, pathname } = new URL(files[0].uri);
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: hostname, Key: pathname.slice(1) }));
  const form = new FormData();
  form.append('file', await new Response(Body?.transformToWebStream()).blob(), files[0].name);
  const path = `/svc/api/le/1.82/${orgUnitId}/dropbox/folders/${folderId}/submissions/mysubmissions/`;
  const url = `${process.env.PLATFORM_URL}${signedPath('POST', path, keys)}`;
  const response = await fetch(url, { method: 'POST', body: form });
  await response.text();
};

export const handler = async ({ Records }: SQSEvent) => {
  await Promise.all(Records.map(({ body }) => upload(body)));
  return { batchItemFailures: [] };
};
