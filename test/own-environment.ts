import { afterAll } from 'vitest';
import { removeTemporaryFolders } from './temporary-folder.ts';

// What a person's own environment, or npm, tells the command is not for tests: an editor that waits for ever, a stage, a profile.
for (const name of Object.keys(process.env))
  if (
    /^(EDITOR|VISUAL|NO_COLOR|npm_command|SIS_RELAY_\w+|AWS_(PROFILE|REGION|DEFAULT_REGION|ENDPOINT_URL\w*))$/.test(
      name,
    )
  )
    delete process.env[name];

// Files share a process: what one of them puts into its environment, or on the disk, is gone when it ends.
const before = { ...process.env };
afterAll(() => {
  removeTemporaryFolders();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
