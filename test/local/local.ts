import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startStack } from './stack.ts';

const { values } = parseArgs({
  options: { functions: { type: 'boolean', default: true } },
  allowNegative: true,
});

const folder = join(import.meta.dirname, '../../.local');
const file = join(folder, 'stack.json');

// What the functions log goes to standard error, so that standard output is the one line of JSON.
const stack = await startStack({
  functions: values.functions,
  onLog: (name, line) => process.stderr.write(`${name} ${line}\n`),
  onError: (error) => process.stderr.write(`${error.message}\n`),
});
const description = JSON.stringify(stack.description);
await mkdir(folder, { recursive: true });
await writeFile(file, `${description}\n`);
process.stdout.write(`${description}\n`);

const stop = async () => {
  await rm(file, { force: true });
  await stack.close();
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
