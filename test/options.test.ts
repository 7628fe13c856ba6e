import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { options } from '../lib/options.ts';
import { copyWithout } from './options-copy.ts';
import { removeTemporaryFolders } from './temporary-folder.ts';

afterAll(removeTemporaryFolders);

const cases = [
  ...options.map((option) => [option.name, [option]] as const),
  ['all options', options] as const,
];

/** Runs a program of the copy. @throws Error with what it printed, if it fails. */
const runIn = async (folder: string, program: string, ...options: string[]): Promise<string> => {
  const { NO_COLOR: _, ...env } = process.env;
  const run = promisify(execFile)(process.execPath, [join(folder, 'node_modules', program), ...options], {
    cwd: folder,
    env: { ...env, VITEST: undefined, VITEST_WORKER_ID: undefined },
    maxBuffer: 64 * 1024 ** 2,
  });
  const { stdout, stderr } = await run.catch(({ stdout, stderr }) => {
    throw new Error(`${program} ${options.join(' ')} failed:\n${stdout}${stderr}`.slice(-4_000));
  });
  return stdout + stderr;
};

describe.each(cases)('without %s', { tags: ['long'] }, (_, gone) => {
  let copy: ReturnType<typeof copyWithout>;
  beforeAll(async () => {
    copy = copyWithout(gone);
    // The documents' tables list functions and settings.
    await runIn(copy.folder, '../test/run.js', 'test/package/settings.ts');
  });

  test('the product compiles', async () => {
    await runIn(copy.folder, 'typescript/bin/tsc', '--noEmit');
  });

  test('it is packaged', async () => {
    const printed = await runIn(copy.folder, 'serverless/bin/serverless.js', 'package', '--stage', 'local');
    for (const name of gone.flatMap(({ functions }) => functions)) expect(printed).not.toContain(name);
  });

  test('the house stands, and the core’s tests pass', async () => {
    const rooms = ['message', 'platform', 'delivery', 'crosswalk', 'runtime'].map(
      (room) => `test/lib/${room}`,
    );
    const functions = ['grade-push', 'enrollment-create', 'submission-upload', 'profile-image-update'];
    await runIn(
      copy.folder,
      'vitest/vitest.mjs',
      ...[
        'run',
        '--tags-filter=!long',
        'test/house.test.ts',
        ...functions.map((name) => `test/functions/${name}.test.ts`),
        ...rooms,
      ],
    );
  });

  test('no test but of the whole product is lost', () => {
    const ofTheCore =
      /^test\/lib\/(message|platform|delivery|crosswalk|runtime|stage|desk\/(messages|views))\//;
    expect(copy.triedBy.filter((file) => ofTheCore.test(file))).toEqual([]);
  });
});
