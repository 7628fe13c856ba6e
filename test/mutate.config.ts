import { defineConfig } from 'vitest/config';

/** For `npm run proofs -- --only mutate`, which says by which tests a change is to be seen. */
export default defineConfig({
  test: {
    setupFiles: ['test/seed.ts'],
    include: (process.env.MUTATE_TESTS ?? '').split(';'),
    testTimeout: 60_000,
    expect: { poll: { timeout: 10_000, interval: 20 } },
    tags: [{ name: 'long' }],
  },
});
