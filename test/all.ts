import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { browserPath } from './lib/console/browser-path.ts';

/** Everything that must hold, each part counted as a test; the closing line says how many passed and how many failed. */
const folder = mkdtempSync(join(tmpdir(), 'sis-relay-test-'));
const report = join(folder, 'report.json');

// Hundreds of processes load the same code: compiled once, it costs each of them half as much.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'sis-relay-compiled');

const run = (command: string, ...options: string[]): boolean => {
  process.stdout.write(`\n› ${[command, ...options].join(' ')}\n`);
  return spawnSync(command, options, { stdio: 'inherit', shell: process.platform === 'win32' }).status === 0;
};

const checks = [
  run('biome', 'check', '--error-on-warnings', '.'),
  run('tsc'),
  run('knip'),
  run(
    'vitest',
    'run',
    '--tags-filter=!long',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ),
];

type Report = { numPassedTests: number; numFailedTests: number; numPendingTests: number };
const readReport = (): Report => {
  try {
    return JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 };
  }
};
const { numPassedTests, numFailedTests, numPendingTests } = readReport();
rmSync(folder, { recursive: true, force: true });

if (browserPath() === undefined)
  process.stdout.write(
    '\nThere is no browser here, so the console was not tested in one: install Chromium, or name one by CHROMIUM.\n',
  );
const passed = checks.filter(Boolean).length + numPassedTests;
const failed = checks.length - checks.filter(Boolean).length + numFailedTests;
if (numPendingTests > 0)
  process.stdout.write(
    `\n${numPendingTests} were left out: the long ones, which \`npm run test-long\` runs.\n`,
  );
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 || numPassedTests === 0 ? 1 : 0;
