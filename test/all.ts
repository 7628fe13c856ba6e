import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { browserPath } from './lib/desk/console/browser-path.ts';

// Everything that must hold, each part counted as a test; the last line counts what passed, failed and was skipped. All that a run
// keeps outside the checkout is in a folder of its own, which ends with it. `--long` runs the long tests, which `npm test` leaves out;
// with `--third --seed N`, a third of their files.

const root = resolve(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'sis-'));
// Short names: a browser has a socket there, whose path has at most 107 bytes.
const [temporary = '', home = '', caches = ''] = ['tmp', 'home', 'caches'].map((name) => join(folder, name));
for (const path of [temporary, home, caches]) mkdirSync(path);
const report = join(folder, 'report.json');
const environment = {
  ...process.env,
  // In this order: Unix, Windows.
  TMPDIR: temporary,
  TEMP: temporary,
  TMP: temporary,
  // Where a browser and other tools keep what is theirs.
  HOME: home,
  XDG_CACHE_HOME: caches,
  XDG_CONFIG_HOME: caches,
  XDG_DATA_HOME: caches,
  // Hundreds of processes load the same code: compiled once, it costs each of them half as much.
  NODE_COMPILE_CACHE: join(folder, 'compiled'),
};
const removeFolder = () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });

const running = new Set<ChildProcess>();
for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
  process.once(signal, async () => {
    const ends = [...running].map((child) => once(child, 'exit'));
    for (const child of running) child.kill('SIGTERM');
    await Promise.race([Promise.all(ends), sleep(5_000)]);
    for (const child of running) child.kill('SIGKILL');
    removeFolder();
    process.exit(status);
  });

type Check = { name: string; passed: boolean };

/** What it prints is shown when it ends, all in one, unless it is `live`. */
const run = async (
  [name = '', ...options]: string[],
  { live = false, variables = {} }: { live?: boolean; variables?: Record<string, string> } = {},
): Promise<Check> => {
  const child = spawn(name, options, {
    stdio: live ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
    env: { ...environment, ...variables },
  });
  running.add(child);
  const printed = [child.stdout, child.stderr].map((stream) => (stream ? text(stream) : ''));
  const [[status], ...outputs] = await Promise.all([once(child, 'close'), ...printed]).catch(
    (error: Error) => [[1], `${name} could not be started (${error.message}). Run \`npm ci\`.\n`],
  );
  running.delete(child);
  process.stdout.write(`› ${[name, ...options].join(' ')}\n${outputs.join('')}`);
  return { name, passed: status === 0 };
};

const words = process.argv.slice(2);
const isOfLong = words.includes('--long');
const seedAt = words.indexOf('--seed');
const shard = words.includes('--third') ? [`--shard=${(Number(words[seedAt + 1]) % 3) + 1}/3`] : [];
/** For vitest: files, or what their titles hold. */
const chosen = words.filter(
  (word, at) => !['--long', '--third', '--seed'].includes(word) && (seedAt < 0 || at !== seedAt + 1),
);

const testFiles = globSync('test/**/*.test.ts', { cwd: root }).map((name) => name.replaceAll('\\', '/'));
/** Nothing in them is for `npm test`: it need not load them. */
const longFiles = testFiles.filter((name) =>
  /^\/\/ @module-tag long$/m.test(readFileSync(join(root, name), 'utf8')),
);

/** They use one core alone, and begin while the functions are packaged for the tests. */
const checkSources = async (): Promise<Check[]> => [
  await run(['tsc', '--singleThreaded'], { variables: { GOGC: '400' } }),
  await run(['biome', 'check', '--error-on-warnings', '.']),
  await run(['knip']),
];

const vitest = ['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
const [tests, sources] = await Promise.all([
  run([...vitest, `--tags-filter=${isOfLong ? '' : '!'}long`, ...shard, ...chosen], {
    live: true,
    variables: isOfLong ? {} : { LEFT_OUT: longFiles.join() },
  }),
  isOfLong ? [] : checkSources(),
]);

type Report = { testResults: { name: string; assertionResults: { status: string; tags: string[] }[] }[] };
const readReport = (): Report => {
  try {
    return JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { testResults: [] };
  }
};
const { testResults } = readReport();

/** macOS keeps caches of the system's there. */
const leftBehind = (): string[] =>
  [temporary, home]
    .flatMap((path) => readdirSync(path, { recursive: true, encoding: 'utf8' }))
    .filter((name) => !name.startsWith('Library'));
// What long tests kill cannot remove its files. Who removes those of other killed processes may take a moment.
for (let left = isOfLong ? 0 : 20; left > 0 && leftBehind().length > 0; left -= 1) await sleep(100);
const leftovers = isOfLong ? [] : leftBehind();
removeFolder();
if (leftovers.length > 0)
  console.log(
    `\nLeft behind outside the checkout: ${leftovers.slice(0, 20).join(', ')}. Remove it where it is made: in a test, test/temporary-folder.ts does.`,
  );

// A file that vitest did not report at all would be missed by nobody.
const reported = testResults.map(({ name }) => name.replaceAll('\\', '/'));
const due = isOfLong || chosen.length > 0 ? [] : testFiles.filter((name) => !longFiles.includes(name));
const missing = due.filter((name) => !reported.some((each) => each.endsWith(`/${name}`)));
if (missing.length > 0) console.log(`\nNot run: ${missing.join(', ')}`);

const results = testResults.flatMap(({ assertionResults }) => assertionResults);
const count = (status: string) => results.filter((result) => result.status === status).length;
const others = results.filter(({ status }) => status !== 'passed' && status !== 'failed');
const leftOut = others.filter(({ tags }) => tags.includes('long') !== isOfLong).length;
const checks: Check[] = [
  ...sources,
  tests,
  { name: 'all test files run', passed: missing.length === 0 && count('passed') > 0 },
  ...(isOfLong ? [] : [{ name: 'nothing left behind', passed: leftovers.length === 0 }]),
];
const failures = checks.filter(({ passed }) => !passed).map(({ name }) => name);

if (browserPath() === undefined)
  console.log(
    '\nThere is no browser here, so the console was not tested in one: install Chromium, or name one by CHROMIUM.',
  );
console.log(
  isOfLong
    ? `\nLeft out: ${leftOut} tests that \`npm test\` runs.`
    : `\nLeft out: ${leftOut} long tests, and ${longFiles.length} files of such. \`npm run test-long\` runs them.`,
);
if (failures.length > 0) console.log(`\nFailed: ${failures.join(', ')}`);
const [passed, failed] = [
  count('passed') + checks.length - failures.length,
  count('failed') + failures.length,
];
const skipped = others.length - leftOut;
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 ? 1 : 0;
