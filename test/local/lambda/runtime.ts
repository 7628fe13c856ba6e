import { existsSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { flushCompileCache } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// What AWS Lambda's Node.js runtime does, over the same API, so that a function meets here the process it will live in.
// It must stay light: whatever it loads is counted as the function's cold start.

type Handler = (event: unknown, context: object) => unknown;

const {
  _HANDLER: handlerName = '',
  LAMBDA_TASK_ROOT: taskRoot = process.cwd(),
  AWS_LAMBDA_RUNTIME_API: api = '',
  AWS_LAMBDA_FUNCTION_NAME: functionName = '',
  AWS_LAMBDA_FUNCTION_VERSION: functionVersion = '$LATEST',
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: memoryLimitInMB = '128',
  AWS_LAMBDA_LOG_GROUP_NAME: logGroupName = '',
  AWS_LAMBDA_LOG_STREAM_NAME: logStreamName = '',
} = process.env;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const watched = new WeakSet();
let phase = 'init';

// A log line is out before the answer is, and is not lost when the process dies, as on Lambda.
for (const stream of [process.stdout, process.stderr]) {
  (stream as { _handle?: { setBlocking?(blocking: boolean): void } })._handle?.setBlocking?.(true);
}

process.on('uncaughtException', async (error, origin) => {
  const rejected = origin === 'unhandledRejection';
  if (phase !== 'idle') await report(error, rejected ? 'Runtime.UnhandledPromiseRejection' : undefined);
  process.exit(rejected ? 128 : 129);
});

const handler = await load().catch(async (error) => {
  await report(error);
  process.exit(1);
});
// A function is killed rather than ended, and what was compiled would be kept at its end.
if (process.env.NODE_COMPILE_CACHE) flushCompileCache();
await run(handler);

async function run(handler: Handler): Promise<never> {
  for (;;) {
    phase = 'idle';
    const { headers, body } = await call('GET', 'invocation/next');
    phase = `invocation/${headers['lambda-runtime-aws-request-id']}`;
    process.env._X_AMZN_TRACE_ID = `${headers['lambda-runtime-trace-id']}`;
    try {
      const result = await handler(JSON.parse(body), contextOf(headers));
      await call('POST', `${phase}/response`, JSON.stringify(result) ?? 'null');
    } catch (error) {
      await report(error);
    }
  }
}

function contextOf(headers: IncomingMessage['headers']) {
  const deadlineMs = Number(headers['lambda-runtime-deadline-ms']);
  return {
    awsRequestId: headers['lambda-runtime-aws-request-id'],
    invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
    functionName,
    functionVersion,
    memoryLimitInMB,
    logGroupName,
    logStreamName,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => deadlineMs - Date.now(),
  };
}

/** `folder/file.exported`: the file may be a source or a bundle. */
async function load(): Promise<Handler> {
  const [, path = '', exported = ''] = /^(.*)\.(\w+)$/.exec(handlerName) ?? [];
  const stem = resolve(taskRoot, path);
  const file = ['.mjs', '.js', '.ts'].map((extension) => stem + extension).find((name) => existsSync(name));
  if (!file) throw named('Runtime.ImportModuleError', `there is no file ${stem}`);
  const module = await import(pathToFileURL(file).href).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') throw named('Runtime.ImportModuleError', error.message);
    if (error instanceof SyntaxError) throw named('Runtime.UserCodeSyntaxError', error.message);
    throw error;
  });
  if (typeof module[exported] === 'function') return module[exported];
  throw named('Runtime.HandlerNotFound', `${file} exports no function ${exported}`);
}

async function report(error: unknown, errorType?: string) {
  const { name, message, stack } = error instanceof Error ? error : named(typeof error, String(error));
  process.stderr.write(`${stack ?? message}\n`);
  const body = { errorType: errorType ?? name, errorMessage: message, trace: stack?.split('\n') ?? [] };
  await call('POST', `${phase}/error`, JSON.stringify(body));
}

function named(name: string, message: string) {
  return Object.assign(new Error(message), { name });
}

function call(
  method: string,
  path: string,
  body?: string,
): Promise<{ headers: IncomingMessage['headers']; body: string }> {
  return new Promise((answered) => {
    const outgoing = request(`http://${api}/2018-06-01/runtime/${path}`, { method, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => answered({ headers: response.headers, body: text }));
    });
    outgoing.on('error', endWithLambda);
    outgoing.on('socket', (socket) => {
      if (!watched.has(socket)) socket.once('close', endWithLambda);
      watched.add(socket);
    });
    outgoing.end(body);
  });
}

/** The connection is kept while Lambda lives: once it is gone, nobody waits for this process and nobody will stop it. */
function endWithLambda() {
  process.exit(1);
}
