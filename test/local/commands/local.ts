import { constants, createWriteStream } from 'node:fs';
import { access, link, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { optionsOf } from '../../options.ts';
import { startStack } from '../stack.ts';
import { createLocalScreen } from './local-screen.ts';

const folder = join(import.meta.dirname, '../../../.local');
const file = join(folder, 'stack.json');
/** For `sis-relay trace --log --local`. */
const functionLog = join(folder, 'functions.log');

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
const other = await writeDescription();
if (other === undefined) {
  // What is in it is of a stack that is up no longer.
  await truncate(functionLog);
  if (shown) shown.up(stack.description, { functions });
  else process.stdout.write(`${description}\n`);
  await ended;
  shown?.stopping();
  if ((await readDescription()) === description) await rm(file);
} else {
  const where = `its platform is ${other}, and .local/stack.json tells the rest`;
  process.stderr.write(`A stack is up already: ${where}. Use it, or end it first (Ctrl-C, or SIGTERM).\n`);
  process.exitCode = 1;
}
await stack.close();
log.end();

/** Whole or not at all, and never over that of another stack that is up: then it answers where that one's platform is. */
async function writeDescription(): Promise<string | undefined> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${description}\n`);
  try {
    for (;;) {
      if (await isLinked(draft, file)) return undefined;
      const left = await readDescription();
      const other = await platformIn(left);
      if (other !== undefined) return other;
      await removeLeft(left);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** Removes what is left of a stack that was killed, but not what another has put into its place since it was read. */
async function removeLeft(left: string): Promise<void> {
  const aside = `${file}.${process.pid}.left`;
  try {
    await rename(file, aside);
    if ((await readDescription(aside)) !== left) await isLinked(aside, file);
  } catch (error) {
    // Another has removed it.
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** False where there is such a file already. */
function isLinked(from: string, to: string): Promise<boolean> {
  return link(from, to).then(
    () => true,
    (error: { code?: string }) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
}

async function readDescription(from = file): Promise<string> {
  return (await readFile(from, 'utf8').catch(() => '')).trim();
}

/** The address in a description, if a platform answers there. */
async function platformIn(text: string): Promise<string | undefined> {
  try {
    const { platform } = JSON.parse(text);
    await fetch(`${platform}/_local/settings`);
    return platform;
  } catch {
    return undefined;
  }
}
