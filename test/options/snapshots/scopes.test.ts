import { expect, test } from 'vitest';
import { loadFunctions } from '../../../lib/stage/integrations.ts';

test('snapshot-import declares that it calls nothing on the platform', async () => {
  const found = (await loadFunctions()).find(({ name }) => name === 'snapshot-import');
  expect(found?.operations).toEqual([]);
});
