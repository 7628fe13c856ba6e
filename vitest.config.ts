import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    // Real servers and processes: a busy machine is slow, not wrong.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Much of it is waiting, so that more than one to a core are not too many.
    maxWorkers: 4,
  },
});
