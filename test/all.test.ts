import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const root = resolve(import.meta.dirname, '..');

/** Runs a command with these scripts of the shell in its PATH, and a temporary folder and a HOME of its own. */
const started = (command: string[], scripts: Record<string, string>, cwd = root) => {
  const [commands, temporary, home] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(commands, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(commands, name), 0o755);
  }
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd,
    env: {
      PATH: `${commands}${delimiter}${process.env.PATH}`,
      TMPDIR: temporary,
      HOME: home,
      CHROMIUM: 'none',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    },
  });
  const ended = async () => {
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { status: child.exitCode, out, err, left: [...readdirSync(temporary), ...readdirSync(home)] };
  };
  return { cwd, child, temporary, ended: ended() };
};

describe('npm test', () => {
  const files = ['a', 'long', 'b'].map((name) => `test/${name}.test.ts`);
  /** A checkout with the program and three test files, one of them long, where vitest reports these and does what the script says. */
  const run = (
    { ran = ['a', 'b'], statuses = [['passed']] as [status: string, ...tags: string[]][], script = '' },
    others: Record<string, string> = {},
  ) => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'test/lib/desk/console'), { recursive: true });
    for (const name of ['all.ts', 'lib/desk/console/browser-path.ts'])
      cpSync(join(root, 'test', name), join(cwd, 'test', name));
    for (const name of files)
      writeFileSync(join(cwd, name), name.includes('long') ? '// @module-tag long\n' : '');
    const report = {
      testResults: ran.map((name, at) => ({
        name: `${cwd}/test/${name}.test.ts`,
        assertionResults: at > 0 ? [] : statuses.map(([status, ...tags]) => ({ status, tags })),
      })),
    };
    const vitest = `for each in "$@"; do case $each in --outputFile.json=*) echo '${JSON.stringify(report)}' > "\${each#*=}";; esac; done\n${script}`;
    const scripts = { biome: '', tsc: '', knip: '', vitest, ...others };
    return started([process.execPath, join(cwd, 'test/all.ts')], scripts, cwd);
  };
  const lastLine = (out: string) => out.trimEnd().split('\n').at(-1);

  test('ends with how many passed and failed, and counts apart what was skipped and what was left out', async () => {
    const { status, out, left } = await run({
      statuses: [['passed'], ['passed'], ['skipped'], ['skipped', 'long'], ['skipped', 'long']],
    }).ended;
    expect(lastLine(out)).toBe('8 passed, 0 failed, 1 skipped');
    expect(out).toContain('Left out: 2 long tests, and 1 files of such.');
    expect(out).toContain('the console was not tested');
    expect({ status, left }).toEqual({ status: 0, left: [] });
  });

  test.each([
    ['types are wrong', {}, { tsc: 'echo "a.ts is wrong"; exit 1' }, ['a.ts is wrong', 'Failed: tsc']],
    [
      'a test file was not run',
      { ran: ['a'] },
      {},
      ['Not run: test/b.test.ts', 'Failed: all test files run'],
    ],
    ['no test passed', { statuses: [] }, {}, ['Failed: all test files run']],
    [
      'a test has left something outside the checkout',
      { script: 'touch "$TMPDIR/a-file" "$HOME/.a-setting"' },
      {},
      ['Left behind outside the checkout: a-file, .a-setting.'],
    ],
  ])('fails if %s, says so, and leaves nothing', async (_, what, others, words) => {
    const { status, out, left } = await run(what, others).ended;
    for (const each of words) expect(out).toContain(each);
    expect(lastLine(out)).toMatch(/^\d passed, 1 failed$/);
    expect({ status, left }).toEqual({ status: 1, left: [] });
  });

  test('removes its folder also when a signal ends it', async () => {
    const { child, temporary, ended } = run({ script: 'touch "$TMPDIR/a-file"; exec sleep 600' });
    const isAtWork = () => readdirSync(temporary, { recursive: true }).join().includes('a-file');
    await expect.poll(isAtWork).toBe(true);
    child.kill('SIGTERM');
    expect((await ended).left).toEqual([]);
  });
});

describe('.ci/run', () => {
  const run = (npm: string) => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, '.ci'));
    cpSync(join(root, '.ci/run'), join(cwd, '.ci/run'));
    return started([join(cwd, '.ci/run')], { npm, chromium: '' }, cwd);
  };

  test('gives npm a temporary folder, a HOME, and caches that are empty and gone afterwards', async () => {
    const { cwd, ended } = run(
      `if [ "$1" = ci ]; then for each in "$TMPDIR" "$HOME" "$npm_config_cache" "$NODE_COMPILE_CACHE"; do
        echo "$each:"; ls -A "$each"
      done > given 2> /dev/null; mkdir "$npm_config_cache" "$NODE_COMPILE_CACHE"; fi`,
    );
    expect(await ended).toMatchObject({ status: 0, left: [] });
    const given = readFileSync(join(cwd, 'given'), 'utf8').trim().split('\n');
    expect(given.map((path) => path.split('/').at(-1))).toEqual(['tmp:', 'home:', 'npm:', 'compiled:']);
  });

  test('fails with what npm test fails with', async () => {
    expect(await run('[ "$1" = ci ] || exit 7').ended).toMatchObject({ status: 7, left: [] });
  });

  test('fails if npm test has left something, and names it', async () => {
    const { status, err, left } = await run('[ "$1" = ci ] || touch "$TMPDIR/a-file" "$HOME/.a-setting"')
      .ended;
    expect(err).toContain('Left behind outside the checkout:\ntmp/a-file\nhome/.a-setting\n');
    expect({ status, left }).toEqual({ status: 1, left: [] });
  });

  test('ends what it has started, and removes its folder, when a signal ends it', async () => {
    const { cwd, child, ended } = run('echo $$ > pid; exec sleep 600');
    const pid = () => Number(existsSync(join(cwd, 'pid')) && readFileSync(join(cwd, 'pid'), 'utf8'));
    await expect.poll(pid).toBeGreaterThan(0);
    child.kill('SIGTERM');
    expect((await ended).left).toEqual([]);
    expect(() => process.kill(pid(), 0)).toThrow('ESRCH');
  });
});
