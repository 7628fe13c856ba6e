import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import { startSecretsManager } from '../local/aws/secrets-manager.ts';
import { answerParent } from './processes.ts';

/** What the functions talk to. */
export type Servers = { platform: string; secretsManager: string; dynamodb: string };

const answerOf = (body: string, headers: Record<string, string | number>): string =>
  [
    'HTTP/1.1 200 OK',
    ...Object.entries({
      // A function that reads an old date takes its own clock to be wrong.
      date: new Date().toUTCString(),
      'content-length': body.length,
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');

/** An answer about another user would be no success. */
const platformAnswer = (head: string): string =>
  answerOf(`{"OrgUnitId":2001,"UserId":${/\/values\/(\d+)\?/.exec(head)?.[1]}}`, {
    'content-type': 'application/json; charset=utf-8',
    'x-rate-limit-remaining': 999_999_990,
    'x-rate-limit-reset': 42,
    'x-request-cost': 10,
  });

/**
 * DynamoDB, which keeps nothing: as each message is about another resource, nothing stood there before a write, and no condition
 * fails. The local stack's emulator takes longer for a write than the function for the whole message.
 */
const dynamodbAnswer = (head: string): string => {
  const isPing = head.startsWith('GET ');
  const body = isPing ? 'healthy: dynamodb.eu-west-1.amazonaws.com ' : '{}';
  return answerOf(body, {
    'content-type': isPing ? 'text/plain' : 'application/x-amz-json-1.0',
    'x-amzn-requestid': 'A0'.repeat(26),
    'x-amz-crc32': crc32(body),
  });
};

const headEnd = '\r\n\r\n';

/** Reads no more of a request than its head and its length, so that the server is never what is measured. */
const answering = (answerTo: (head: string) => string) => (socket: Socket) => {
  let received = '';
  socket.setNoDelay(true).setEncoding('latin1');
  socket.on('error', () => {});
  socket.on('data', (piece: string) => {
    received += piece;
    for (let end = received.indexOf(headEnd); end >= 0; end = received.indexOf(headEnd)) {
      const head = received.slice(0, end);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (received.length < end + headEnd.length + length) return;
      received = received.slice(end + headEnd.length + length);
      socket.write(answerTo(head));
    }
  });
};

const start = async (answerTo: (head: string) => string): Promise<string> => {
  const server = createServer(answering(answerTo)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const keyOf = (userId: string) => ({
  type: 'id-key',
  appId: 'bench-app',
  appKey: 'bench-app-key',
  userId,
  userKey: `bench-key-${userId}`,
});

answerParent(
  async (): Promise<Servers> => ({
    platform: await start(platformAnswer),
    dynamodb: await start(dynamodbAnswer),
    secretsManager: (
      await startSecretsManager({ 'bench/service': keyOf('100'), 'bench/ledger-key': keyOf('ledger') })
    ).url,
  }),
);
