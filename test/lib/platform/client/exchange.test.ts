import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Payload } from '../../../../lib/platform/client/exchange.ts';
import { waitLimitMs } from '../../../limits.ts';
import { answering, clientAt, errorOf, handling, nobody, operations, raw } from '../servers.ts';

const path = { id: 1 };
/** Windows cannot stop a process and let it go on. */
const cannotFreeze = process.platform === 'win32';
const kinds = [
  ['a repeatable call', operations.repeatable],
  ['a call that must not be sent twice', operations.once],
] as const;

/** The clock by which undici measures its limits: it moves twice a second by itself, and may be up to a second ahead for a limit. */
const clock: { tick(ms: number): void } = createRequire(import.meta.url)('undici/lib/util/timers.js');
/** What happened before is seen by then. */
const soon = (socket: Socket, sent: string) =>
  socket.write(sent, () => setTimeout(() => clock.tick(1_000), 20));

/** A body of so many pieces, and what became of it. `betweenMs` pass for undici alone. */
const upload = (pieces: number, { pieceBytes = 64 * 1024, betweenMs = 0, breaksAt = -1 } = {}) => {
  const state = { handedOver: 0, closed: false, complete: false };
  const body = async function* () {
    try {
      for (let piece = 0; piece < pieces; piece += 1) {
        if (piece === breaksAt) throw new Error('the file broke');
        if (betweenMs > 0) clock.tick(betweenMs);
        if (betweenMs > 0) await turn();
        state.complete = piece === pieces - 1;
        state.handedOver += pieceBytes;
        yield Buffer.alloc(pieceBytes, 'x');
      }
    } finally {
      state.closed = true;
    }
  };
  const payload = async (): Promise<Payload> => ({
    contentType: 'application/octet-stream',
    contentLength: pieces * pieceBytes,
    body: body(),
    complete: () => state.complete,
  });
  return { payload, state };
};

const isClosed = async (state: { closed: boolean }) => {
  while (!state.closed) await delay(5);
};

const head = (status: string, ...lines: string[]) => `HTTP/1.1 ${[status, ...lines].join('\r\n')}\r\n\r\n`;

describe('connections', () => {
  test('are not shared by calls that must not be sent twice', async () => {
    const { url, connections } = await answering();
    const { platform } = clientAt(url);
    await platform.call(operations.repeatable, { path });
    for (let call = 0; call < 3; call += 1) await platform.call(operations.once, { path });
    expect(connections()).toBe(4);
  });

  test('are never of a protocol that shares one among calls', async () => {
    const hello = Promise.withResolvers<Buffer>();
    const { port } = await raw((socket, first) => {
      hello.resolve(first);
      socket.destroy();
    });
    const { platform } = clientAt(`https://127.0.0.1:${port}`);
    await errorOf(platform.call(operations.repeatable, { path }));
    const offered = (await hello.promise).toString('latin1');
    expect(offered).toContain('\x08http/1.1');
    expect(offered).not.toContain('\x02h2');
  });

  test('are let go of when the client is closed, and a call under way then ends', async () => {
    const { url } = await handling((_, response) => void response.flushHeaders());
    const { client, platform } = clientAt(url);
    const call = errorOf(platform.call(operations.read, { path }));
    await delay(50);
    await client.close();
    expect((await call).refused).toBeUndefined();
  });
});

describe.each(kinds)('%s that never reached the platform is known as not sent', (_, operation) => {
  test('where nobody listens', async () => {
    const error = await errorOf(clientAt(await nobody()).platform.call(operation, { path }));
    expect(error).toMatchObject({
      sent: false,
      mayHaveActed: false,
      message: 'no connection (ECONNREFUSED)',
    });
  });

  test('where its name is not known', async () => {
    const error = await errorOf(clientAt('http://platform.invalid').platform.call(operation, { path }));
    expect(error).toMatchObject({ sent: false, message: expect.stringMatching(/^no connection.* \(E/) });
  });

  test.skipIf(cannotFreeze)('where nobody accepts the connection', async () => {
    const url = await unaccepting();
    const { platform } = clientAt(url, { connectTimeoutMs: 200 });
    const call = errorOf(platform.call(operation, { path }));
    let isOver = false;
    call.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      clock.tick(1_000);
      await turn();
    }
    expect(await call).toMatchObject({ sent: false, message: 'no connection (UND_ERR_CONNECT_TIMEOUT)' });
  });
});

test('a call that must not be sent twice is known as not sent where the other side speaks no TLS', async () => {
  const { port } = await raw((socket) => socket.end(head('400 Bad Request')));
  const { platform } = clientAt(`https://127.0.0.1:${port}`);
  expect((await errorOf(platform.call(operations.once, { path }))).sent).toBe(false);
});

describe.each(kinds)('%s without a usable answer is known as sent', (_, operation) => {
  test.each<[string, RegExp, (socket: Socket) => void]>([
    ['a reset', /^cut off .*\(ECONNRESET\)$/, (socket) => socket.resetAndDestroy()],
    ['an end', /^cut off .*\(UND_ERR_SOCKET\)$/, (socket) => socket.end()],
    ['half a head', /^cut off .*\(UND_ERR_SOCKET\)$/, (socket) => socket.end('HTTP/1.1 200 OK\r\ncont')],
    ['no HTTP', /^cut off .*\(H(PE_|TTPParserError)/, (socket) => socket.end('220 mail.example ESMTP\r\n')],
    ['silence', /^no answer in time \(UND_ERR_HEADERS_TIMEOUT\)$/, () => clock.tick(1_000)],
    [
      'an interim answer and silence',
      /^no answer in time \(UND_ERR_HEADERS_TIMEOUT\)$/,
      (socket) => soon(socket, head('102 Processing')),
    ],
    ['a head without end', /^cut off .*\(UND_ERR_HEADERS_OVERFLOW\)$/, endlessHead],
  ])('after %s', async (_, message, say) => {
    const { url } = await raw(say);
    const { platform, reports } = clientAt(url, { headersTimeoutMs: 300 });
    const error = await errorOf(platform.call(operation, { path }));
    expect(error).toMatchObject({ sent: true, refused: undefined, mayHaveActed: true });
    expect(error.message).toMatch(message);
    expect(reports).toMatchObject([{ status: undefined, mayHaveActed: true }]);
  });

  test('after the time for the attempt is over', async () => {
    const { url } = await handling(() => {});
    const { platformOf } = clientAt(url);
    const error = await errorOf(platformOf(undefined, AbortSignal.timeout(50)).call(operation, { path }));
    expect(error).toMatchObject({ sent: true, message: 'no answer in time (TimeoutError)' });
  });
});

test.each([
  ['a repeatable call', operations.read],
  ['a call that must not be sent twice', operations.readOnce],
  ['a call whose success is an acknowledgement', operations.repeatable],
])('%s whose answer has no end is given up', async (_, operation) => {
  let written = 0;
  const { url } = await handling((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const piece = Buffer.alloc(64 * 1024, '[');
    const pour = (): void => {
      for (; !response.destroyed; written += piece.length)
        if (!response.write(piece)) return void response.once('drain', pour);
    };
    pour();
  });
  const { platform } = clientAt(url, { maxAnswerBytes: 1024 ** 2 });
  const error = await errorOf(platform.call(operation, { path }));
  expect(error).toMatchObject({
    sent: true,
    unexpected: true,
    message: 'the answer is too long',
  });
  // What the two sockets' buffers hold beside it.
  expect(written).toBeLessThan(33 * 1024 ** 2);
});

test('an answer of just as many bytes as are ever read is read', async () => {
  const body = JSON.stringify({ Id: 1, More: 'x'.repeat(1024 ** 2 - 18) });
  const { url } = await answering(() => ({ body }));
  const { platform } = clientAt(url, { maxAnswerBytes: body.length });
  expect(await platform.call(operations.read, { path })).toMatchObject({ Id: 1 });
  const { platform: narrower } = clientAt(url, { maxAnswerBytes: body.length - 1 });
  expect(await errorOf(narrower.call(operations.read, { path }))).toMatchObject({ unexpected: true });
});

test.skipIf(cannotFreeze).each(kinds)(
  '%s whose time is over while it still connects is not sent',
  async (_, operation) => {
    const url = await unaccepting();
    const { platformOf } = clientAt(url, { connectTimeoutMs: 600_000 });
    const error = await errorOf(platformOf(undefined, AbortSignal.timeout(50)).call(operation, { path }));
    expect(error).toMatchObject({ message: 'no answer in time (TimeoutError)' });
    if (!operation.repeatable) expect(error.sent).toBe(false);
  },
);

test.each(kinds)('%s whose time was over before it began is not sent', async (_, operation) => {
  const { url, requests } = await answering();
  const platform = clientAt(url).platformOf(undefined, AbortSignal.abort());
  const error = await errorOf(platform.call(operation, { path }));
  expect(error).toMatchObject({ sent: false, message: 'no answer in time (AbortError)' });
  expect(requests).toEqual([]);
});

describe('a body that was not handed over to its end', () => {
  test.each(kinds)('cannot have been acted on: %s', async (_, operation) => {
    const { url } = await raw((socket) => socket.resetAndDestroy());
    const { payload, state } = upload(400);
    const { platform, reports } = clientAt(url);
    const error = await errorOf(platform.call(operation, { path, payload }));
    expect(error).toMatchObject({ sent: false, mayHaveActed: false });
    expect(reports).toMatchObject([{ mayHaveActed: false }]);
    expect(state.complete).toBe(false);
    await isClosed(state);
  });

  test('fails with what its file failed with', async () => {
    const arrived = Promise.withResolvers<boolean>();
    const { url } = await handling((request) =>
      request.resume().on('close', () => arrived.resolve(request.complete)),
    );
    const { payload, state } = upload(5, { breaksAt: 3 });
    const { platform, reports } = clientAt(url);
    await expect(platform.call(operations.once, { path, payload })).rejects.toThrow('the file broke');
    expect(reports).toMatchObject([{ status: undefined, mayHaveActed: false }]);
    expect(await arrived.promise).toBe(false);
    expect(state.closed).toBe(true);
  });

  test('is let go of when its time is over', async () => {
    const { url } = await raw((socket) => void socket.pause());
    const { payload, state } = upload(400);
    const platform = clientAt(url).platformOf(undefined, AbortSignal.timeout(100));
    const error = await errorOf(platform.call(operations.once, { path, payload }));
    expect(error).toMatchObject({ sent: false, message: 'no answer in time (TimeoutError)' });
    await isClosed(state);
  });
});

test('a body handed over to its end may have been acted on', async () => {
  const { url } = await handling(
    (request, response) => void request.resume().on('end', () => response.destroy()),
  );
  const { payload } = upload(3);
  const error = await errorOf(clientAt(url).platform.call(operations.once, { path, payload }));
  expect(error).toMatchObject({ sent: true, mayHaveActed: true });
});

describe('an upload', () => {
  test('arrives whole, with its length and not in chunks', async () => {
    const { url, requests } = await answering();
    const { payload, state } = upload(100);
    await clientAt(url).platform.call(operations.once, { path, payload });
    expect(requests[0]?.body).toHaveLength(100 * 64 * 1024);
    expect(requests[0]?.headers).toMatchObject({
      'content-length': String(100 * 64 * 1024),
      'content-type': 'application/octet-stream',
    });
    expect(requests[0]?.headers).not.toHaveProperty('transfer-encoding');
    expect(state.closed).toBe(true);
  });

  // In these the limit passes more than once.
  test('that the platform reads slowly is not cut by the time limit for its answer', async () => {
    const { url } = await handling(async (request, response) => {
      let readBytes = 0;
      for await (const piece of request) {
        readBytes += piece.length;
        // What is sent and not yet read is read at once: the time limit for the answer has begun.
        if (readBytes < 200 * 64 * 1024) clock.tick(25);
        await turn();
      }
      response.end('{"Id":1}');
    });
    const { payload } = upload(400);
    const { platform } = clientAt(url, { headersTimeoutMs: 4_000 });
    expect(await platform.call(operations.readOnce, { path, payload })).toEqual({ Id: 1 });
  });

  test('whose file comes slowly is not cut by the time limit for its answer', async () => {
    const { url } = await answering(() => ({ body: '{"Id":1}' }));
    const { payload } = upload(4, { betweenMs: 1_200, pieceBytes: 10 });
    const { platform } = clientAt(url, { headersTimeoutMs: 3_000 });
    expect(await platform.call(operations.readOnce, { path, payload })).toEqual({ Id: 1 });
  });

  test('is limited in the time for its answer from its end on', async () => {
    const { url } = await handling(
      (request) =>
        void request.resume().on('end', () => {
          for (const ms of [1_000, 3_000]) clock.tick(ms);
        }),
    );
    const { payload } = upload(3, { betweenMs: 1_200, pieceBytes: 10 });
    const { platform } = clientAt(url, { headersTimeoutMs: 3_000 });
    const error = await errorOf(platform.call(operations.once, { path, payload }));
    expect(error).toMatchObject({ sent: true, message: 'no answer in time (UND_ERR_HEADERS_TIMEOUT)' });
  });

  test.each(kinds)('that is refused before it is read is refused, not cut off: %s', async (_, operation) => {
    const { url } = await handling((_, response) => {
      response.writeHead(403, { 'content-type': 'text/plain' }).end('Invalid token');
    });
    const { payload, state } = upload(400);
    const { platform, reports } = clientAt(url);
    const error = await errorOf(platform.call(operation, { path, payload }));
    // Taken as a refused key, so sent once more with the same end.
    expect(error.refused).toMatchObject({ status: 403, title: 'Invalid token' });
    expect(reports.map(({ status }) => status)).toEqual([403, 403]);
    expect(state.complete).toBe(false);
    await isClosed(state);
  });

  test.each(kinds)(
    'that is refused while it is sent, and then not read any more, is refused: %s',
    async (_, operation) => {
      const { url } = await raw((socket) => {
        socket.pause();
        socket.end(head('413 Too Large', 'content-length: 3', 'connection: close').concat('big'));
      });
      const { payload, state } = upload(400);
      const error = await errorOf(clientAt(url).platform.call(operation, { path, payload }));
      expect(error.refused).toMatchObject({ status: 413, title: 'big' });
      await isClosed(state);
    },
  );

  test('whose refusal is lost in a reset cannot have been acted on', async () => {
    const { url } = await raw((socket) => {
      socket.write(head('413 Too Large', 'content-length: 3', 'connection: close').concat('big'));
      socket.destroy();
    });
    for (let round = 0; round < 10; round += 1) {
      const { payload, state } = upload(400);
      const error = await errorOf(clientAt(url).platform.call(operations.once, { path, payload }));
      // Whether the answer outlives the reset is the network's affair.
      expect(error.refused?.status ?? error.sent).toBeOneOf([413, false]);
      expect(error.mayHaveActed).toBe(false);
      await isClosed(state);
    }
  });
});

describe.each(kinds)('%s that was answered with a success has succeeded', (_, operation) => {
  test.each<[string, (socket: Socket) => void]>([
    ['and the connection closed', (socket) => socket.end(head('200 OK', 'content-length: 0'))],
    ['without a length, up to the end', (socket) => socket.end(`${head('200 OK')}{"Id":1}`)],
    ['without a body', (socket) => void socket.write(head('204 No Content'))],
    [
      'and an empty body that is labelled as a page',
      (socket) => void socket.write(head('200 OK', 'content-length: 0', 'content-type: text/html')),
    ],
    [
      'after an interim answer',
      (socket) => void socket.write(`${head('102 Processing')}${head('200 OK', 'content-length: 0')}`),
    ],
  ])('%s', async (_, say) => {
    const { url } = await raw(say);
    const { platform, reports } = clientAt(url, { bodyTimeoutMs: 200 });
    expect(await platform.call(operation, { path })).toBeUndefined();
    expect(reports).toMatchObject([{ status: expect.toBeOneOf([200, 201, 204]) }]);
  });
});

describe.each(kinds)('%s that was answered with half of a success may have failed', (_, operation) => {
  test.each<[string, (socket: Socket) => void]>([
    ['the body is cut', (socket) => socket.end(`${head('200 OK', 'content-length: 64')}{"I`)],
    [
      'the body is reset',
      (socket) => socket.write(`${head('200 OK', 'content-length: 64')}{"I`, () => socket.resetAndDestroy()),
    ],
    ['the body never comes', (socket) => void soon(socket, head('201 Created', 'content-length: 64'))],
    ['the body ends within its JSON', (socket) => socket.end(`${head('200 OK')}{"Errors":[{`)],
  ])('%s', async (_, say) => {
    const { url } = await raw(say);
    const { platform, reports } = clientAt(url, { bodyTimeoutMs: 200 });
    const error = await errorOf(platform.call(operation, { path }));
    expect(error).toMatchObject({ sent: true, refused: undefined, unexpected: false, mayHaveActed: true });
    expect(reports).toMatchObject([{ status: expect.toBeOneOf([200, 201]), mayHaveActed: true }]);
  });
});

describe.skipIf(cannotFreeze)('a stale connection', () => {
  let child: ChildProcess;
  beforeAll(async () => {
    child = fork(`${import.meta.dirname}/../frozen-client.ts`, { execArgv: [] });
    await once(child, 'message');
  });
  afterAll(() => void child.kill('SIGKILL'));

  /** One address is known to nobody but its test, and so is the connection to it. */
  const callTo =
    (url: string) =>
    async (wish: { repeatable: boolean; sleptMs: number }): Promise<unknown> => {
      const answer = once(child, 'message');
      child.send({ url, ...wish });
      return (await answer)[0];
    };

  test.each([
    ['closed', (socket: Socket) => void socket.destroy()],
    ['half closed', (socket: Socket) => void socket.end()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ])('that the platform has %s while the function was frozen costs no call', async (_, leave) => {
    const { url, sockets, connections } = await answering();
    const call = callTo(url);
    for (const repeatable of [true, false, true, false]) {
      expect(await call({ repeatable: true, sleptMs: 0 })).toBe('done');
      child.kill('SIGSTOP');
      for (const socket of sockets) leave(socket);
      await delay(20);
      // Both are there when it wakes: what became of the connection, and the next message.
      const next = call({ repeatable, sleptMs: 0 });
      await delay(20);
      child.kill('SIGCONT');
      expect(await next).toBe('done');
    }
    expect(connections()).toBeGreaterThanOrEqual(6);
  });

  test.each([true, false])(
    'that was forgotten in a long freeze, without a word, costs no call: repeatable %s',
    async (repeatable) => {
      const { url, sockets } = await answering();
      const call = callTo(url);
      expect(await call({ repeatable: true, sleptMs: 0 })).toBe('done');
      child.kill('SIGSTOP');
      for (const socket of sockets) forget(socket);
      const next = call({ repeatable, sleptMs: 60_000 });
      await delay(20);
      child.kill('SIGCONT');
      expect(await next).toBe('done');
    },
  );
});

test('a signal that many calls share makes no warning', async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => void warnings.push(warning);
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  const { url, requests } = await answering(() => ({ body: '{"Id":1}' }));
  const platform = clientAt(url).platformOf(undefined, AbortSignal.timeout(waitLimitMs));
  const calls = Array.from({ length: 60 }, (_, index) =>
    platform.call(index % 2 ? operations.read : operations.readOnce, { path }),
  );
  await Promise.all(calls);
  await delay(10);
  expect(requests).toHaveLength(60);
  expect(warnings).toEqual([]);
});

/** The other side knows nothing of the connection any more, as behind a balancer that drops idle ones: it resets whoever uses it. */
const forget = (socket: Socket): void => {
  socket.removeAllListeners('data');
  socket.once('data', () => socket.resetAndDestroy());
  socket.resume();
};

function endlessHead(socket: Socket): void {
  socket.write('HTTP/1.1 200 OK\r\n');
  for (let line = 0; line < 500; line += 1) socket.write(`x-${line}: ${'y'.repeat(200)}\r\n`);
}

/** An address whose queue of connections is full, so that a further one is neither taken nor refused. */
const unaccepting = async (): Promise<string> => {
  const listening = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    process.stdout.write(String(this.address().port));
  })`;
  const child = spawn(process.execPath, ['-e', listening], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [chunk] = await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  for (let filler = 0; filler < 4; filler += 1) {
    const socket = connect(Number(chunk), '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
  }
  await delay(50);
  return `http://127.0.0.1:${chunk}`;
};
