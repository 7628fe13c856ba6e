import { expect, test } from 'vitest';
import { fillOperations } from '../../../lib/options/crosswalk-fill/listings.ts';
import { loadFunctions } from '../../../lib/stage/integrations.ts';

test('crosswalk-fill declares these operations', async () => {
  const found = (await loadFunctions()).find(({ name }) => name === 'crosswalk-fill');
  expect(found?.operations).toEqual(fillOperations);
});
