import { createHmac } from 'node:crypto';
import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import type { SQSEvent } from 'aws-lambda';
import { Pool } from 'undici';

// The least that a message can cost: nothing is checked, counted, logged or kept safe. Where there is a table, the write of a
// claim comes first.

const endpoint = new URL(process.env.AWS_ENDPOINT_URL_DYNAMODB ?? 'http://127.0.0.1:9');
const table = new Pool(endpoint.origin);
const signer = new SignatureV4({
  credentials: {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? '',
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? '',
  },
  region: process.env.AWS_REGION ?? '',
  service: 'dynamodb',
  sha256: Sha256,
});

/** One conditional UpdateItem, signed as AWS wants it. */
const claim = async ({
  resource,
  id,
  time,
}: { [Name in 'resource' | 'id' | 'time']: string }): Promise<void> => {
  const nowMs = Date.now();
  const { headers, body } = await signer.sign(
    new HttpRequest({
      method: 'POST',
      headers: {
        host: endpoint.host,
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.UpdateItem',
      },
      body: JSON.stringify({
        TableName: process.env.LEDGER_TABLE,
        Key: { resource: { S: resource } },
        UpdateExpression: 'SET claimId = :id, leaseMs = :lease, version = :version, expires = :expires',
        ConditionExpression: 'attribute_not_exists(claimId) OR (leaseMs <= :now AND version < :version)',
        ExpressionAttributeValues: {
          ':id': { S: id },
          ':lease': { N: String(nowMs + 60_000) },
          ':now': { N: String(nowMs) },
          ':version': { S: time },
          ':expires': { N: String(Math.floor(nowMs / 1000) + 3_024_000) },
        },
        ReturnValues: 'ALL_OLD',
      }),
    }),
  );
  const answer = await table.request({ method: 'POST', path: '/', headers, body });
  await answer.body.json();
  if (answer.statusCode >= 300) throw new Error(`answered with ${answer.statusCode}`);
};

const keys = { appId: 'bench-app', appKey: 'bench-app-key', userId: '100', userKey: 'bench-key-100' };

const sign = (key: string, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url');

const signedPath = (method: string, path: string): string => {
  const seconds = Math.floor(Date.now() / 1000);
  const base = `${method}&${path.toLowerCase()}&${seconds}`;
  return `${path}?x_a=${keys.appId}&x_b=${keys.userId}&x_c=${sign(keys.appKey, base)}&x_d=${sign(keys.userKey, base)}&x_t=${seconds}`;
};

type Grade = {
  orgUnitId: number;
  gradeObjectId: number;
  userId: number;
  grade: { points: number };
  comments: string;
  privateComments: string;
};

const pool = new Pool(process.env.PLATFORM_URL ?? '');

const send = async (message: string) => {
  const { id, time, data } = JSON.parse(message);
  const { orgUnitId, gradeObjectId, userId, grade, comments, privateComments }: Grade = data;
  if (process.env.LEDGER_TABLE)
    await claim({ resource: `grade/${orgUnitId}/${gradeObjectId}/${userId}`, id, time });
  const path = `/svc/api/le/1.82/${orgUnitId}/grades/${gradeObjectId}/values/${userId}`;
  const { statusCode, body } = await pool.request({
    method: 'PUT',
    path: signedPath('PUT', path),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      GradeObjectType: 1,
      PointsNumerator: grade.points,
      Comments: { Content: comments, Type: 'Text' },
      PrivateComments: { Content: privateComments, Type: 'Text' },
    }),
  });
  await body.text();
  if (statusCode >= 300) throw new Error(`answered with ${statusCode}`);
};

export const handler = async ({ Records }: SQSEvent) => {
  await Promise.all(Records.map(({ body }) => send(body)));
  return { batchItemFailures: [] };
};
