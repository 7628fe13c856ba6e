import type { IncomingMessage } from 'node:http';
import { chunksOf } from './body.ts';
import { byteReader } from './byte-reader.ts';
import { badRequest, bareServerError } from './refusal.ts';

export type Part = { headers: Map<string, string>; body: AsyncIterable<Buffer> };

const headerBytesLimit = 16_384;
const contentTypeForm =
  /^multipart\/(mixed|form-data); ?boundary=(?:"([^"]+)"|([!#$%&'*+\-.^_`|~0-9A-Za-z]+))$/i;
const boundaryForm = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;
const headerForm = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n]*[^\s])$/;

/** The parts of a body, in order and strictly by RFC 2046: each part's body must be read before the next. */
export async function* partsOf(
  request: IncomingMessage,
  subtype: 'mixed' | 'form-data',
): AsyncGenerator<Part> {
  // Some deployments answer an upload without a length with a bare 500.
  if (request.headers['transfer-encoding'] !== undefined) throw bareServerError();
  const boundary = boundaryOf(request, subtype);
  const chunks = chunksOf(request);
  try {
    yield* partsWithin(byteReader(chunks), boundary);
  } finally {
    // Lets go of the request, so that what is left of a refused upload can be read away.
    await chunks.return?.();
  }
}

async function* partsWithin(reader: ReturnType<typeof byteReader>, boundary: string): AsyncGenerator<Part> {
  const opening = `--${boundary}\r\n`;
  if (!(await reader.take(opening.length)).equals(Buffer.from(opening))) {
    throw malformed('the body must begin with its boundary');
  }
  for (;;) {
    const headers = headersOf(await reader.upTo('\r\n\r\n', headerBytesLimit));
    const part = trackedBody(reader.through(`\r\n--${boundary}`));
    yield { headers, body: part.body };
    if (!part.isRead()) throw new Error('a part was left unread');
    const end = (await reader.take(2)).toString('latin1');
    if (end === '--') break;
    if (end !== '\r\n') throw malformed('a boundary must be followed by CRLF or --');
  }
  const rest = (await reader.take(3)).toString('latin1');
  if (rest !== '' && rest !== '\r\n') throw malformed('nothing may follow the closing boundary');
}

function boundaryOf(request: IncomingMessage, subtype: string): string {
  const match = contentTypeForm.exec(request.headers['content-type'] ?? '');
  if (match === null || match[1]?.toLowerCase() !== subtype) {
    throw malformed(`the Content-Type must be multipart/${subtype} with a boundary and nothing else`);
  }
  const boundary = match[2] ?? match[3] ?? '';
  if (!boundaryForm.test(boundary))
    throw malformed('the boundary must be 1 to 70 characters of those allowed');
  return boundary;
}

function headersOf(block: Buffer | null): Map<string, string> {
  if (block === null) throw malformed('a part must begin with headers, ended by an empty line');
  const headers = new Map<string, string>();
  for (const line of utf8(block).split('\r\n')) {
    const [, name, value] = headerForm.exec(line) ?? [];
    if (name === undefined || value === undefined) throw malformed('a part has a malformed header line');
    if (headers.has(name.toLowerCase())) throw malformed(`a part repeats its header ${name}`);
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed('a part has headers that are not UTF-8');
  }
}

function trackedBody(chunks: AsyncGenerator<Buffer, boolean>) {
  let read = false;
  async function* body() {
    if (!(yield* chunks)) throw malformed('the closing boundary is missing');
    read = true;
  }
  return { body: body(), isRead: () => read };
}

export function malformed(what: string) {
  return badRequest(`Malformed multipart body: ${what}`);
}
