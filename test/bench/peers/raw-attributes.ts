import type { SQSEvent } from 'aws-lambda';
import { Pool } from 'undici';
import { signedPath } from './signing.ts';

// The least that a large message can cost: it is parsed and written once, and nothing is checked.

const keys = { appId: 'bench-app', appKey: 'bench-app-key', userId: '100', userKey: 'bench-key-100' };
const pool = new Pool(process.env.PLATFORM_URL ?? '');

type Data = { userId: number; attributes: { attributeId: string; value: string[] }[] };

const send = async (message: string): Promise<void> => {
  const { userId, attributes }: Data = JSON.parse(message).data;
  const path = `/svc/api/lp/1.50/attributes/users/${userId}`;
  const { statusCode, body } = await pool.request({
    method: 'PUT',
    path: signedPath('PUT', path, keys),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      UserId: userId,
      Attributes: attributes.map(({ attributeId, value }) => ({ AttributeId: attributeId, Value: value })),
    }),
  });
  await body.text();
  if (statusCode >= 300) throw new Error(`answered with ${statusCode}`);
};

export const handler = async ({ Records }: SQSEvent) => {
  await Promise.all(Records.map(({ body }) => send(body)));
  return { batchItemFailures: [] };
};
