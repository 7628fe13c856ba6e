import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { startSecretsManager } from '../local/aws/secrets-manager.ts';
import { answerParent } from './processes.ts';

/** What the functions talk to, in a process of its own, so that only the functions' CPU time is counted. */
export type Servers = {
  platform: string;
  s3: string;
  secretsManager: string;
  /** DynamoDB, whose tables are empty. */
  dynamodb: string;
  /** Requests that the platform has answered so far. */
  answered: number;
};
export type ServersAsked = { latencyMs: number };

let latencyMs = 0;
let answered = 0;

const answerWith = (body: string): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nDate: ${new Date().toUTCString()}\r\n` +
      'X-Rate-Limit-Remaining: 999999990\r\nX-Rate-Limit-Reset: 42\r\nX-Request-Cost: 10\r\n' +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
/** Made anew each second, as a function that reads an old date takes its own clock to be wrong. */
const keptASecond = (make: () => Buffer): (() => Buffer) => {
  let [made, second] = [make(), 0];
  return () => {
    const now = Math.floor(Date.now() / 1000);
    if (now !== second) [made, second] = [make(), now];
    return made;
  };
};
const whoAmI = keptASecond(() => answerWith('{"Identifier":"301","UniqueName":"learner"}'));
const accepted = keptASecond(() => answerWith('{"OrgUnitId":2001,"UserId":301,"RoleId":102}'));
/** Every file that was fetched counts as handed in. */
const fetched = new Set<number>();
const handedIn = (): Buffer => {
  const submissions = [...fetched].map((Size) => ({
    SubmissionDate: new Date().toISOString(),
    Files: [{ FileName: 'file', Size }],
  }));
  return answerWith(JSON.stringify(submissions));
};
const answerTo = (head: string): Buffer => {
  if (head.includes('/whoami?')) return whoAmI();
  // An answer about another user is no success.
  const changed = /^PUT \S+\/(?:values|users)\/(\d+)\?/.exec(head);
  if (changed) return answerWith(`{"OrgUnitId":2001,"UserId":${changed[1]}}`);
  return /^GET \S+\/mysubmissions\//.test(head) ? handedIn() : accepted();
};

const answerOfDynamoDb = (body: string, contentType: string): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\nServer: Server\r\nDate: ${new Date().toUTCString()}\r\nContent-Type: ${contentType}\r\n` +
      `Content-Length: ${body.length}\r\nConnection: keep-alive\r\nx-amzn-RequestId: ${'A0'.repeat(26)}\r\n` +
      `x-amz-crc32: ${crc32(body)}\r\n\r\n${body}`,
  );
const written = keptASecond(() => answerOfDynamoDb('{}', 'application/x-amz-json-1.0'));
const healthy = keptASecond(() =>
  answerOfDynamoDb('healthy: dynamodb.eu-west-1.amazonaws.com ', 'text/plain'),
);
/**
 * As each message is about another thing, nothing stood there before a write, and no condition fails: so it needs to keep
 * nothing. The local stack's emulator takes longer for a write than the function for the whole message.
 */
const answerToWrite = (head: string): Buffer => (head.startsWith('GET ') ? healthy() : written());

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** Answers at once. */
const writeAt = (socket: Socket): void =>
  serve(socket, { answerTo: answerToWrite, respond: (bytes) => socket.write(bytes) });

const servePlatform = (socket: Socket): void =>
  serve(socket, {
    answerTo,
    respond: (bytes) => {
      answered += 1;
      if (latencyMs === 0) socket.write(bytes);
      else setTimeout(() => socket.writable && socket.write(bytes), latencyMs);
    },
  });

type Serving = { answerTo(head: string): Buffer; respond(bytes: Buffer): void };

/** Reads no more of a request than its end, and answers with bytes that lie ready: so the server is never what is measured. */
const serve = (socket: Socket, { answerTo, respond }: Serving): void => {
  let head: Buffer = Buffer.alloc(0);
  let bodyLeft = 0;
  let isChunked = false;
  let answer = accepted();
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (received) => {
    let piece: Buffer = received;
    while (piece.length > 0) {
      if (bodyLeft > 0) {
        const taken = Math.min(bodyLeft, piece.length);
        bodyLeft -= taken;
        piece = piece.subarray(taken);
        if (bodyLeft === 0) respond(answer);
        continue;
      }
      if (isChunked) {
        head = Buffer.concat([head, piece]).subarray(-lastChunk.length);
        if (!head.equals(lastChunk)) return;
        head = Buffer.alloc(0);
        isChunked = false;
        return respond(answer);
      }
      head = head.length === 0 ? piece : Buffer.concat([head, piece]);
      const end = head.indexOf(headEnd);
      if (end < 0) return;
      const text = head.toString('latin1', 0, end);
      piece = head.subarray(end + headEnd.length);
      head = Buffer.alloc(0);
      answer = answerTo(text);
      bodyLeft = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      isChunked = /\r\ntransfer-encoding: *chunked/i.test(text);
      if (bodyLeft === 0 && !isChunked) respond(answer);
    }
  });
};

const listening = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** S3, whose files are as long as their names say: `/bucket/1024` has 1,024 bytes. */
const serveFiles = createHttpServer((request, response) => {
  const bytes = Number(/\/(\d+)(?:\?|$)/.exec(request.url ?? '')?.[1]);
  fetched.add(bytes);
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': bytes,
    etag: `"${bytes}"`,
  });
  if (request.method === 'HEAD') return response.end();
  return Readable.from(pieces(bytes)).pipe(response);
});

function* pieces(bytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(64 * 1024, 'sis-relay ');
  for (let left = bytes; left > 0; left -= piece.length)
    yield piece.subarray(0, Math.min(left, piece.length));
}

const userOf = (userId: string) => ({
  type: 'id-key',
  appId: 'bench-app',
  appKey: 'bench-app-key',
  userId,
  userKey: `bench-key-${userId}`,
});

let started: Omit<Servers, 'answered'> | undefined;

answerParent(async (asked: ServersAsked): Promise<Servers> => {
  latencyMs = asked.latencyMs;
  started ??= {
    platform: `http://127.0.0.1:${await listening(createServer(servePlatform))}`,
    s3: `http://127.0.0.1:${await listening(serveFiles)}`,
    dynamodb: `http://127.0.0.1:${await listening(createServer(writeAt))}`,
    secretsManager: (
      await startSecretsManager({
        'bench/service': userOf('100'),
        'bench/users/301': userOf('301'),
        'bench/ledger-key': userOf('ledger'),
      })
    ).url,
  };
  return { ...started, answered };
});
