import type { SQSEvent } from 'aws-lambda';
import { Pool } from 'undici';
import { claim, settle } from './raw-claim.ts';
import { signedPath } from './signing.ts';

// The least that a message can cost: nothing is checked, counted, logged or kept safe. The ledger is written before and after.

type Grade = {
  orgUnitId: number;
  gradeObjectId: number;
  userId: number;
  grade: { points: number };
  comments: string;
  privateComments: string;
};

const keys = { appId: 'bench-app', appKey: 'bench-app-key', userId: '100', userKey: 'bench-key-100' };
const pool = new Pool(process.env.PLATFORM_URL ?? '');

const send = async (message: string) => {
  const { id, time, data } = JSON.parse(message);
  const { orgUnitId, gradeObjectId, userId, grade, comments, privateComments }: Grade = data;
  const resource = `grade/${orgUnitId}/${gradeObjectId}/${userId}`;
  await claim({ resource, id, time });
  const path = `/svc/api/le/1.82/${orgUnitId}/grades/${gradeObjectId}/values/${userId}`;
  const { statusCode, body } = await pool.request({
    method: 'PUT',
    path: signedPath('PUT', path, keys),
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
  await settle({ resource, id, time });
};

export const handler = async ({ Records }: SQSEvent) => {
  await Promise.all(Records.map(({ body }) => send(body)));
  return { batchItemFailures: [] };
};
