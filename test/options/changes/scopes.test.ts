import { expect, test } from 'vitest';
import { loadFunctions } from '../../../lib/stage/integrations.ts';

test('change-poll declares that it calls nothing on the platform', async () => {
  const found = (await loadFunctions()).find(({ name }) => name === 'change-poll');
  expect(found?.operations).toEqual([]);
});
