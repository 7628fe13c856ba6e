import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
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
  {
    file = 'functions/f.mjs',
    freeze = false,
    ...more
  }: Partial<FunctionConfiguration> & { file?: string; freeze?: boolean } = {},
) {
  await writeFile(join(taskRoot, file), source);
  const configuration = {
    handler: 'functions/f.handler',
    taskRoot,
    env: {},
    timeoutMs: 20_000,
    maximumConcurrency: 1,
  };
  const lines: string[] = [];
  const lambda = await startLambda({
    functions: { f: { ...configuration, ...more } },
    freeze,
    onLog: (name, line) => lines.push(`${name}: ${line}`),
  });
  open.push(lambda);
  return { lambda, lines, invoke: (event: unknown = {}) => lambda.invoke('f', event) };
}

const returning = (expression: string) => `export const handler = async (event, context) => (${expression});`;

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

describe('a function', () => {
  test('gets the event and answers with what its handler returns, in a process of its own', async () => {
    const { invoke } = await lambdaOf(returning('{ event, pid: process.pid }'));
    const result = await invoke({ text: 'é🎉', zero: 0 });
    expect(result).toEqual({
      ok: true,
      payload: { event: { text: 'é🎉', zero: 0 }, pid: expect.any(Number) },
    });
    expect(result).not.toHaveProperty('payload.pid', process.pid);
  });

  test('that returns nothing answers null', isLong, async () => {
    const { invoke } = await lambdaOf(returning('undefined'));
    expect(await invoke()).toEqual({ ok: true, payload: null });
  });

  test('is a TypeScript source as well as a bundle', async () => {
    const source = 'export const handler = async (event: { n: number }): Promise<number> => event.n + 1;';
    const { invoke } = await lambdaOf(source, {
      file: 'functions/typed.ts',
      handler: 'functions/typed.handler',
    });
    expect(await invoke({ n: 1 })).toEqual({ ok: true, payload: 2 });
  });

  test('is found in its file by a dotted name', isLong, async () => {
    const { invoke } = await lambdaOf('export const api = { v1: async () => "nested" };', {
      handler: 'functions/f.api.v1',
    });
    expect(await invoke()).toEqual({ ok: true, payload: 'nested' });
  });

  test('sees Lambda’s context', isLong, async () => {
    const { invoke } = await lambdaOf(returning('{ ...context, left: context.getRemainingTimeInMillis() }'), {
      env: { AWS_REGION: 'eu-west-1' },
      memoryMb: 256,
    });
    const { payload } = (await invoke()) as { payload: { left: number } };
    expect(payload).toMatchObject({
      awsRequestId: expect.stringMatching(/^[\da-f-]{36}$/),
      functionName: 'f',
      functionVersion: '$LATEST',
      invokedFunctionArn: 'arn:aws:lambda:eu-west-1:000000000000:function:f',
      memoryLimitInMB: '256',
      logGroupName: '/aws/lambda/f',
    });
    expect(payload.left).toBeGreaterThan(0);
    expect(payload.left).toBeLessThanOrEqual(20_000);
  });

  test(
    'sees the environment that it was given, PATH, HOME, a folder for temporary files, where compiled code is kept, and Lambda’s variables',
    isLong,
    async () => {
      process.env.ONLY_IN_THE_PARENT = 'leak';
      const { invoke } = await lambdaOf(returning('process.env'), { env: { QUEUE: 'here' } });
      const { payload } = (await invoke()) as { payload: Record<string, string> };
      delete process.env.ONLY_IN_THE_PARENT;
      expect(payload).toMatchObject({
        QUEUE: 'here',
        AWS_LAMBDA_FUNCTION_NAME: 'f',
        LAMBDA_TASK_ROOT: taskRoot,
      });
      const others = Object.keys(payload).filter(
        (name) => !/^(_HANDLER|_X_AMZN_TRACE_ID|(AWS|LAMBDA)_.*|NODE_COMPILE_CACHE)$/.test(name),
      );
      expect(others.toSorted()).toEqual(['HOME', 'PATH', 'QUEUE', 'TMPDIR', 'TZ']);
    },
  );

  test('has a folder for temporary files until it ends, also when it is killed', isLong, async () => {
    const { lambda, invoke } = await lambdaOf(
      `import { writeFileSync } from 'node:fs';
      import { tmpdir } from 'node:os';
      export const handler = async () => { writeFileSync(tmpdir() + '/half', ''); return tmpdir(); };`,
    );
    const { payload: killed } = (await invoke()) as { payload: string };
    expect(existsSync(join(killed, 'half'))).toBe(true);
    lambda.kill('f');
    await eventually(() => existsSync(killed)).toBe(false);
    const { payload: next } = (await invoke()) as { payload: string };
    expect(existsSync(next)).toBe(true);
    await lambda.close();
    expect(existsSync(next)).toBe(false);
  });

  test('has its lines in the log before its result is known', isLong, async () => {
    const { invoke, lines } = await lambdaOf(
      `export const handler = async ({ n }) => {
        for (let i = 0; i < 500; i += 1) console.log(n, 'é'.repeat(100), i);
        console.error('done', n);
      };`,
    );
    for (const n of [1, 2, 3]) {
      await invoke({ n });
      expect(lines).toHaveLength(n * 501);
      expect(lines).toContain(`f: done ${n}`);
      expect(lines).toContain(`f: ${n} ${'é'.repeat(100)} 499`);
    }
  });

  test('has its last words in the log before its end is known', isLong, async () => {
    const { invoke, lines } = await lambdaOf(
      `export const handler = async () => {
        for (let i = 0; i < 2000; i += 1) console.log('é'.repeat(100), i);
        process.exit(1);
      };`,
    );
    for (const n of [1, 2]) {
      expect(await invoke()).toMatchObject({ ok: false, error: { errorType: 'Runtime.ExitError' } });
      expect(lines).toHaveLength(n * 2000);
    }
  });

  test('that is not known is refused', isLong, async () => {
    const { lambda } = await lambdaOf(returning('1'));
    await expect(lambda.invoke('g', {})).rejects.toThrow('There is no function g, only f');
  });
});

describe('a failure', () => {
  test('that the handler throws is answered by its name and message, and the process goes on', async () => {
    const { invoke, lines, lambda } = await lambdaOf(
      'export const handler = async ({ fail }) => { if (fail) throw new TypeError("no such thing"); return process.pid; };',
    );
    const error = { errorType: 'TypeError', errorMessage: 'no such thing' };
    expect(await invoke({ fail: true })).toEqual({ ok: false, error });
    expect(await invoke({})).toEqual({ ok: true, payload: pidOf(lambda) });
    expect(lines[0]).toBe('f: TypeError: no such thing');
  });

  test('of an answer that is no JSON is one of the handler', isLong, async () => {
    const { invoke } = await lambdaOf(returning('1n'));
    expect(await invoke()).toMatchObject({ ok: false, error: { errorType: 'TypeError' } });
  });

  test.for([
    [
      'throws while it loads',
      'throw new RangeError("bad configuration");',
      'RangeError',
      'bad configuration',
    ],
    [
      'imports what is not there',
      'import "./missing.mjs"; export const handler = 1;',
      'Runtime.ImportModuleError',
      'missing.mjs',
    ],
    ['has a syntax error', 'export const handler = ;', 'Runtime.UserCodeSyntaxError', 'Unexpected token'],
    [
      'exports no handler',
      'export const other = 1;',
      'Runtime.HandlerNotFound',
      'exports no function handler',
    ],
  ] as const)(
    'of a file that %s is answered, and tried again by the next invocation',
    isLong,
    async ([, source, errorType, message]) => {
      const { invoke } = await lambdaOf(source);
      for (const _ of [1, 2]) {
        expect(await invoke()).toMatchObject({
          ok: false,
          error: { errorType, errorMessage: expect.stringContaining(message) },
        });
      }
    },
  );

  test.for([
    ['functions/none.handler', 'Runtime.ImportModuleError'],
    ['handler', 'Runtime.MalformedHandlerName'],
  ] as const)('of the handler %s is %s', isLong, async ([handler, errorType]) => {
    const { invoke } = await lambdaOf(returning('1'), { handler });
    expect(await invoke()).toMatchObject({ ok: false, error: { errorType } });
  });

  test('of a folder that is missing is answered', isLong, async () => {
    const { invoke } = await lambdaOf(returning('1'), { taskRoot: join(taskRoot, 'none') });
    const errorMessage = expect.stringContaining('ENOENT');
    expect(await invoke()).toEqual({ ok: false, error: { errorType: 'Runtime.ExitError', errorMessage } });
  });

  test('to stay within its memory ends the process', isLong, async () => {
    const source =
      'export const handler = async () => { for (const held = []; held.length < 1e5; await null) held.push(Buffer.alloc(2 ** 20, 1)); };';
    const { invoke } = await lambdaOf(source, { memoryMb: 256 });
    const errorMessage = expect.stringContaining('signal: killed');
    expect(await invoke()).toEqual({ ok: false, error: { errorType: 'Runtime.ExitError', errorMessage } });
  });

  test('to answer in time ends the process', isLong, async () => {
    const { invoke, lambda } = await lambdaOf(
      'export const handler = () => new Promise(() => setInterval(() => {}, 1e6));',
      { timeoutMs: 300 },
    );
    const running = invoke();
    await eventually(() => pidOf(lambda)).toBeGreaterThan(0);
    const pid = pidOf(lambda);
    const errorMessage = expect.stringMatching(
      /^RequestId: [\da-f-]{36} Error: Task timed out after 0\.30 seconds$/,
    );
    expect(await running).toEqual({ ok: false, error: { errorType: 'Sandbox.Timedout', errorMessage } });
    expect(await isRunning(pid)).toBe(false);
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
    ['process.exit(3)', 'exit status 3'],
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

  test.for([
    ['setTimeout(() => { throw new RangeError("later"); })', 'RangeError'],
    ['Promise.reject(new RangeError("later"))', 'Runtime.UnhandledPromiseRejection'],
  ] as const)('that nobody catches (%s) is the invocation’s', isLong, async ([raise, errorType]) => {
    const { invoke } = await lambdaOf(
      `export const handler = () => { ${raise}; return new Promise((end) => setTimeout(end, 1e6)); };`,
    );
    expect(await invoke()).toMatchObject({ ok: false, error: { errorType, errorMessage: 'later' } });
  });
});

describe('containers', () => {
  const counting = 'let n = 0; export const handler = async () => ({ n: ++n, pid: process.pid });';
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

  test('are kept for the next invocation', isLong, async () => {
    const { invoke, lambda } = await lambdaOf(counting, { maximumConcurrency: 3 });
    const results = [await invoke(), await invoke(), await invoke()];
    expect(results).toEqual([1, 2, 3].map((n) => ({ ok: true, payload: { n, pid: pidOf(lambda) } })));
    expect(lambda.containers('f')).toEqual([{ pid: pidOf(lambda), busy: false }]);
  });

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

  test('that are killed at work fail their invocation, and are replaced', isLong, async () => {
    const gate = await startGate();
    const { invoke, lambda } = await lambdaOf(waiting(gate.url));
    const running = invoke('first');
    await eventually(() => gate.held.size).toBe(1);
    const pid = lambda.kill('f');
    const errorMessage = expect.stringContaining('signal: killed');
    expect(await running).toEqual({ ok: false, error: { errorType: 'Runtime.ExitError', errorMessage } });
    gate.open();
    expect(await invoke('second')).toMatchObject({ ok: true, payload: { event: 'second' } });
    expect(pidOf(lambda)).not.toBe(pid);
  });

  test('that are killed idle cost no invocation', isLong, async () => {
    const { invoke, lambda } = await lambdaOf(counting);
    await invoke();
    const pid = lambda.kill('f');
    expect(pid).toBeGreaterThan(0);
    expect(await invoke()).toMatchObject({ ok: true, payload: { n: 1 } });
    await eventually(() => isRunning(pid!)).toBe(false);
  });

  test('that are not there cannot be killed', isLong, async () => {
    const { lambda } = await lambdaOf(counting);
    expect(lambda.kill('f')).toBeUndefined();
    expect(lambda.containers('f')).toEqual([]);
  });

  test(
    'that are recycled make the next invocation a cold start, with the new environment',
    isLong,
    async () => {
      const { invoke, lambda } = await lambdaOf(
        `let n = 0; export const handler = async () => [++n, process.env.KEY];`,
        { env: { KEY: 'old' } },
      );
      expect([await invoke(), await invoke()]).toMatchObject([
        { payload: [1, 'old'] },
        { payload: [2, 'old'] },
      ]);
      await lambda.recycle('f');
      expect(lambda.containers('f')).toEqual([]);
      expect(await invoke()).toMatchObject({ payload: [1, 'old'] });
      await lambda.recycle('f', { KEY: 'new' });
      expect([await invoke(), await invoke()]).toMatchObject([
        { payload: [1, 'new'] },
        { payload: [2, 'new'] },
      ]);
    },
  );

  test('that are recycled at work finish first', isLong, async () => {
    const gate = await startGate();
    const { invoke, lambda } = await lambdaOf(waiting(gate.url));
    const running = invoke('first');
    await eventually(() => gate.held.size).toBe(1);
    const recycled = lambda.recycle('f');
    gate.open();
    const first = await running;
    await recycled;
    const second = await invoke('second');
    expect([first, second]).toMatchObject([
      { payload: { event: 'first' } },
      { payload: { event: 'second' } },
    ]);
    expect(first).not.toHaveProperty('payload.pid', pidOf(lambda));
  });

  test('keep an invocation that is longer than Node’s keep-alive of 5 seconds', isLong, async () => {
    const { invoke } = await lambdaOf(
      'export const handler = () => new Promise((end) => setTimeout(end, 6_000, "late"));',
    );
    expect(await invoke()).toEqual({ ok: true, payload: 'late' });
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

  test('are all gone after close, and what was under way or waiting is told so', async () => {
    const gate = await startGate();
    const { invoke, lambda } = await lambdaOf(waiting(gate.url));
    const all = Promise.all([invoke(1), invoke(2)]);
    await eventually(() => gate.held.size).toBe(1);
    const pid = pidOf(lambda);
    await lambda.close();
    expect(await all).toMatchObject([
      { ok: false, error: { errorType: 'Runtime.ExitError' } },
      { ok: false, error: { errorType: 'ServiceException', errorMessage: 'Lambda is closed' } },
    ]);
    expect(await isRunning(pid)).toBe(false);
    expect(await invoke(3)).toMatchObject({ ok: false });
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
    if (process.argv[5] === 'exit') process.exit(0);
    if (process.argv[5] === 'close') await lambda.close();`;

  const sources = {
    idle: 'export const handler = async () => console.log("pid " + process.pid);',
    working:
      'export const handler = () => { console.log("pid " + process.pid); return new Promise((end) => setTimeout(end, 1e6)); };',
    looping: 'export const handler = () => { console.log("pid " + process.pid); for (;;); };',
  };

  test.for([
    ['idle', 'false', 'SIGKILL'],
    ['idle', 'true', 'SIGKILL'],
    ['working', 'true', 'SIGKILL'],
    ['looping', 'false', 'SIGKILL'],
    ['working', 'false', 'SIGINT'],
    ['idle', 'true', 'exit'],
    // Without an exit of its own: it ends only because nothing is left open.
    ['idle', 'true', 'close'],
    ['working', 'false', 'close'],
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
