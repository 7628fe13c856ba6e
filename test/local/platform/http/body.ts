import type { IncomingMessage } from 'node:http';
import { bindingError } from './refusal.ts';

const jsonType = /^application\/json(;\s*charset=utf-8)?$/i;

export async function jsonBody(request: IncomingMessage): Promise<unknown> {
  if (!jsonType.test(request.headers['content-type'] ?? '')) {
    throw bindingError('the Content-Type must be application/json');
  }
  return parseJson(await wholeBody(request));
}

export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw bindingError('it is not JSON in UTF-8');
  }
}

export async function wholeBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(request)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Leaving the loop early keeps the connection, so that a refusal can still be answered on it. */
export function chunksOf(request: IncomingMessage): AsyncIterableIterator<Buffer> {
  return request.iterator({ destroyOnReturn: false });
}
