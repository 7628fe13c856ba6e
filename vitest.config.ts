import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { testLimitMs, waitLimitMs } from './test/limits.ts';

/** They take longest: whatever begins last, nothing else is left to run beside it. */
const slow = [
  'options/snapshots/kept-histories',
  'lib/desk/console/flows',
  'functions/snapshot-import',
  'functions/course-export',
  'functions/submission-upload',
  'package/template/template',
  // The long ones among them.
  'package/permissions/permissions',
  'local/chaos/chaos',
  'package/contributing',
  'package/deployed/deploy',
  'local/scenarios/misfortunes',
  'package/deployed/scenarios',
  'lib/desk/console/screens',
  'options/course-export/deployed',
  'options/snapshots/university/university',
];

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = slow.findIndex((name) => moduleId.endsWith(`test/${name}.test.ts`));
      return at < 0 ? slow.length : at;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

/** What they import keeps the address that it met first. */
const ownProcess = [
  'test/options/reconcile/resend-end-to-end.test.ts',
  'test/local/lambda/durable-executions.test.ts',
];

/** What needs packages, which are made before the first of these tests begins: as they are deployed, and without code of each function. */
const packages = [
  ...['deploy', 'runtime', 'scenarios'].map((name) => `test/package/deployed/${name}.test.ts`),
  'test/options/course-export/deployed.test.ts',
];
const stages = [
  'bundles',
  'contract/released',
  'costs/cost',
  'deployed/aws-runtime',
  'deployed/incidents',
  'permissions/deploy-role',
  'permissions/deploy-stack',
  'permissions/desk-roles',
  'permissions/permissions',
  'template/template',
]
  .map((name) => `test/package/${name}.test.ts`)
  .concat('test/options/snapshots/incidents.test.ts');
const globalSetup = 'test/package/package-once.ts';

/** What `npm test` need not load, and a proof that is a command of its own, which sets this. */
const leftOut = [
  ...(process.env.LEFT_OUT?.split(',') ?? []),
  ...(process.env.LETTERS_PER_KIND === undefined ? ['test/lib/desk/messages/**/monday.test.ts'] : []),
];

export default defineConfig({
  test: {
    tags: [
      { name: 'long', description: 'What is killed, measured or browsed for long: `npm run test-long`.' },
    ],
    setupFiles: ['test/seed.ts', 'test/own-environment.ts', 'test/sockets.ts'],
    testTimeout: testLimitMs,
    hookTimeout: testLimitMs,
    expect: { poll: { timeout: waitLimitMs, interval: 20 } },
    // Much of it is waiting, so that more than one to a core are not too many.
    maxWorkers: 3,
    // `npm test` runs most code a few times: the last optimization of V8 would cost more than it saves, a tenth of all CPU.
    execArgv: process.env.LEFT_OUT === undefined ? [] : ['--no-turbofan'],
    // Node reads the sources itself: nothing mocks a module, and Vite's own form of each takes longer to make and to run.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: SlowestFirst },
    projects: [
      // A process for many files: to load the same code for each of them takes longer than most of them take.
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...ownProcess, ...packages, ...stages, ...leftOut],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'own', include: ownProcess, exclude: leftOut } },
      { extends: true, test: { name: 'packages', include: packages, exclude: leftOut, globalSetup } },
      { extends: true, test: { name: 'stages', include: stages, exclude: leftOut, globalSetup } },
    ],
  },
});
