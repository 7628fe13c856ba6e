import { constants, createWriteStream } from 'node:fs';
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { optionsOf } from '../../options.ts';
import { startStack } from '../stack.ts';
import { createLocalScreen } from './local-screen.ts';

const folder = join(import.meta.dirname, '../../../.local');
const file = join(folder, 'stack.json');
/** For `sis-relay trace --log --local`. */
const functionLog = join(folder, 'functions.log');
/** The error of SQLite if another process has the lock. */
const sqliteBusy = 5;

const { functions } = optionsOf(
  { functions: { type: 'boolean', default: true } },
  {
    usage: 'The one option is --no-functions: `npm run local -- --no-functions`.',
    allowNegative: true,
  },
);
const ended = new Promise<void>((resolve) => {
  // Each stays handled: of one Ctrl-C, the terminal and npm make two signals.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
});
// A person reads a screen, and a program the one line of JSON, with what the functions log on standard error.
const shown = process.stdout.isTTY ? createLocalScreen() : undefined;
const isLogRead = shown === undefined || !process.stderr.isTTY;
try {
  await mkdir(folder, { recursive: true });
  await access(folder, constants.W_OK);
} catch {
  process.stderr.write(`${folder} cannot be written. Make it writable for this user.\n`);
  process.exit(1);
}
// The system gives the lock back if this process is killed.
const lock = new DatabaseSync(join(folder, 'stack.lock'));
while (!isLocked()) {
  const platform = await platformOfOther();
  if (platform !== undefined) {
    process.stderr.write(
      `A stack is up already: its platform is ${platform}, and .local/stack.json tells the rest. Use it, or end it first (Ctrl-C, or SIGTERM).\n`,
    );
    process.exit(1);
  }
  await sleep(200);
}
// What is left of a stack that was killed.
await rm(file, { force: true });
await rm(functionLog, { force: true });
const log = createWriteStream(functionLog, { flags: 'a' });
const stack = await startStack({
  functions,
  onLog: (name, line) => {
    log.write(`${name} ${line}\n`);
    shown?.log(name, line);
    if (isLogRead) process.stderr.write(`${name} ${line}\n`);
  },
  onError: (error) => {
    shown?.trouble(error.message);
    if (isLogRead) process.stderr.write(`${error.message}\n`);
  },
});
const description = JSON.stringify({ ...stack.description, functionLog });
await writeFile(`${file}.draft`, `${description}\n`);
await rename(`${file}.draft`, file);
if (shown) shown.up(stack.description, { functions });
else process.stdout.write(`${description}\n`);
await ended;
shown?.stopping();
await rm(file);
await stack.close();
log.end();
lock.close();

function isLocked(): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === sqliteBusy) return false;
    throw error;
  }
}

/** Undefined while the other one starts; the description may be that of a stack that was killed. */
async function platformOfOther(): Promise<string | undefined> {
  try {
    const { platform } = JSON.parse(await readFile(file, 'utf8'));
    await fetch(`${platform}/_local/settings`);
    return platform;
  } catch {
    return undefined;
  }
}
