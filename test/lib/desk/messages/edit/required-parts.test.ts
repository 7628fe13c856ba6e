import { expect, test } from 'vitest';
import { requiredParts } from '../../../../../lib/desk/messages/edit/required-parts.ts';
import { integrationNamed } from '../../../../../lib/stage/integrations.ts';

test.each([
  ['grade-push', 'data.grade', ['data.grade.type=numeric', 'data.grade.points=<value>']],
  ['grade-push', 'data.grade.points', []],
  ['grade-push', 'data.userId', []],
  ['grade-push', 'data.nothing', []],
])('an object that a message of %s lacks is set by its parts: %s', async (name, field, parts) => {
  const integration = await integrationNamed(name);
  expect(integration && requiredParts(integration, field)).toEqual(parts);
});
