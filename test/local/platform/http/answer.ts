import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Bytes in memory, or in a file of the platform's spool: uploads are never held whole in memory. */
export type Content = Buffer | { file: string; bytes: number };
export type Answer = { status: number; headers: Record<string, string>; body: Content };

const nothing = Buffer.alloc(0);

export const ok: Answer = { status: 200, headers: {}, body: nothing };

export function bare(status: number, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: nothing };
}

export function text(status: number, contentType: string, body: string): Answer {
  return { status, headers: { 'Content-Type': contentType }, body: Buffer.from(body) };
}

export function json(value: unknown, status = 200): Answer {
  return text(status, 'application/json; charset=UTF-8', JSON.stringify(value));
}

export function withHeaders(answer: Answer, headers: Record<string, string>): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

export async function send(response: ServerResponse, { status, headers, body }: Answer) {
  response.writeHead(status, { ...headers, 'Content-Length': sizeOf(body) });
  if (Buffer.isBuffer(body)) response.end(body);
  else await pipeline(createReadStream(body.file), response);
}

/** The head with the whole length, half of the body, and the end of the connection. */
export async function sendHalf(response: ServerResponse, { status, headers, body }: Answer) {
  const half = Math.floor(sizeOf(body) / 2);
  // An empty body has no half to withhold, so its head promises bytes that never come.
  response.writeHead(status, { ...headers, 'Content-Length': sizeOf(body) || 64 });
  response.flushHeaders();
  const chunks = Buffer.isBuffer(body) ? [body.subarray(0, half)] : beginning(body.file, half);
  for await (const chunk of chunks) {
    await new Promise((resolve) => response.write(chunk, resolve));
  }
  response.socket?.end();
}

/** A success of JSON that goes on as long as anybody reads it. */
export async function sendWithoutEnd(response: ServerResponse) {
  response.writeHead(200, { 'Content-Type': 'application/json; charset=UTF-8' });
  // Whoever has read enough breaks it off.
  await pipeline(Readable.from(endless()), response).catch(() => undefined);
}

function* endless() {
  const piece = Buffer.alloc(64 * 1024, '[1,');
  for (;;) yield piece;
}

function beginning(file: string, bytes: number) {
  return bytes === 0 ? [] : createReadStream(file, { end: bytes - 1 });
}

function sizeOf(body: Content) {
  return Buffer.isBuffer(body) ? body.length : body.bytes;
}
