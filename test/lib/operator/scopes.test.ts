import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../../functions/enrollment-create.ts';
import { integration as gradePush } from '../../../functions/grade-push.ts';
import { integration as profileImageUpdate } from '../../../functions/profile-image-update.ts';
import { integration as submissionUpload } from '../../../functions/submission-upload.ts';
import type { Integration } from '../../../lib/integration.ts';
import { scopesByFunction, scopesOf, scopeText } from '../../../lib/operator/scopes.ts';
import { operations } from '../../../lib/platform/operations.ts';
import { functionForTests, parked } from '../../local/inline.ts';

describe('the scopes of a function', () => {
  test('are those of the operations that it declares, each with what needs it', () => {
    expect(scopesOf(gradePush)).toEqual([
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
      'grades:gradevalues:write',
      'grades:own:read',
    ]);
  });

  test('are listed by function, and together as a client asks for them', () => {
    const table = scopesByFunction([enrollmentCreate, gradePush, enrollmentCreate]);
    expect(Object.keys(table)).toEqual(['enrollment-create', 'grade-push']);
    expect(scopeText(Object.values(table))).toBe(
      'enrollment:orgunit:create grades:gradevalues:read grades:gradevalues:write',
    );
  });
});

/** A list of them cares for none of their messages' data. */
const any = <Data>(integration: Integration<Data>) => integration as unknown as Integration<unknown>;

type Relay = ReturnType<typeof functionForTests>;

/** A message that each function takes, and the user who signs. */
const cases: [Integration<unknown>, number, (relay: Relay) => Promise<object>][] = [
  [any(enrollmentCreate), 100, async () => ({ orgUnitId: 2001, userId: 303, roleId: 110 })],
  [
    any(gradePush),
    100,
    async () => ({
      ...{ orgUnitId: 2001, gradeObjectId: 5001, userId: 301 },
      grade: { type: 'numeric', points: 7 },
    }),
  ],
  [
    any(submissionUpload),
    301,
    async (relay) => ({
      ...{ orgUnitId: 2001, folderId: 7001, userId: 301 },
      files: [{ uri: await relay.putFile('a.txt', 'text'), name: 'a.txt', contentType: 'text/plain' }],
    }),
  ],
  [
    any(profileImageUpdate),
    100,
    async (relay) => ({
      userId: 301,
      file: { uri: await relay.putFile('face.png', await png()), contentType: 'image/png' },
    }),
  ],
];

/** The first bytes of a picture are enough to be known as one. */
const png = () => Promise.resolve(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));

describe.each(cases)('$name', (integration, userId, dataOf) => {
  const relay = functionForTests(integration, () => ({
    LEDGER_SETTLING_SECONDS: '1',
  }));
  const needed = scopesOf(integration).map(({ scope }) => scope);

  /** From now on the function has a token with these scopes alone. */
  const grant = async (scopes: string[]) => {
    const { platform, secrets } = relay.description();
    const client = { clientId: 'narrow', clientSecret: 'the-client-secret' };
    await fetch(`${platform}/_local/oauth/clients`, {
      method: 'POST',
      body: JSON.stringify({ ...client, userId, scopes }),
    });
    const { tokenUrl } = (await (await fetch(`${platform}/_local/oauth`)).json()) as { tokenUrl: string };
    const form = {
      grant_type: 'client_credentials',
      client_id: 'narrow',
      client_secret: client.clientSecret,
    };
    const answer = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
    const { access_token: accessToken } = (await answer.json()) as { access_token: string };
    const name = userId === 100 ? secrets.service : `${secrets.userPrefix}${userId}`;
    const credential = { type: 'oauth', grant: 'client_credentials', tokenUrl, ...client, accessToken };
    await relay.controls().secret(name, credential);
  };

  test('does its work with exactly the scopes that are listed', async () => {
    await grant(needed);
    expect(await relay.deliver(await dataOf(relay))).toMatchObject({
      outcomes: expect.arrayContaining(['done']),
      letters: [],
    });
  });

  test.each(needed)('parks its message and names the scope where %s is missing', async (missing) => {
    await grant(needed.filter((scope) => scope !== missing));
    // The specification names no scope for this call, and so the local platform asks for none: this site does.
    if (missing === 'users:own_profile:read')
      await relay.controls().fault(refusedFor(missing), { path: '/users/whoami$' });
    // What is only read to look up the outcome of a call is read when that call was not answered.
    if (missing === 'dropbox:folders:read')
      await relay.controls().fault({ reset: 'after' }, { method: 'POST' });
    const failure = parked(await relay.deliver(await dataOf(relay)));
    if (missing === 'dropbox:folders:read') {
      expect(failure).toMatchObject({ kind: 'uncertain', message: expect.stringContaining(missing) });
    } else {
      expect(failure).toMatchObject({ kind: 'missing-scope', required: missing });
      expect(failure.remedy).toContain(`Grant the scope ${missing}`);
    }
  });
});

const refusedFor = (scope: string) => ({
  status: 403,
  headers: { 'content-type': 'application/problem+json' },
  body: {
    title: 'Not Authorized',
    detail: `Insufficient scope to call API. Required: ${scope}`,
    status: 403,
  },
});

test('every function declares what it calls from the one list of operations', async () => {
  for (const [{ operations: declared, name }] of cases) {
    expect(declared.every((each) => operations.includes(each))).toBe(true);
    const source = await readFile(join(import.meta.dirname, '../../../functions', `${name}.ts`), 'utf8');
    expect(source).toContain('operations: [');
  }
});
