import { expect, test } from 'vitest';
import { loadFunctions } from '../../../lib/operate/stage/integrations.ts';
import { getGradeObjects } from '../../../lib/platform/resources/grade-objects.ts';
import { reconcileOperations } from '../../../lib/scheduled/reconcile/check.ts';

test('reconcile declares these operations', async () => {
  const found = (await loadFunctions()).find(({ name }) => name === 'reconcile');
  expect(found?.operations).toEqual([...reconcileOperations, getGradeObjects]);
});
