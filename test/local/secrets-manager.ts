import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Fault, faultList, refusalOf, suffer } from './aws-faults.ts';
import { tellDate } from './date-header.ts';
import { findSecret, type Input, operations, Refusal, type Store } from './secrets-manager-operations.ts';

type Answer = { status: number; body?: unknown };

/**
 * AWS Secrets Manager's JSON protocol on a free port of 127.0.0.1, begun with these secrets, each a text, or an object kept as JSON.
 * Under /_local/: `POST /_local/faults` (see aws-faults.ts), `DELETE /_local/faults`, and `GET /_local/requests`, an array
 * of `{at, action, secret, status}` that never holds a value; status 0 is a call that got no whole answer.
 */
export async function startSecretsManager(
  initial: Record<string, object | string> = {},
): Promise<{ url: string; close(): Promise<void> }> {
  const handle = secretsManager(initial);
  const server = createServer(async (request, response) => {
    tellDate(response);
    const answer = await handle(request, response).catch((error: Error) =>
      refused(400, 'SerializationException', error.message),
    );
    if (answer) send(response, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function secretsManager(initial: Record<string, object | string>) {
  const store: Store = { secrets: new Map(), region: 'us-east-1' };
  const faults = faultList();
  const requests: { at: string; action: string; secret: string | null; status: number }[] = [];
  for (const [name, value] of Object.entries(initial)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    operations.CreateSecret(store, { Name: name, SecretString: text });
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<Answer | null> => {
    const body = await text(request);
    if (request.url?.startsWith('/_local/')) return control(`${request.method} ${request.url}`, body);
    const action = `${request.headers['x-amz-target']}`.replace('secretsmanager.', '');
    const input = JSON.parse(body) as Input;
    const secretId = input.SecretId ?? input.Name;
    const secret = findSecret(store, secretId)?.name ?? secretId ?? null;
    const entry = { at: new Date().toISOString(), action, secret, status: 0 };
    requests.push(entry);
    const fault = faults.take(action, secret ?? '');
    if (fault && !(await suffer(fault, response))) return null;
    const answer = (fault && refusal(fault)) ?? perform(action, input, request.headers.authorization);
    const whole = !fault?.truncate && fault?.reset !== 'after';
    if (whole) entry.status = answer.status;
    return answer;
  };

  function control(call: string, body: string): Answer {
    if (call === 'GET /_local/requests') return { status: 200, body: requests };
    if (call === 'DELETE /_local/faults') faults.clear();
    else if (call !== 'POST /_local/faults') return { status: 404, body: `${call} is not known` };
    const problem = call.startsWith('POST') ? faults.add(body) : null;
    return problem === null ? { status: 204 } : { status: 400, body: problem };
  }

  function perform(action: string, input: Input, authorization = ''): Answer {
    const [, region] = /Credential=[^/]+\/\d+\/([^/]+)\/secretsmanager\//.exec(authorization) ?? [];
    if (!region) return refused(400, 'MissingAuthenticationTokenException', 'Missing Authentication Token');
    store.region = region;
    if (!Object.hasOwn(operations, action))
      return refused(400, 'UnknownOperationException', `${action} is not known here.`);
    try {
      return { status: 200, body: operations[action as keyof typeof operations](store, input) };
    } catch (error) {
      if (error instanceof Refusal) return refused(400, error.type, error.message);
      throw error;
    }
  }
}

function refusal(fault: Fault): Answer | null {
  const asked = refusalOf(fault);
  return asked && refused(asked.status, asked.type, 'a local fault');
}

function refused(status: number, type: string, message: string): Answer {
  return { status, body: { __type: type, Message: message } };
}

function send(response: ServerResponse, { status, body }: Answer) {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
