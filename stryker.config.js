/** For `npm run proofs -- --only mutate`. */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutate.config.ts', related: false },
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  // Else it looks for references of a project that has none.
  tsconfigFile: 'none.json',
  // Else it adds a comment to every file, and a test compares a generated one with what generates it.
  disableTypeChecks: false,
  tempDirName: '.stryker/sandbox',
  reporters: ['clear-text'],
  clearTextReporter: { reportTests: false, reportScoreTable: false, logTests: false },
};
