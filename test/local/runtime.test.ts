import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

const runtimePath = join(import.meta.dirname, 'runtime.ts');
let folder: string;
let stop = async () => {};

beforeAll(() => {
  folder = temporaryFolder();
});
afterEach(() => stop());

/** The runtime as a process, against a Runtime API that keeps what is said to it. */
async function run(source: string) {
  await writeFile(join(folder, 'f.ts'), source);
  const said: { call: string; body: string }[] = [];
  const waiting: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    if (request.url === '/2018-06-01/runtime/invocation/next') return waiting.push(response);
    said.push({ call: `${request.method} ${request.url}`, body: await text(request) });
    return response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const child = spawn(process.execPath, [runtimePath], {
    env: {
      PATH: process.env.PATH,
      _HANDLER: 'f.handler',
      LAMBDA_TASK_ROOT: folder,
      AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      AWS_LAMBDA_FUNCTION_NAME: 'f',
    },
    stdio: 'ignore',
  });
  const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  stop = async () => {
    server.close();
    server.closeAllConnections();
    child.kill('SIGKILL');
    await exit;
  };
  async function invoke(id: string, event: unknown) {
    await expect.poll(() => waiting.length).toBe(1);
    waiting
      .shift()
      ?.writeHead(200, {
        'lambda-runtime-aws-request-id': id,
        'lambda-runtime-deadline-ms': Date.now() + 60_000,
        'lambda-runtime-invoked-function-arn': 'arn:aws:lambda:us-east-1:000000000000:function:f',
        'lambda-runtime-trace-id': `Root=${id}`,
      })
      .end(JSON.stringify(event));
  }
  return { said, invoke, exit, waiting, server };
}

const said = async (calls: unknown[], length = 1) => {
  await expect.poll(() => calls.length).toBe(length);
  return calls;
};

test('answers one invocation after the other under its id, with its trace in the environment', async () => {
  const source = `export const handler = async (event: { n: number }, context: { awsRequestId: string }) =>
    ({ twice: event.n * 2, id: context.awsRequestId, trace: process.env._X_AMZN_TRACE_ID });`;
  const runtime = await run(source);
  await runtime.invoke('one', { n: 0 });
  await runtime.invoke('two', { n: 4 });
  expect(await said(runtime.said, 2)).toEqual([
    {
      call: 'POST /2018-06-01/runtime/invocation/one/response',
      body: '{"twice":0,"id":"one","trace":"Root=one"}',
    },
    {
      call: 'POST /2018-06-01/runtime/invocation/two/response',
      body: '{"twice":8,"id":"two","trace":"Root=two"}',
    },
  ]);
});

test('tells what the handler threw, with its trace', async () => {
  const runtime = await run('export const handler = async () => { throw new RangeError("too far"); };');
  await runtime.invoke('one', {});
  const [first] = (await said(runtime.said)) as { call: string; body: string }[];
  expect(first?.call).toBe('POST /2018-06-01/runtime/invocation/one/error');
  const body = JSON.parse(first?.body ?? '');
  expect(body).toEqual({ errorType: 'RangeError', errorMessage: 'too far', trace: expect.any(Array) });
  expect(body.trace[1]).toContain('f.ts:1');
  await runtime.invoke('two', {});
});

test('tells that the function could not be loaded, and exits with status 1', async () => {
  const runtime = await run('throw new RangeError("no settings");');
  expect(await runtime.exit).toEqual([1, null]);
  expect(runtime.said).toEqual([
    {
      call: 'POST /2018-06-01/runtime/init/error',
      body: expect.stringContaining('"errorType":"RangeError","errorMessage":"no settings"'),
    },
  ]);
});

test.for(['waits for an invocation', 'is at work'] as const)(
  'ends with its connection while it %s',
  async (state) => {
    const runtime = await run('export const handler = () => new Promise((end) => setTimeout(end, 1e6));');
    if (state === 'is at work') await runtime.invoke('one', {});
    else await expect.poll(() => runtime.waiting.length).toBe(1);
    runtime.server.closeAllConnections();
    expect(await runtime.exit).toEqual([1, null]);
  },
);

test('loads five modules of Node and nothing else, so that cold starts are the function’s own', async () => {
  const source = await readFile(runtimePath, 'utf8');
  const modules = [...source.matchAll(/from '(.+)'/g)].map(([, name]) => name);
  expect(modules.toSorted()).toEqual(['node:fs', 'node:http', 'node:module', 'node:path', 'node:url']);
});
