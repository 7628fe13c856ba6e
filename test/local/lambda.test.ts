import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { type FunctionConfiguration, type Lambda, startLambda } from './lambda.ts';

const eventually = <T>(look: () => T) => expect.poll(look);

let taskRoot: string;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  taskRoot = temporaryFolder();
  await mkdir(join(taskRoot, 'functions'));
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

/** A function `f` whose file holds this source. */
async function lambdaOf(
  source: string,
  { freeze = false, ...more }: Partial<FunctionConfiguration> & { freeze?: boolean } = {},
) {
  await writeFile(join(taskRoot, 'functions/f.mjs'), source);
  const configuration = {
    handler: 'functions/f.handler',
    taskRoot,
    env: {},
    timeoutMs: 20_000,
    maximumConcurrency: 1,
  };
  const lambda = await startLambda({
    functions: { f: { ...configuration, ...more } },
    freeze,
  });
  open.push(lambda);
  return { lambda, invoke: (event: unknown = {}) => lambda.invoke('f', event) };
}

/** A process that nobody has waited for yet is dead all the same. */
async function isRunning(pid: number) {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
  } catch {
    return false;
  }
}

/** What the functions of the project do not need in any of their tests. */
const isLong = { tags: ['long'] };

const pidOf = (lambda: Lambda) => lambda.containers('f')[0]?.pid ?? 0;

describe('a failure', () => {
  test('to stay within its memory ends the process', isLong, async () => {
    const source =
      'export const handler = async () => { for (const held = []; held.length < 1e5; await null) held.push(Buffer.alloc(2 ** 20, 1)); };';
    const { invoke } = await lambdaOf(source, { memoryMb: 256 });
    const errorMessage = expect.stringContaining('signal: killed');
    expect(await invoke()).toEqual({ ok: false, error: { errorType: 'Runtime.ExitError', errorMessage } });
  });

  test('to answer in time ends a process in an endless loop', isLong, async () => {
    const { invoke } = await lambdaOf(
      'export const handler = async ({ loop }) => { while (loop); return 1; };',
      { timeoutMs: 1_000 },
    );
    expect(await invoke({ loop: true })).toMatchObject({
      ok: false,
      error: { errorType: 'Sandbox.Timedout' },
    });
    expect(await invoke()).toEqual({ ok: true, payload: 1 });
  });

  test.for([
    ['process.exit(0)', 'without providing a reason'],
    ['process.kill(process.pid, "SIGKILL")', 'signal: killed'],
  ] as const)(
    'of a process that ends by %s is its exit, and the next invocation has a new process',
    async ([end, reason]) => {
      const { invoke } = await lambdaOf(
        `export const handler = async ({ end }) => { if (end) { ${end}; await new Promise(() => {}); } return 1; };`,
      );
      const errorMessage = expect.stringContaining(reason);
      expect(await invoke({ end: true })).toEqual({
        ok: false,
        error: { errorType: 'Runtime.ExitError', errorMessage },
      });
      expect(await invoke()).toEqual({ ok: true, payload: 1 });
    },
  );
});

describe('containers', () => {
  const waiting = (url: string) =>
    `export const handler = async (event) => { await fetch(${JSON.stringify(url)}); return { event, pid: process.pid }; };`;

  /** A server that answers when it is told to, and counts who waits. */
  async function startGate() {
    const held = new Set<() => void>();
    let isOpen = false;
    const server = createServer((_request, response) => {
      if (isOpen) response.end();
      else held.add(() => response.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push({
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
    });
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      held,
      open() {
        isOpen = true;
        for (const release of held) release();
      },
    };
  }

  test('are started on demand up to the maximum concurrency, beyond which invocations wait in order', async () => {
    const gate = await startGate();
    const { invoke, lambda } = await lambdaOf(waiting(gate.url), { maximumConcurrency: 2 });
    const all = Promise.all([1, 2, 3, 4, 5].map((event) => invoke(event)));
    await eventually(() => gate.held.size).toBe(2);
    expect(lambda.containers('f').map(({ busy }) => busy)).toEqual([true, true]);
    gate.open();
    const payloads = (await all).map(
      (result) => (result as { payload: { event: number; pid: number } }).payload,
    );
    expect(payloads.map(({ event }) => event)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(payloads.map(({ pid }) => pid)).size).toBe(2);
  });

  test('do nothing between invocations when they are frozen, and go on with the next', isLong, async () => {
    const ticking = 'let n = 0; setInterval(() => { n += 1; }, 5); export const handler = async () => n;';
    const { invoke, lambda } = await lambdaOf(ticking, { freeze: true });
    await invoke();
    const state = async () =>
      (await readFile(`/proc/${pidOf(lambda)}/stat`, 'utf8')).replace(/^\d+ \(.*\) (.).*/s, '$1');
    if (process.platform === 'linux') await eventually(state).toBe('T');
    expect(await invoke()).toMatchObject({ ok: true });
    expect(await invoke()).toMatchObject({ ok: true });
    const pid = pidOf(lambda);
    expect(lambda.kill('f', 'SIGTERM')).toBe(pid);
    await eventually(() => isRunning(pid)).toBe(false);
  });
});

describe('when the parent is gone', () => {
  const parent = `
    import { startLambda } from ${JSON.stringify(resolve(import.meta.dirname, 'lambda.ts'))};
    const [taskRoot, source, freeze] = process.argv.slice(2);
    const functions = { f: { handler: 'functions/' + source + '.handler', taskRoot, env: {}, timeoutMs: 60_000, maximumConcurrency: 1 } };
    const started = Promise.withResolvers();
    const onLog = (name, line) => { console.log(line); started.resolve(); };
    const lambda = await startLambda({ functions, freeze: freeze === 'true', onLog });
    const running = lambda.invoke('f', {});
    await started.promise;
    if (source === 'idle') await running;
    console.log('ready');
    if (process.argv[5] === 'close') await lambda.close();`;

  const sources = {
    idle: 'export const handler = async () => console.log("pid " + process.pid);',
    working:
      'export const handler = () => { console.log("pid " + process.pid); return new Promise((end) => setTimeout(end, 1e6)); };',
    looping: 'export const handler = () => { console.log("pid " + process.pid); for (;;); };',
  };

  test.for([
    ['idle', 'true', 'SIGKILL'],
    ['looping', 'false', 'SIGKILL'],
    ['working', 'false', 'SIGINT'],
    // Without an exit of its own: it ends only because nothing is left open.
    ['idle', 'true', 'close'],
  ] as const)('no process stays (%s, frozen %s, %s)', isLong, async ([source, freeze, end]) => {
    const folder = temporaryFolder();
    await mkdir(join(folder, 'functions'));
    await writeFile(join(folder, 'functions', `${source}.mjs`), sources[source]);
    await writeFile(join(folder, 'parent.ts'), parent);
    const arguments_ = [join(folder, 'parent.ts'), folder, source, freeze, end];
    const child = spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = once(child, 'exit');
    let pid = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      pid ||= Number(/^pid (\d+)$/.exec(line)?.[1]);
      if (line === 'ready') break;
    }
    expect(pid).toBeGreaterThan(0);
    if (end === 'SIGKILL' || end === 'SIGINT') child.kill(end);
    await exit;
    await eventually(() => isRunning(pid)).toBe(false);
  });
});
