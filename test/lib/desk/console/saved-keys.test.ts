import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSavedKeySetting } from '../../../../lib/desk/console/saved-keys.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

test('keys are on until they are turned off, which is kept on this machine, in a file of its owner alone', async () => {
  const file = join(temporaryFolder(), 'sis-relay', 'console.json');
  const keys = await createSavedKeySetting(file);
  expect(keys.areOn()).toBe(true);
  await keys.turn('off');
  expect(keys.areOn()).toBe(false);
  expect(statSync(file).mode & 0o077).toBe(0);
  const later = await createSavedKeySetting(file);
  expect(later.areOn()).toBe(false);
  await later.turn('on');
  expect((await createSavedKeySetting(file)).areOn()).toBe(true);
});

test.each(['', '{"keys":"never"}', '[]'])('a file of %j turns nothing off', async (text) => {
  const file = join(temporaryFolder(), 'console.json');
  writeFileSync(file, text);
  expect((await createSavedKeySetting(file)).areOn()).toBe(true);
});
