import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const root = resolve(import.meta.dirname, '..');

/** A folder for PATH with these commands, each a script of the shell. */
function commands(scripts: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

/** Runs it where all these commands do what they are said to, with a temporary folder and a HOME of its own. */
function started(
  command: string[],
  { scripts, cwd = root }: { scripts: Record<string, string>; cwd?: string },
) {
  const [temporary, home] = [temporaryFolder(), temporaryFolder()];
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd,
    env: {
      PATH: `${commands(scripts)}${delimiter}${process.env.PATH}`,
      ...{
        TMPDIR: temporary,
        HOME: home,
        CHROMIUM: 'none',
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      },
    },
  });
  const ended = async () => {
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { status: child.exitCode, out, err, left: [...readdirSync(temporary), ...readdirSync(home)] };
  };
  return { child, temporary, ended: ended() };
}

const until = (holds: () => boolean) => expect.poll(holds).toBe(true);

/** Ends it as whoever started it would, and tells how it ended. */
const signalled = async ({ child, ended }: { child: ChildProcess; ended: Promise<{ left: string[] }> }) => {
  child.kill('SIGTERM');
  return (await ended).left;
};

describe('npm test', () => {
  const command = [process.execPath, join(root, 'test/all.ts')];
  const results = (...statuses: [status: string, tag?: string][]): string =>
    JSON.stringify({
      testResults: [
        {
          assertionResults: statuses.map(([status, tag]) => ({
            status,
            tags: tag === undefined ? [] : [tag],
          })),
        },
      ],
    });
  /** A run of tests with this report, which also does what the script says. */
  const testsThat = (script: string, report: string): Record<string, string> => ({
    ...{ biome: '', tsc: '', knip: '' },
    vitest: `for each in "$@"; do case $each in --outputFile.json=*) echo '${report}' > "\${each#*=}";; esac; done\n${script}`,
  });

  test('ends with how many passed and failed, and counts apart what was skipped and what was left out', async () => {
    const report = results(['passed'], ['passed'], ['skipped'], ['skipped', 'long'], ['skipped', 'long']);
    const { status, out, left } = await started(command, { scripts: testsThat('', report) }).ended;
    expect(out.trimEnd().split('\n').at(-1)).toBe('7 passed, 0 failed, 1 skipped');
    expect(out).toContain('Left out: 2 long tests');
    expect(out).toContain('the console was not tested');
    expect({ status, left }).toEqual({ status: 0, left: [] });
  });

  test('fails where types are wrong, and shows what is', async () => {
    const scripts = { ...testsThat('', results(['passed'])), tsc: 'echo "a.ts is wrong"; exit 1' };
    const { status, out } = await started(command, { scripts }).ended;
    expect(out).toContain('a.ts is wrong');
    expect(out).toContain('Failed: tsc');
    expect(out.trimEnd().split('\n').at(-1)).toBe('5 passed, 1 failed');
    expect(status).toBe(1);
  });

  test('fails where a test has left something outside the checkout, names it, and removes it', async () => {
    const scripts = testsThat('touch "$TMPDIR/a-file" "$HOME/.a-setting"', results(['passed']));
    const { status, out, left } = await started(command, { scripts }).ended;
    expect(out).toContain('Left behind outside the checkout: a-file, .a-setting.');
    expect(out.trimEnd().split('\n').at(-1)).toBe('5 passed, 1 failed');
    expect({ status, left }).toEqual({ status: 1, left: [] });
  });

  test('removes its folder also when a signal ends it', async () => {
    const run = started(command, { scripts: testsThat('touch "$TMPDIR/a-file"; exec sleep 600', '') });
    const isAtWork = () => readdirSync(run.temporary, { recursive: true }).join().includes('a-file');
    await until(isAtWork);
    expect(await signalled(run)).toEqual([]);
  });
});

describe('.ci/run', () => {
  /** A checkout with nothing but the script. */
  const checkout = (): string => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.ci'));
    cpSync(join(root, '.ci/run'), join(folder, '.ci/run'));
    return folder;
  };
  const run = (npm: string) => {
    const cwd = checkout();
    return { cwd, ...started([join(cwd, '.ci/run')], { cwd, scripts: { npm, chromium: '' } }) };
  };

  test('gives npm a temporary folder, a HOME, and caches that are empty and gone afterwards', async () => {
    const { cwd, ended } = run(
      `if [ "$1" = ci ]; then for each in "$TMPDIR" "$HOME" "$npm_config_cache" "$NODE_COMPILE_CACHE"; do
        echo "$each:"; ls -A "$each"
      done > given 2> /dev/null; mkdir "$npm_config_cache" "$NODE_COMPILE_CACHE"; fi`,
    );
    const { status, left } = await ended;
    expect({ status, left }).toEqual({ status: 0, left: [] });
    const given = readFileSync(join(cwd, 'given'), 'utf8').trim().split('\n');
    expect(given.map((path) => path.split('/').at(-1))).toEqual(['tmp:', 'home:', 'npm:', 'compiled:']);
  });

  test('fails with what npm test fails with', async () => {
    expect(await run('[ "$1" = ci ] || exit 7').ended).toMatchObject({ status: 7, left: [] });
  });

  test('fails where npm test has left something, and names it', async () => {
    const { ended } = run('[ "$1" = ci ] || touch "$TMPDIR/a-file" "$HOME/.a-setting"');
    const { status, err, left } = await ended;
    expect(err).toContain('Left behind outside the checkout:\ntmp/a-file\nhome/.a-setting\n');
    expect({ status, left }).toEqual({ status: 1, left: [] });
  });

  test('ends what it has started, and removes its folder, when a signal ends it', async () => {
    const it = run('echo $$ > pid; exec sleep 600');
    const pid = () => Number(readFileSync(join(it.cwd, 'pid'), 'utf8'));
    await until(() => existsSync(join(it.cwd, 'pid')) && pid() > 0);
    expect(await signalled(it)).toEqual([]);
    expect(() => process.kill(pid(), 0)).toThrow('ESRCH');
  });
});
