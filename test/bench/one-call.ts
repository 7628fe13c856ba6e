import type { SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import { createAuthenticator } from '../../lib/platform/auth/auth.ts';
import { createPlatformClient } from '../../lib/platform/client/client.ts';
import { reading } from '../../lib/platform/client/operation.ts';

// One call of the platform a message, and nothing else, to compare the two ways in which the client connects.

const credential = {
  type: 'id-key',
  appId: 'bench-app',
  appKey: 'bench-app-key',
  userId: '301',
  userKey: 'bench-key-301',
} as const;

const client = createPlatformClient(
  {
    baseUrl: process.env.PLATFORM_URL ?? '',
    apiRoot: '/svc/api',
    versions: { lp: '1.49', le: '1.82' },
    overrides: {},
    connectTimeoutMs: 5_000,
    headersTimeoutMs: 15_000,
    bodyTimeoutMs: 15_000,
  },
  createAuthenticator({ read: async () => ({ credential, version: '1' }), refuse: () => {} }),
);

const once = reading({
  name: 'bench',
  call: 'POST /lp/bench/',
  scope: undefined,
  repeatable: process.env.REPEATABLE === 'true',
  answer: z.looseObject({ UserId: z.number() }),
});

export const handler = async ({ Records }: SQSEvent) => {
  const platform = client.for({ actor: undefined, signal: AbortSignal.timeout(60_000), onCall: () => {} });
  await Promise.all(Records.map(() => platform.call(once, { json: { Text: 'a comment', Html: null } })));
  return { batchItemFailures: [] };
};
