import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Download, Use } from '../../../../lib/platform/client/download.ts';
import { acknowledged, downloading } from '../../../../lib/platform/client/operation.ts';
import { answering, clientAt, errorOf, handling, operations } from '../servers.ts';

const declared = { call: 'GET /lp/files/{id}', scope: undefined } as const;
const getFile = downloading({ ...declared, name: 'read-file' });
const getImage = downloading({ ...declared, name: 'read-image', file: /^image\//i });
const path = { id: 1 };
const megabyte = 1024 * 1024;

const drain: Use<number> = async ({ stream }) => {
  let bytes = 0;
  for await (const piece of stream()) bytes += piece.byteLength;
  return bytes;
};

/** A file of so many megabytes that is sent as fast as it is read, and what became of its connection. */
const fileServer = async (megabytes: number) => {
  const state = { sent: 0, closed: 0 };
  const server = await handling((_, response) => {
    const source = Readable.from(
      (async function* () {
        for (; state.sent < megabytes * megabyte; state.sent += 65_536) yield Buffer.alloc(65_536, 'x');
      })(),
    );
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': megabytes * megabyte });
    source.pipe(response);
    response.on('close', () => {
      state.closed += 1;
    });
  });
  return { ...server, state };
};

const until = async (holds: () => boolean) => {
  while (!holds()) await delay(5);
};

describe('a file', () => {
  test('comes with its size and type, and what is made of it is the result', async () => {
    const { url } = await answering(() => ({
      headers: { 'content-type': 'text/csv; charset=utf-8', 'content-length': '3' },
      body: 'a,b',
    }));
    const { platform, reports } = clientAt(url);
    const use = async (file: Download) => `${file.bytes} ${file.contentType} ${await drain(file)}`;
    expect(await platform.download(getFile, { path }, use)).toBe('3 text/csv; charset=utf-8 3');
    expect(reports).toMatchObject([
      { operation: 'read-file', call: 'GET /svc/api/lp/1.49/files/1', status: 200 },
    ]);
  });

  test('has no size where the platform tells none, and is of unknown type where that is not told', async () => {
    const { url } = await handling((_, response) => {
      response.write('a');
      setTimeout(() => response.end('b'), 5);
    });
    const use = async (file: Download) => [file.bytes, file.contentType, await drain(file)];
    expect(await clientAt(url).platform.download(getFile, { path }, use)).toEqual([
      undefined,
      'application/octet-stream',
      2,
    ]);
  });

  test('is not held in memory, however large it is', async () => {
    const { url, state } = await fileServer(100);
    const { platform } = clientAt(url);
    let most = 0;
    const slowly: Use<number> = async ({ stream }) => {
      let bytes = 0;
      for await (const piece of stream()) {
        bytes += piece.byteLength;
        // A reader that lags makes the platform wait, too.
        if (bytes % (32 * megabyte) < 65_536) await delay(1);
        most = Math.max(most, state.sent - bytes);
      }
      return bytes;
    };
    expect(await platform.download(getFile, { path }, slowly)).toBe(100 * megabyte);
    expect(most).toBeLessThan(32 * megabyte);
  });

  test('that a slow reader pauses is not cut by the time limit for its pieces', async () => {
    const { url } = await fileServer(8);
    const pausing: Use<number> = async (file) => {
      await delay(2_500);
      return drain(file);
    };
    expect(await clientAt(url, { bodyTimeoutMs: 500 }).platform.download(getFile, { path }, pausing)).toBe(
      8 * megabyte,
    );
  });
});

describe('the connection', () => {
  test.each<[string, Use<unknown>]>([
    ['not read at all', async () => 'nothing'],
    [
      'read in part',
      async ({ stream }) => {
        for await (const _ of stream()) break;
      },
    ],
    ['left by an error', async () => Promise.reject(new Error('mine'))],
  ])('of a file that is %s is let go of', async (_, use) => {
    const { url, state, sockets } = await fileServer(64);
    const { platform } = clientAt(url);
    await platform.download(getFile, { path }, use).catch(() => {});
    await until(() => state.closed === 1 && sockets.size === 0);
    expect(state.sent).toBeLessThan(64 * megabyte);
  });

  test('of a file that is read to its end serves the next call', async () => {
    const { url, connections } = await answering(() => ({ body: '{"Id":1}' }));
    const { platform } = clientAt(url);
    for (let call = 0; call < 5; call += 1) {
      await platform.download(getFile, { path }, drain);
      await platform.call(operations.read, { path });
    }
    expect(connections()).toBeLessThanOrEqual(2);
  });
});

describe('what goes wrong', () => {
  test('in the use of a file is thrown as it is, though it be an error of another call', async () => {
    const { url, requests } = await answering((_, index) =>
      index % 2 === 0 ? { body: 'x' } : { status: 400 },
    );
    const { platform } = clientAt(url);
    const mine = new Error('the disk is full');
    await expect(platform.download(getFile, { path }, () => Promise.reject(mine))).rejects.toBe(mine);
    requests.splice(0);
    const other: Use<unknown> = () => platform.call(operations.repeatable, { path });
    const error = await errorOf(clientAt(url).platform.download(getFile, { path }, other));
    expect(error.operation.name).toBe('set-thing');
    expect(requests.filter(({ method }) => method === 'GET')).toHaveLength(1);
  });

  test('with the connection while a file is read is no answer, whatever its reader makes of it', async () => {
    const { url } = await handling((_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('x'.repeat(50), () => response.socket?.destroy());
    });
    const { platform, reports } = clientAt(url);
    const swallowing: Use<unknown> = (file) => drain(file).catch(() => 'all is well');
    for (const use of [drain, swallowing]) {
      const error = await errorOf(platform.download(getFile, { path }, use));
      expect(error.message).toMatch(/^cut off before the answer was complete/);
      expect(error.refused).toBeUndefined();
    }
    expect(reports).toMatchObject([{ status: 200 }, { status: 200 }]);
  });

  test('at the end of the attempt ends the file, too', async () => {
    const server = await handling(
      (_, response) => void response.writeHead(200, { 'content-length': 100 }).write('x'),
    );
    const { platformOf } = clientAt(server.url);
    const attempt = new AbortController();
    const download = platformOf(undefined, attempt.signal).download(getFile, { path }, (file) => {
      attempt.abort(new DOMException('over', 'TimeoutError'));
      return drain(file);
    });
    expect((await errorOf(download)).message).toMatch(/no answer in time|cut off/);
    await Promise.all([...server.sockets].map((socket) => once(socket, 'close')));
  });

  test.each<[string, string, object]>([
    ['application/problem+json', '{"title":"Forbidden","status":403}', { status: 403, sentAs: 200 }],
    ['application/json', '{"Errors":[{"Message":"No such topic"}]}', { detail: 'No such topic' }],
    ['text/plain', 'Invalid token', { title: 'Invalid token' }],
  ])('is told where an error stands in for a file of any type: %s', async (type, body, refused) => {
    const { url } = await answering(() => ({
      headers: { 'content-type': type, 'content-length': String(body.length) },
      body,
    }));
    const { platform } = clientAt(url);
    const error = await errorOf(platform.download(getFile, { path }, drain));
    expect(error.refused).toMatchObject(refused);
  });

  test.each([
    ['application/json', '{"status":"active"}'],
    ['text/plain', 'Invalid tokens are what this text is about'.repeat(3)],
  ])('is not told of a small file that is written as an error might be: %s', async (type, body) => {
    const { url } = await answering(() => ({
      headers: { 'content-type': type, 'content-length': String(body.length) },
      body,
    }));
    const { platform } = clientAt(url);
    expect(await platform.download(getFile, { path }, drain)).toBeDefined();
  });

  test.each<[string, string, object]>([
    ['text/html', '<html>Sign in</html>', { unexpected: false, refused: { form: 'page' } }],
    ['application/json', '{"Unexpected":[true]}', { unexpected: true }],
    ['application/json', '', { unexpected: true }],
  ])('is told of an answer that is no image: %s %s', async (type, body, told) => {
    const { url } = await answering(() => ({ headers: { 'content-type': type }, body }));
    const error = await errorOf(clientAt(url).platform.download(getImage, { path }, drain));
    expect(error).toMatchObject(told);
  });

  test('is not told of a page or of nothing, if a file may be of any type', async () => {
    for (const body of ['<html>Sign in</html>', '']) {
      const { url } = await answering(() => ({ headers: { 'content-type': 'text/html' }, body }));
      expect(await clientAt(url).platform.download(getFile, { path }, drain)).toBe(body.length);
    }
  });

  test.each([204, 206])('is told of an answer that is not the whole file: %i', async (status) => {
    const { url } = await answering(() => ({ status, headers: { 'content-type': 'image/png' } }));
    const error = await errorOf(clientAt(url).platform.download(getImage, { path }, drain));
    expect(error).toMatchObject({ unexpected: true, message: `the answer is ${status} with image/png` });
  });

  test('in a mix-up of files and other answers is a defect that sends nothing', async () => {
    const { url, requests } = await answering();
    const { platform } = clientAt(url);
    await expect(platform.call(getFile, { path })).rejects.toThrow(TypeError);
    const other = acknowledged({ ...declared, name: 'x' }) as unknown as typeof getFile;
    await expect(platform.download(other, { path }, drain)).rejects.toThrow('a file is downloaded');
    expect(requests).toEqual([]);
  });
});
