import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { browserPath } from './lib/show/console/browser-path.ts';

/**
 * Everything that must hold, each part counted as a test; the last line says how many passed, failed and were skipped. All that a
 * run keeps outside the checkout lies in a folder of its own, which ends with it.
 */
const folder = mkdtempSync(join(tmpdir(), 'sis-'));
// Short names: a browser has a socket there, whose path has at most 107 bytes.
const [temporary = '', home = '', caches = ''] = ['tmp', 'home', 'caches'].map((name) => {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
});
const report = join(folder, 'report.json');

const environment = {
  ...process.env,
  // In this order: Unix, Windows.
  ...{ TMPDIR: temporary, TEMP: temporary, TMP: temporary },
  // Where a browser and other tools keep what is theirs.
  ...{ HOME: home, XDG_CACHE_HOME: caches, XDG_CONFIG_HOME: caches, XDG_DATA_HOME: caches },
  // Hundreds of processes load the same code: compiled once, it costs each of them half as much.
  NODE_COMPILE_CACHE: join(folder, 'compiled'),
};

const running = new Set<ChildProcess>();
for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  process.once(signal, async () => {
    const ends = [...running].map((child) => once(child, 'exit'));
    for (const child of running) child.kill('SIGTERM');
    await Promise.race([Promise.all(ends), sleep(5_000)]);
    for (const child of running) child.kill('SIGKILL');
    removeFolder();
    process.exit(status);
  });

const removeFolder = () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });

type Check = { name: string; passed: boolean };

/** What it prints is shown when it ends, all in one, unless it is `live`. */
const run = async (
  [command = '', ...options]: string[],
  { live = false, variables = {} }: { live?: boolean; variables?: Record<string, string> } = {},
): Promise<Check> => {
  const line = `› ${[command, ...options].join(' ')}\n`;
  if (live) process.stdout.write(line);
  const child = spawn(command, options, {
    stdio: live ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
    env: { ...environment, ...variables },
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [status] = await once(child, 'close').catch((error: Error) => {
    output += `${command} could not be started (${error.message}). Run \`npm ci\`.\n`;
    return [1];
  });
  running.delete(child);
  if (!live) process.stdout.write(`${line}${output}`);
  return { name: command, passed: status === 0 };
};

/** They use one core alone, and begin while the functions are packaged for the tests. */
const checkSources = async (): Promise<Check[]> => [
  await run(['tsc', '--singleThreaded'], { variables: { GOGC: '400' } }),
  await run(['biome', 'check', '--error-on-warnings', '.']),
  await run(['knip']),
];

/** Nothing in them is for now: they need not be loaded. */
const longFiles = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) => /^\/\/ @module-tag long$/m.test(readFileSync(join(import.meta.dirname, name), 'utf8')))
  .map((name) => `test/${name.replaceAll('\\', '/')}`);

// `npm run test-long` runs what `npm test` leaves out, in a folder of its own as well.
const isOfLong = process.argv.includes('--long');
const vitest = [
  'vitest',
  'run',
  `--tags-filter=${isOfLong ? '' : '!'}long`,
  '--reporter=default',
  '--reporter=json',
];
const [tests, sources] = await Promise.all([
  run(
    [...vitest, `--outputFile.json=${report}`, ...process.argv.slice(2).filter((word) => word !== '--long')],
    {
      live: true,
      variables: isOfLong ? {} : { LEFT_OUT: longFiles.join() },
    },
  ),
  isOfLong ? [] : checkSources(),
]);

/** A process that was killed may have somebody who removes its files a moment later. */
const leftBehind = async (): Promise<string[]> => {
  for (let left = 20; ; left -= 1) {
    // macOS keeps caches of the system's there.
    const names = [...readdirSync(temporary), ...readdirSync(home).filter((name) => name !== 'Library')];
    if (names.length === 0 || left === 0) return names;
    await sleep(100);
  }
};
/** With some of what is in it, which tells whose it is: the folders of tests have names by chance. */
const withContents = (name: string): string[] => {
  const path = [temporary, home].map((each) => join(each, name)).find((each) => existsSync(each));
  if (path === undefined || !statSync(path).isDirectory()) return [name];
  return [
    name,
    ...readdirSync(path, { recursive: true, encoding: 'utf8' })
      .slice(0, 5)
      .map((each) => join(name, each)),
  ];
};
// What long tests kill cannot remove its files.
const leftovers = isOfLong ? [] : await leftBehind();
if (leftovers.length > 0)
  process.stdout.write(
    `\nLeft behind outside the checkout: ${leftovers.flatMap(withContents).join(', ')}. Remove it where it is made: in a test, test/temporary-folder.ts does.\n`,
  );

type Report = { testResults: { assertionResults: { status: string; tags: string[] }[] }[] };
const readReport = (): Report => {
  try {
    return JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { testResults: [] };
  }
};
const results = readReport().testResults.flatMap(({ assertionResults }) => assertionResults);
removeFolder();

const tidy: Check[] = isOfLong ? [] : [{ name: 'nothing left behind', passed: leftovers.length === 0 }];
const checks: Check[] = [...sources, tests, ...tidy];
const isLeftOut = ({ tags }: (typeof results)[number]) => tags.includes('long') !== isOfLong;
const count = (status: string) => results.filter((result) => result.status === status).length;
const [testsPassed, testsFailed] = [count('passed'), count('failed')];
const others = results.filter(({ status }) => status !== 'passed' && status !== 'failed');
const leftOut = others.filter(isLeftOut).length;
const skipped = others.length - leftOut;

if (browserPath() === undefined)
  process.stdout.write(
    '\nThere is no browser here, so the console was not tested in one: install Chromium, or name one by CHROMIUM.\n',
  );
process.stdout.write(
  isOfLong
    ? `\nLeft out: ${leftOut} tests that \`npm test\` runs.\n`
    : `\nLeft out: ${leftOut} long tests, and ${longFiles.length} files of such. \`npm run test-long\` runs them.\n`,
);
const failures = checks.filter(({ passed }) => !passed).map(({ name }) => name);
if (failures.length > 0) process.stdout.write(`\nFailed: ${failures.join(', ')}\n`);
const passed = testsPassed + checks.length - failures.length;
const failed = testsFailed + failures.length;
process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
process.exitCode = failed > 0 || testsPassed === 0 ? 1 : 0;
