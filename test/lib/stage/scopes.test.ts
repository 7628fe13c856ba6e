import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../../functions/enrollment-create.ts';
import { integration as gradePush } from '../../../functions/grade-push.ts';
import type { LetterFailure } from '../../../lib/delivery/letters/dead-letter.ts';
import { options } from '../../../lib/options.ts';
import { operations } from '../../../lib/platform/resources/operations.ts';
import { checkConnection, connectionOperations } from '../../../lib/stage/connection/check.ts';
import { withConnection } from '../../../lib/stage/connection/connection.ts';
import { loadFunctions, loadIntegrations } from '../../../lib/stage/integrations.ts';
import { scopesByFunction, scopesOf, scopeText } from '../../../lib/stage/scopes.ts';
import { targetFrom } from '../../../lib/stage/target.ts';
import type { Part } from '../../integration-stage.ts';
import { parts } from '../../integrations.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { calledOperations } from '../platform/called-operations.ts';
import { scopedStage, scopesNeededBy } from './scoped-stage.ts';

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

const { stage, grant, credential } = scopedStage();

/** Beside its example, what makes a function call the rest of what it may. */
const further: Record<string, object> = {
  // What its points are out of is compared with the grade object's maximum.
  'grade-push': {
    orgUnitId: 2001,
    gradeObjectId: 5001,
    userId: 302,
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

describe('what no queue triggers', () => {
  const checked = async () => {
    const { description, controls } = stage;
    const file = join(temporaryFolder(), 'stack.json');
    writeFileSync(file, JSON.stringify(description()));
    await controls().secret(description().secrets.service, credential());
    const report = await withConnection(targetFrom({ local: file, as: 'a test' }), checkConnection);
    return report?.problems;
  };

  test('connection-check, and the probe of dead-letter-replay, are well with exactly the scopes that are listed', async () => {
    await grant(scopesNeededBy(connectionOperations));
    expect(await checked()).toEqual([]);
    const called = calledOperations(await stage.controls().requests());
    expect(new Set(called)).toEqual(new Set(connectionOperations));
  });

  test.each(scopesNeededBy(connectionOperations))(
    'and name the scope where %s is missing',
    async (missing) => {
      await grant(scopesNeededBy(connectionOperations).filter((scope) => scope !== missing));
      expect(await checked()).toMatchObject([{ remedy: expect.stringContaining(missing) }]);
    },
  );

  test('is all that is there beside the options', async () => {
    const integrations = await loadIntegrations();
    const ofOptions = options.flatMap((option) => option.functions);
    const others = (await loadFunctions()).filter(
      ({ name }) => !integrations.has(name) && !ofOptions.includes(name),
    );
    expect(Object.fromEntries(others.map(({ name, operations }) => [name, operations]))).toEqual({
      'connection-check': connectionOperations,
      'dead-letter-replay': connectionOperations,
      'token-refresh': [],
    });
  });
});

test.each(options.map(({ name }) => name))('%s has a test of what its functions call', (name) => {
  expect(existsSync(join(import.meta.dirname, `../../options/${name}/scopes.test.ts`))).toBe(true);
});

test('every function declares what it calls from the one list of operations', async () => {
  for (const { operations: declared } of await loadFunctions())
    expect(declared.every((each) => operations.includes(each))).toBe(true);
});
