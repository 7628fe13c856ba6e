import { expect, test } from 'vitest';
import { reconcileOperations } from '../../../lib/options/reconcile/check.ts';
import { getGradeObjects } from '../../../lib/platform/resources/grade-objects.ts';
import { loadFunctions } from '../../../lib/stage/integrations.ts';

test('reconcile declares these operations', async () => {
  const found = (await loadFunctions()).find(({ name }) => name === 'reconcile');
  expect(found?.operations).toEqual([...reconcileOperations, getGradeObjects]);
});
