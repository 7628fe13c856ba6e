import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../../functions/enrollment-create.ts';
import { integration as gradePush } from '../../../functions/grade-push.ts';
import { checkConnection, connectionOperations } from '../../../lib/connection/check.ts';
import { connectionOf } from '../../../lib/connection/connection.ts';
import type { ExportAnswer } from '../../../lib/course-export/export.ts';
import { exportOperations } from '../../../lib/course-export/parts.ts';
import type { ExportTotals } from '../../../lib/course-export/totals.ts';
import { fillOperations } from '../../../lib/crosswalk/fill/listings.ts';
import type { LetterFailure } from '../../../lib/dead-letter.ts';
import { loadFunctions, loadIntegrations } from '../../../lib/deployment/integrations.ts';
import { scopesByFunction, scopesOf, scopeText } from '../../../lib/deployment/scopes.ts';
import type { Operation } from '../../../lib/platform/core/operation.ts';
import { getGradeObjects } from '../../../lib/platform/resources/grade-objects.ts';
import { operations } from '../../../lib/platform/resources/operations.ts';
import { reconcileOperations } from '../../../lib/reconcile/check.ts';
import { localClient } from '../../local/aws.ts';
import type { Controls } from '../../local/controls.ts';
import { functionForTests, parked } from '../../local/inline.ts';
import type { StackDescription } from '../../local/stack.ts';
import { localOffice } from '../cli/local-office.ts';
import { calledOperations } from '../platform/called-operations.ts';
import { narrowClient } from '../platform/narrow-client.ts';

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

type Site = { controls(): Controls; description(): StackDescription };

/** From now on a secret has a token with these scopes alone. */
const grantAt = async (site: Site, { userId, scopes }: { userId: number; scopes: string[] }) => {
  const { platform, secrets } = site.description();
  const name = userId === 100 ? secrets.service : `${secrets.userPrefix}${userId}`;
  const credential = await narrowClient(platform, { userId, scopes });
  await site.controls().secret(name, credential);
  // The specification names no scope for this call, and so the local platform asks for none: this site does.
  const own = 'users:own_profile:read';
  if (!scopes.includes(own))
    await site.controls().fault(refusedFor(own), { path: '/users/whoami$', times: 9 });
};

const refusedFor = (scope: string) => ({
  status: 403,
  headers: { 'content-type': 'application/problem+json' },
  body: {
    title: 'Not Authorized',
    detail: `Insufficient scope to call API. Required: ${scope}`,
    status: 403,
  },
});

const exampleOf = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../events', `${name}.json`), 'utf8'));

/** Beside its example, what makes a function call the rest of what it may. */
const further: Record<string, object[]> = {
  'content-topic-update': [
    {
      ...{ action: 'replace-file', orgUnitId: 2001, topicId: 8101 },
      file: { uri: 's3://sis-relay-uploads/events/essay.pdf', name: 'a.pdf', contentType: 'application/pdf' },
    },
  ],
  'user-attributes-update': [
    { field: { name: 'x', description: 'y', dataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01' } },
  ],
  // What its points are out of is compared with the grade object's maximum.
  'grade-push': [
    { orgUnitId: 2001, gradeObjectId: 5001, userId: 302, grade: { type: 'numeric', points: 7, outOf: 10 } },
  ],
  // Whom it does not find, it looks for.
  'enrollment-remove': [{ orgUnitId: 2001, userId: 303 }],
};

/** Scopes that are needed to look up the outcome of a call alone, and what becomes of a message without. */
const lookedUp: Record<string, Record<string, LetterFailure['kind']>> = {
  'submission-upload': { 'dropbox:folders:read': 'uncertain' },
  'enrollment-create': { 'enrollment:orgunit:read': 'unexpected-answer' },
};

describe.each([...(await loadIntegrations()).values()])('$name', (integration) => {
  const relay = functionForTests(integration, () => ({ LEDGER_GRACE_SECONDS: '1' }));
  const needed = scopesOf(integration).map(({ scope }) => scope);
  const [{ body }] = exampleOf(integration.name).Records;
  const messages: object[] = [JSON.parse(body).data, ...(further[integration.name] ?? [])];
  const userId = integration.actor === undefined ? 100 : 301;
  const grant = (scopes: string[]) => grantAt(relay, { userId, scopes });
  /** What is only read to look up the outcome of a call is read when that call does not tell it. */
  const untold = async (): Promise<void> => {
    const isSeen = integration.name in lookedUp && integration.verify === undefined;
    if (isSeen) await relay.controls().fault({ status: 200, body: '', when: 'after' }, { method: 'POST' });
    if (integration.verify?.look) await relay.controls().fault({ reset: 'after' }, { method: 'POST' });
  };

  beforeEach(async () => {
    // Else the platform answers 500 to it.
    const url = `${relay.description().platform}/_local/settings`;
    await fetch(url, { method: 'POST', body: JSON.stringify({ demographicsFields: 'create' }) });
  });

  test('does its work with exactly the scopes that are listed, and calls all that it declares', async () => {
    await grant(needed);
    await untold();
    for (const message of messages) {
      const { outcomes, letters } = await relay.deliver(message);
      expect([outcomes.at(-1), letters]).toEqual(['done', []]);
    }
    const called = calledOperations(await relay.requests());
    expect(new Set(called)).toEqual(new Set(integration.operations));
  });

  test.each(needed)('parks a message and names the scope where %s is missing', async (missing) => {
    await grant(needed.filter((scope) => scope !== missing));
    // It may have read what it needs the scope for.
    relay.inAnotherContainer();
    const kind = lookedUp[integration.name]?.[missing];
    if (kind) await untold();
    const failures: LetterFailure[] = [];
    for (const message of messages) {
      const delivery = await relay.deliver(message);
      if (delivery.letters.length > 0) failures.push(parked(delivery));
    }
    expect(failures).not.toEqual([]);
    for (const failure of failures) {
      if (kind) {
        expect(failure).toMatchObject({ kind, message: expect.stringContaining(missing) });
        continue;
      }
      expect(failure).toMatchObject({ kind: 'missing-scope', required: missing });
      expect(failure.remedy).toContain(`Grant the scope ${missing}`);
    }
  });
});

describe('what no queue triggers', () => {
  const office = localOffice({ functions: [] });
  const site = { controls: office.controls, description: () => office.stack().description };
  beforeEach(() => office.controls().reset());
  const grant = (scopes: string[]) => grantAt(site, { userId: 100, scopes });
  const neededBy = (operations: readonly Operation<unknown>[]) =>
    scopesOf({ operations }).map(({ scope }) => scope);

  const example = exampleOf('course-export');
  const exported = async (event: object) => {
    const { lambda, description } = office.stack();
    // Else its process would still know the token of the test before.
    await lambda?.recycle('course-export');
    const result = await lambda?.invoke('course-export', event);
    if (!result?.ok) throw new Error(JSON.stringify(result));
    const { outcome, runId } = result.payload as ExportAnswer;
    const s3 = new S3Client({ ...localClient(description.s3), forcePathStyle: true });
    const Key = `course-exports/${runId}/manifest.json`;
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: description.bucket, Key }));
    const { failures } = JSON.parse((await Body?.transformToString()) ?? '') as Pick<
      ExportTotals,
      'failures'
    >;
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
    const called = calledOperations(await office.controls().requests());
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
    const connection = await connectionOf(office.target());
    if (connection === undefined) throw new Error('no platform');
    const { problems } = await checkConnection(connection);
    await connection.client.close();
    return problems;
  };

  test('connection-check, and the probe of dead-letter-replay, are well with exactly the scopes that are listed', async () => {
    await grant(neededBy(connectionOperations));
    expect(await checked()).toEqual([]);
    const called = calledOperations(await office.controls().requests());
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
