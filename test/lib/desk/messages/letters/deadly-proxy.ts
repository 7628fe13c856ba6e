import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** When a process dies: at its so many-th request, before it arrives, after it was answered, or after it has its answer. */
export type Moment = { request: number; at: 'before' | 'unanswered' | 'answered' };

/** Queues and files are one server, tables and secrets others. */
type Servers = { queues: string; tables: string; secrets?: string };

/** Stands between a process and AWS, and calls `kill` at a moment that no process could choose by itself. */
export async function startDeadlyProxy(servers: Servers, { request: number, at }: Moment, kill: () => void) {
  let requests = 0;

  const forward = (incoming: IncomingMessage, response: ServerResponse): void => {
    requests += 1;
    const isLast = requests === number;
    if (isLast && at === 'before') {
      kill();
      response.destroy();
      return;
    }
    const { method, url: path, headers } = incoming;
    const [service] = String(headers['x-amz-target']).split(/[_.]/);
    const other = service === 'DynamoDB' ? servers.tables : service === 'secretsmanager' && servers.secrets;
    const target = new URL(other || servers.queues);
    const outgoing = request(
      { host: target.hostname, port: target.port, method, path, headers },
      (answer) => {
        if (isLast && at === 'unanswered') {
          answer.resume();
          kill();
          response.destroy();
          return;
        }
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
        if (isLast) response.once('finish', kill);
      },
    );
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  };
  const proxy = createServer(forward);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requests: () => requests,
    close: () =>
      new Promise<void>((resolve) => {
        proxy.close(() => resolve());
        proxy.closeAllConnections();
      }),
  };
}
