import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startLambda } from './lambda.ts';

/** Where a function `f` has this source. */
async function taskRootOf(source: string): Promise<string> {
  const folder = temporaryFolder();
  await mkdir(join(folder, 'functions'));
  await writeFile(join(folder, 'functions/f.mjs'), source);
  return folder;
}

test('containers are started on demand up to the maximum concurrency, beyond which invocations wait in order', async () => {
  const taskRoot = await taskRootOf(
    'import { setTimeout } from "node:timers/promises"; export const handler = async (event) => { await setTimeout(50); return { event, pid: process.pid }; };',
  );
  const f = { handler: 'functions/f.handler', taskRoot, env: {}, timeoutMs: 20_000, maximumConcurrency: 2 };
  const lambda = await startLambda({ functions: { f } });
  const all = await Promise.all([1, 2, 3, 4, 5].map((event) => lambda.invoke('f', event)));
  const payloads = all.map((result) => (result as { payload: { event: number; pid: number } }).payload);
  expect(payloads.map(({ event }) => event)).toEqual([1, 2, 3, 4, 5]);
  expect(new Set(payloads.map(({ pid }) => pid)).size).toBe(2);
  await lambda.close();
});

const parent = `
  import { startLambda } from ${JSON.stringify(resolve(import.meta.dirname, 'lambda.ts'))};
  const f = { handler: 'functions/f.handler', taskRoot: process.argv[2], env: {}, timeoutMs: 60_000, maximumConcurrency: 1 };
  const lambda = await startLambda({ functions: { f }, onLog: (name, line) => console.log(line) });
  lambda.invoke('f', {});`;

/** A process that nobody has waited for yet is dead all the same. */
async function isRunning(pid: number) {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
  } catch {
    return false;
  }
}

test('no process stays when the parent is killed, not even one in an endless loop', {
  tags: ['long'],
}, async () => {
  const folder = await taskRootOf(
    'export const handler = () => { console.log("pid " + process.pid); for (;;); };',
  );
  await writeFile(join(folder, 'parent.ts'), parent);
  const child = spawn(process.execPath, [join(folder, 'parent.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let pid = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    pid = Number(/^pid (\d+)$/.exec(line)?.[1]);
    break;
  }
  expect(pid).toBeGreaterThan(0);
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  await expect.poll(() => isRunning(pid)).toBe(false);
});
