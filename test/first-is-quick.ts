import { test } from 'vitest';

/** Tests of one rule, for each of these cases: the first runs in `npm test`, the others are long. */
export const firstIsQuick =
  <Case extends readonly [unknown, ...unknown[]]>(cases: readonly Case[]) =>
  (title: string, run: (...values: Case) => Promise<void>): void => {
    test.for(cases.slice(0, 1))(title, (values) => run(...values));
    test.for(cases.slice(1))(title, { tags: ['long'] }, (values) => run(...values));
  };
