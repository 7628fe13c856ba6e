import { afterAll } from 'vitest';

// Files share a process: what one of them puts into its environment is gone when it ends.
const before = { ...process.env };
afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
