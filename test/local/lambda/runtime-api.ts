import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export type RuntimeError = { errorType: string; errorMessage: string };
export type InvokeResult = { ok: true; payload: unknown } | { ok: false; error: RuntimeError };

type Events = {
  onListening(address: string): void;
  /** The runtime has loaded its function, or is done with an invocation. */
  onNext(): void;
  onResult(id: string, result: InvokeResult): void;
  onInitError(error: RuntimeError): void;
};

const calls =
  /^\/2018-06-01\/runtime\/(?:invocation\/(?<next>next)|invocation\/(?<id>[^/]+)\/(?<kind>response|error)|init\/error)$/;

/** AWS' Lambda Runtime API for one process, on a free port of 127.0.0.1. */
export function startRuntimeApi(events: Events) {
  let next: ServerResponse | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const body = await text(request);
    const { next: isNext, id, kind } = calls.exec(request.url ?? '')?.groups ?? {};
    if (isNext) {
      next = response;
      return events.onNext();
    }
    if (id === undefined) events.onInitError(errorIn(body));
    else if (kind === 'error') events.onResult(id, { ok: false, error: errorIn(body) });
    else events.onResult(id, { ok: true, payload: JSON.parse(body) });
    response.writeHead(202).end();
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(400).end());
  });
  // Node ends a connection that was idle for 5 seconds, which would tell a runtime at work that its Lambda is gone.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1', () => {
    events.onListening(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  });

  return {
    /** Answers the call for the next invocation, which is waiting. */
    deliver({ id, event, deadlineMs, arn }: { id: string; event: string; deadlineMs: number; arn: string }) {
      next?.writeHead(200, {
        'content-type': 'application/json',
        'lambda-runtime-aws-request-id': id,
        'lambda-runtime-deadline-ms': deadlineMs,
        'lambda-runtime-invoked-function-arn': arn,
        'lambda-runtime-trace-id': `Root=1-${Math.floor(Date.now() / 1000).toString(16)}-${id.replaceAll('-', '').slice(0, 24)};Sampled=0`,
      });
      next?.end(event);
      next = undefined;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function errorIn(body: string): RuntimeError {
  const { errorType = 'Error', errorMessage = '' } = JSON.parse(body) as Partial<RuntimeError>;
  return { errorType, errorMessage };
}
