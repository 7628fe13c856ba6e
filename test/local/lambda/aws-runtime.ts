import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

// AWS' own runtime client, as it runs in Lambda, but for its native part: that speaks HTTP to the Runtime API and nothing else,
// and is not compiled here. What stands in its place must not wait either for what it was told to send.

const {
  _HANDLER: handler = '',
  LAMBDA_TASK_ROOT: taskRoot = process.cwd(),
  AWS_LAMBDA_RUNTIME_API: api = '',
} = process.env;

/** One connection: the next invocation is asked for once the answer of the one before is out. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const call = (method: string, path: string, body?: string) =>
  new Promise<{ bodyJson: string; headers: IncomingHttpHeaders }>((answered) => {
    const outgoing = request(`http://${api}/2018-06-01/runtime/${path}`, { method, agent }, (response) => {
      let bodyJson = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        bodyJson += chunk;
      });
      response.on('end', () => answered({ bodyJson, headers: response.headers }));
    });
    // Its Lambda is gone.
    outgoing.on('error', () => process.exit(1));
    outgoing.end(body);
  });

Object.assign(globalThis, {
  rapidClient: {
    initializeClient: () => {},
    next: () => call('GET', 'invocation/next'),
    done: (id: string, body: string) => void call('POST', `invocation/${id}/response`, body),
    error: (id: string, body: string) => void call('POST', `invocation/${id}/error`, body),
  },
});

const standIn = pathToFileURL(`${import.meta.dirname}/rapid-client.cjs`).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === './rapid-client.node'
      ? { url: standIn, format: 'commonjs', shortCircuit: true }
      : next(specifier, context),
  load: (url, context, next) =>
    url === standIn
      ? { format: 'commonjs', source: 'module.exports = globalThis.rapidClient;', shortCircuit: true }
      : next(url, context),
});

const { run } = await import('aws-lambda-ric');
await run(taskRoot, handler);
