import { afterAll } from 'vitest';
import { removeTemporaryFolders } from './temporary-folder.ts';

// Files share a process: what one of them puts into its environment, or on the disk, is gone when it ends.
const before = { ...process.env };
afterAll(() => {
  removeTemporaryFolders();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
