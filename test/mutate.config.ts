import { defineConfig } from 'vitest/config';

/** What decides a message's fate, by the tests that run in one process and in a moment: see `npm run mutate`. */
export default defineConfig({
  test: {
    setupFiles: ['test/seed.ts'],
    include: [
      'test/lib/{failure,message,dead-letter}.test.ts',
      'test/lib/ledger/*.test.ts',
      'test/lib/delivery/*.test.ts',
      'test/lib/platform/auth/*.test.ts',
      'test/lib/platform/core/*.test.ts',
    ],
    testTimeout: 60_000,
  },
});
