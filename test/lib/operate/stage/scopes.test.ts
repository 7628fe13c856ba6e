import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { afterAll, describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../../../functions/enrollment-create.ts';
import { integration as gradePush } from '../../../../functions/grade-push.ts';
import { fillOperations } from '../../../../lib/delivery/crosswalk/fill/listings.ts';
import type { Engine } from '../../../../lib/delivery/durable/engine.ts';
import { createJobStore } from '../../../../lib/delivery/durable/store.ts';
import type { LetterFailure } from '../../../../lib/delivery/letters/dead-letter.ts';
import { checkConnection, connectionOperations } from '../../../../lib/operate/stage/connection/check.ts';
import { withConnection } from '../../../../lib/operate/stage/connection/connection.ts';
import { loadFunctions, loadIntegrations } from '../../../../lib/operate/stage/integrations.ts';
import { scopesByFunction, scopesOf, scopeText } from '../../../../lib/operate/stage/scopes.ts';
import { targetFrom } from '../../../../lib/operate/stage/target.ts';
import { type Credential, createAuthenticator } from '../../../../lib/platform/auth/auth.ts';
import { createPlatformClient, type PlatformClient } from '../../../../lib/platform/client/client.ts';
import type { Operation } from '../../../../lib/platform/client/operation.ts';
import { getGradeObjects } from '../../../../lib/platform/resources/grade-objects.ts';
import { operations } from '../../../../lib/platform/resources/operations.ts';
import { createObserve } from '../../../../lib/runtime/telemetry/observe.ts';
import { exportJob } from '../../../../lib/scheduled/course-export/export.ts';
import { exportOperations } from '../../../../lib/scheduled/course-export/parts.ts';
import { askedIn } from '../../../../lib/scheduled/course-export/request.ts';
import type { ExportTotals } from '../../../../lib/scheduled/course-export/totals.ts';
import { reconcileOperations } from '../../../../lib/scheduled/reconcile/check.ts';
import { integrationStage, type Part } from '../../../integration-stage.ts';
import { parts } from '../../../integrations.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { calledOperations } from '../../platform/called-operations.ts';
import { narrowClient } from '../../platform/narrow-client.ts';
import { clientOptions } from '../../platform/servers.ts';

describe('the scopes of a function', () => {
  test('are those of the operations that it declares, each with what needs it', () => {
    expect(scopesOf(gradePush)).toEqual([
      { scope: 'grades:gradeobjects:read', operations: ['list-grade-objects'] },
      { scope: 'grades:gradevalues:read', operations: ['read-grade-value'] },
      { scope: 'grades:gradevalues:write', operations: ['set-grade-value'] },
    ]);
  });

  test('are told once each, in order, and leave out what needs none', () => {
    const all = scopesOf({ operations });
    const scopes = all.map(({ scope }) => scope);
    expect(scopes).toEqual([...new Set(scopes)].sort());
    expect(all.flatMap(({ operations }) => operations)).not.toContain('list-versions');
    expect(all.find(({ scope }) => scope === 'lti:links:update')).toEqual({
      scope: 'lti:links:update',
      operations: ['update-lti-link'],
    });
  });

  test('are what the site says they are', () => {
    const overrides = {
      'read-grade-value': { scope: 'grades:own:read' },
      'set-grade-value': { path: '/x/{orgUnitId}' },
    };
    expect(scopesOf(gradePush, overrides).map(({ scope }) => scope)).toEqual([
      'grades:gradeobjects:read',
      'grades:gradevalues:write',
      'grades:own:read',
    ]);
  });

  test('are listed by function, and together as a client asks for them', () => {
    const table = scopesByFunction([enrollmentCreate, gradePush, enrollmentCreate]);
    expect(Object.keys(table)).toEqual(['enrollment-create', 'grade-push']);
    expect(scopeText(Object.values(table))).toBe(
      'enrollment:orgunit:create enrollment:orgunit:read grades:gradeobjects:read grades:gradevalues:read grades:gradevalues:write',
    );
  });
});

let granted: Credential;
const stage = integrationStage({ credentialOf: () => granted });

/** From now on the service, and every user, has a token with these scopes alone. */
const grant = async (scopes: string[], userId = 100) => {
  granted = await narrowClient(stage.description().platform, { userId, scopes });
  if (scopes.includes(own)) return;
  const detail = `Insufficient scope to call API. Required: ${own}`;
  const body = { title: 'Not Authorized', detail, status: 403 };
  const headers = { 'content-type': 'application/problem+json' };
  await stage.controls().fault({ status: 403, headers, body }, { path: '/users/whoami$', times: 9 });
};
/** The specification names no scope for this call, and so the local platform asks for none: this site does. */
const own = 'users:own_profile:read';

/** Beside its example, what makes a function call the rest of what it may. */
const further: Record<string, object> = {
  // What its points are out of is compared with the grade object's maximum.
  'grade-push': {
    ...{ orgUnitId: 2001, gradeObjectId: 5001, userId: 302 },
    grade: { type: 'numeric', points: 7, outOf: 10 },
  },
  // Whom it does not find, it looks for.
  'enrollment-remove': { orgUnitId: 2001, userId: 303 },
};

/** Scopes that are needed to look up the outcome of a call alone, and what becomes of a message without. */
const lookedUp: Record<string, Record<string, LetterFailure['kind']>> = {
  'submission-upload': { 'dropbox:folders:read': 'uncertain' },
  'enrollment-create': { 'enrollment:orgunit:read': 'unexpected-answer' },
};

describe.each([...(await loadIntegrations()).values()])('$name', (integration) => {
  const needed = scopesOf(integration).map(({ scope }) => scope);
  const usual = parts.filter((part) => part.integration === integration);
  const more = further[integration.name];
  const messages: Part[] = more ? [...usual, { integration, data: more }] : usual;
  const userId = integration.actor === undefined ? 100 : 301;
  /** What is only read to look up the outcome of a call is read when that call does not tell it. */
  const untold = async (): Promise<void> => {
    const isSeen = integration.name in lookedUp && integration.verify === undefined;
    if (isSeen) await stage.controls().fault({ status: 200, body: '', when: 'after' }, { method: 'POST' });
    if (integration.verify?.look) await stage.controls().fault({ reset: 'after' }, { method: 'POST' });
  };

  test('does its work with exactly the scopes that are listed, and calls all that it declares', async () => {
    await grant(needed, userId);
    await untold();
    for (const message of messages) {
      const { story, letters } = await stage.deliver(message);
      expect([story.at(-1), letters]).toEqual(['done', []]);
    }
    const called = calledOperations(await stage.controls().requests());
    expect(new Set(called)).toEqual(new Set(integration.operations));
  });

  test.each(needed)(
    'parks a message and names the scope where %s is missing',
    {
      tags: ['long'],
    },
    async (missing) => {
      await grant(
        needed.filter((scope) => scope !== missing),
        userId,
      );
      // It may have read what it needs the scope for.
      stage.inAnotherContainer();
      const kind = lookedUp[integration.name]?.[missing];
      if (kind) await untold();
      const failures: (LetterFailure | null)[] = [];
      for (const message of messages) {
        const { letters } = await stage.deliver(message);
        failures.push(...letters.map(({ failure }) => failure));
      }
      expect(failures).not.toEqual([]);
      for (const failure of failures) {
        if (kind) {
          expect(failure).toMatchObject({ kind, message: expect.stringContaining(missing) });
          continue;
        }
        expect(failure).toMatchObject({ kind: 'missing-scope', required: missing });
        expect(failure?.remedy).toContain(`Grant the scope ${missing}`);
      }
    },
  );
});

/** An execution that nothing interrupts. */
const unrecorded: Engine = {
  ...{ executionArn: 'arn:aws:lambda:us-east-1:0:function:course-export:1/durable-execution/a/b' },
  ...{ invocationId: 'an invocation', leftMs: () => 60_000, operations: () => 1 },
  ...{ recordBy: () => {}, tellWaits: () => {}, approval: async () => undefined },
  // A scope that is missing is no cause to wait.
  wait: (name) => Promise.reject(new Error(`it waits: ${name}`)),
  step: async (_, { work }) => work(),
  map: async (_, items, { work }) => Promise.all(items.map((item) => work(item, unrecorded))),
};

describe('what no queue triggers', () => {
  const neededBy = (operations: readonly Operation<unknown>[]) =>
    scopesOf({ operations }).map(({ scope }) => scope);
  const clients: PlatformClient[] = [];
  afterAll(() => Promise.all(clients.map((client) => client.close())));

  const example = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../../events/course-export.json'), 'utf8'),
  );
  /** An export in this process. */
  const exported = async (event: object) => {
    const platform = createPlatformClient(
      clientOptions(stage.description().platform),
      createAuthenticator({ read: async () => ({ credential: granted, version: '1' }), refuse: () => {} }),
    );
    clients.push(platform);
    const { s3: url, bucket } = stage.description();
    const s3 = new S3Client({ ...localClient(url), forcePathStyle: true });
    const store = createJobStore({ s3, bucket });
    const services = {
      ...{ platform, store, running: async () => [unrecorded.executionArn] },
      observe: createObserve({ function: 'course-export', level: 'silent', namespace: 'test' }),
      limits: {
        ...{ prefix: '', concurrency: 4, reserveMs: 0, maxWaitMs: 0 },
        backoff: { minimumSeconds: 1, maximumSeconds: 1 },
      },
    };
    const { outcome, runId } = await exportJob(async () => services).run(askedIn(event), unrecorded);
    const { failures } = (await store.readJson(`${runId}/manifest.json`)) as Pick<ExportTotals, 'failures'>;
    s3.destroy();
    return { outcome, failures };
  };

  test.each([
    ['of all courses', {}],
    ['with details', example],
  ])('course-export %s does its work with exactly the scopes that are listed', async (_, event) => {
    await grant(neededBy(exportOperations));
    expect(await exported(event)).toEqual({ outcome: 'complete', failures: [] });
  });

  test('course-export calls all that it declares', async () => {
    await grant(neededBy(exportOperations));
    for (const event of [{}, example]) await exported(event);
    const called = calledOperations(await stage.controls().requests());
    expect(new Set(called)).toEqual(new Set(exportOperations));
  });

  test.each(neededBy(exportOperations))(
    'course-export writes into its manifest that the scope %s is missing',
    async (missing) => {
      await grant(neededBy(exportOperations).filter((scope) => scope !== missing));
      const { failures } = await exported(example);
      const told = failures.map(({ kind, required }) => `${kind}: ${required}`);
      expect(new Set(told)).toEqual(new Set([`missing-scope: ${missing}`]));
    },
  );

  const checked = async () => {
    const { description, controls } = stage;
    const file = join(temporaryFolder(), 'stack.json');
    writeFileSync(file, JSON.stringify(description()));
    await controls().secret(description().secrets.service, granted);
    const report = await withConnection(targetFrom({ local: file, as: 'a test' }), checkConnection);
    return report?.problems;
  };

  test('connection-check, and the probe of dead-letter-replay, are well with exactly the scopes that are listed', async () => {
    await grant(neededBy(connectionOperations));
    expect(await checked()).toEqual([]);
    const called = calledOperations(await stage.controls().requests());
    expect(new Set(called)).toEqual(new Set(connectionOperations));
  });

  test.each(neededBy(connectionOperations))('and name the scope where %s is missing', async (missing) => {
    await grant(neededBy(connectionOperations).filter((scope) => scope !== missing));
    expect(await checked()).toMatchObject([{ remedy: expect.stringContaining(missing) }]);
  });

  test('is all that is there', async () => {
    const integrations = await loadIntegrations();
    const others = (await loadFunctions()).filter(({ name }) => !integrations.has(name));
    expect(Object.fromEntries(others.map(({ name, operations }) => [name, operations]))).toEqual({
      'change-poll': [],
      'connection-check': connectionOperations,
      'crosswalk-fill': fillOperations,
      'snapshot-import': [],
      'course-export': exportOperations,
      'dead-letter-replay': connectionOperations,
      reconcile: [...reconcileOperations, getGradeObjects],
      'token-refresh': [],
    });
  });
});

test('every function declares what it calls from the one list of operations', async () => {
  for (const { operations: declared } of await loadFunctions())
    expect(declared.every((each) => operations.includes(each))).toBe(true);
});
