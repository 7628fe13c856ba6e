import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { afterAll, expect, test } from 'vitest';
import { exportJob } from '../../../lib/options/course-export/export.ts';
import { requestedIn } from '../../../lib/options/course-export/export-request.ts';
import { exportOperations } from '../../../lib/options/course-export/parts.ts';
import type { ExportTotals } from '../../../lib/options/course-export/totals.ts';
import { createAuthenticator } from '../../../lib/platform/auth/auth.ts';
import { createPlatformClient, type PlatformClient } from '../../../lib/platform/client/client.ts';
import type { Engine } from '../../../lib/runtime/jobs/engine.ts';
import { createJobStore } from '../../../lib/runtime/jobs/store.ts';
import { createObserve } from '../../../lib/runtime/telemetry/observe.ts';
import { loadFunctions } from '../../../lib/stage/integrations.ts';
import { calledOperations } from '../../lib/platform/called-operations.ts';
import { clientOptions } from '../../lib/platform/servers.ts';
import { scopedStage, scopesNeededBy } from '../../lib/stage/scoped-stage.ts';
import { localClient } from '../../local/aws/aws.ts';

const { stage, grant, credential } = scopedStage();
const needed = scopesNeededBy(exportOperations);

/** An execution that nothing interrupts. */
const unrecorded: Engine = {
  executionArn: 'arn:aws:lambda:us-east-1:0:function:course-export:1/durable-execution/a/b',
  invocationId: 'an invocation',
  leftMs: () => 60_000,
  operations: () => 1,
  recordBy: () => {},
  onWait: () => {},
  approval: async () => undefined,
  // A scope that is missing is no cause to wait.
  wait: (name) => Promise.reject(new Error(`it waits: ${name}`)),
  step: async (_, { work }) => work(),
  map: async (_, items, { work }) => Promise.all(items.map((item) => work(item, unrecorded))),
};

const clients: PlatformClient[] = [];
afterAll(() => Promise.all(clients.map((client) => client.close())));

const example = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../events/course-export.json'), 'utf8'),
);
/** An export in this process. */
const exported = async (event: object) => {
  const platform = createPlatformClient(
    clientOptions(stage.description().platform),
    createAuthenticator({ read: async () => ({ credential: credential(), version: '1' }), refuse: () => {} }),
  );
  clients.push(platform);
  const { s3: url, bucket } = stage.description();
  const s3 = new S3Client({ ...localClient(url), forcePathStyle: true });
  const store = createJobStore({ s3, bucket });
  const services = {
    platform,
    store,
    running: async () => [unrecorded.executionArn],
    observe: createObserve({ function: 'course-export', level: 'silent', namespace: 'test' }),
    limits: {
      prefix: '',
      concurrency: 4,
      reserveMs: 0,
      maxWaitMs: 0,
      backoff: { minimumSeconds: 1, maximumSeconds: 1 },
    },
  };
  const { outcome, runId } = await exportJob(async () => services).run(requestedIn(event), unrecorded);
  const { failures } = (await store.readJson(`${runId}/manifest.json`)) as Pick<ExportTotals, 'failures'>;
  s3.destroy();
  return { outcome, failures };
};

test.each([
  ['of all courses', {}],
  ['with details', example],
])('course-export %s does its work with exactly the scopes that are listed', async (_, event) => {
  await grant(needed);
  expect(await exported(event)).toEqual({ outcome: 'complete', failures: [] });
});

test('course-export calls all that it declares', async () => {
  await grant(needed);
  for (const event of [{}, example]) await exported(event);
  const called = calledOperations(await stage.controls().requests());
  expect(new Set(called)).toEqual(new Set(exportOperations));
});

test.each(needed)('course-export writes into its manifest that the scope %s is missing', async (missing) => {
  await grant(needed.filter((scope) => scope !== missing));
  const { failures } = await exported(example);
  const requirements = failures.map(({ kind, required }) => `${kind}: ${required}`);
  expect(new Set(requirements)).toEqual(new Set([`missing-scope: ${missing}`]));
});

test('course-export declares these operations', async () => {
  const found = (await loadFunctions()).find(({ name }) => name === 'course-export');
  expect(found?.operations).toEqual(exportOperations);
});
