import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import { Pool } from 'undici';

const endpoint = new URL(process.env.AWS_ENDPOINT_URL_DYNAMODB ?? 'http://127.0.0.1:9');
const pool = new Pool(endpoint.origin);
const signer = new SignatureV4({
  credentials: {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? '',
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? '',
  },
  region: process.env.AWS_REGION ?? '',
  service: 'dynamodb',
  sha256: Sha256,
});

/** Signed as AWS wants it. */
const call = async (action: string, input: object): Promise<void> => {
  const { headers, body } = await signer.sign(
    new HttpRequest({
      method: 'POST',
      headers: {
        host: endpoint.host,
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `DynamoDB_20120810.${action}`,
      },
      body: JSON.stringify({ TableName: process.env.LEDGER_TABLE, ...input }),
    }),
  );
  const answer = await pool.request({ method: 'POST', path: '/', headers, body });
  await answer.body.json();
  if (answer.statusCode >= 300) throw new Error(`answered with ${answer.statusCode}`);
};

type Claimed = { resource: string; id: string; time: string };

/** One conditional UpdateItem. */
export const claim = ({ resource, id }: Claimed): Promise<void> => {
  const nowMs = Date.now();
  return call('UpdateItem', {
    Key: { resource: { S: resource } },
    UpdateExpression: 'SET claimId = :id, leaseMs = :lease, expires = :expires',
    ConditionExpression: 'attribute_not_exists(claimId) OR leaseMs <= :now',
    ExpressionAttributeValues: {
      ':id': { S: id },
      ':lease': { N: String(nowMs + 60_000) },
      ':now': { N: String(nowMs) },
      ':expires': { N: String(Math.floor(nowMs / 1000) + 3_024_000) },
    },
    ReturnValues: 'ALL_OLD',
  });
};

/** One conditional PutItem. */
export const settle = ({ resource, id, time }: Claimed): Promise<void> =>
  call('PutItem', {
    Item: {
      resource: { S: resource },
      claimId: { S: id },
      leaseMs: { N: '0' },
      version: { S: time },
      expires: { N: String(Math.floor(Date.now() / 1000) + 3_024_000) },
    },
    ConditionExpression: 'claimId = :id',
    ExpressionAttributeValues: { ':id': { S: id } },
  });
