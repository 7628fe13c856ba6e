import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { StoredFile } from '../state.ts';
import type { Content } from './answer.ts';
import { parseJson } from './body.ts';
import { malformed, type Part } from './multipart.ts';
import { bindingError } from './refusal.ts';

export type KeptFile = { stored: StoredFile; content: Content };

const dispositionForm = /^form-data; name="([^"]*)"; filename="([^"]+)"$/;
const mediaTypeForm = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=("[^"]*"|[\w!#$&^.+-]+))*$/;
const jsonPartLimit = 1_048_576;

/** The JSON of a mixed body's first part, whose only header is its content type. */
export async function jsonPart({ headers, body }: Part): Promise<unknown> {
  if (headers.size !== 1 || headers.get('content-type')?.toLowerCase() !== 'application/json') {
    throw malformed('the first part must have the header Content-Type: application/json and no other');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > jsonPartLimit) throw bindingError('it is too large');
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks));
}

/** A file part, hashed as it streams by; its bytes are dropped. */
export async function filePart(part: Part, field: string): Promise<StoredFile> {
  const described = describeFile(part.headers, field);
  const { digest, passThrough } = hashing(part.body);
  for await (const _ of passThrough);
  return { ...described, ...digest() };
}

/** A file part whose bytes go to a file in the spool directory, to be read back. */
export async function keptFilePart(
  part: Part,
  { field, spool }: { field: string; spool: string },
): Promise<KeptFile> {
  const described = describeFile(part.headers, field);
  const { digest, passThrough } = hashing(part.body);
  const file = join(spool, randomUUID());
  await pipeline(passThrough, createWriteStream(file));
  const stored = { ...described, ...digest() };
  return { stored, content: { file, bytes: stored.bytes } };
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function describeFile(headers: Part['headers'], field: string) {
  const [, name, filename] = dispositionForm.exec(headers.get('content-disposition') ?? '') ?? [];
  const contentType = headers.get('content-type');
  if (headers.size !== 2 || name !== field || filename === undefined || contentType === undefined) {
    throw malformed(
      `a file part must have Content-Disposition: form-data; name="${field}"; filename="…", Content-Type, and no more`,
    );
  }
  if (!mediaTypeForm.test(contentType))
    throw malformed('a file part has a Content-Type that is no media type');
  return { name: unescapeName(filename), contentType };
}

/** The three escapes of a browser's form encoding; every other percent sign stands for itself. */
function unescapeName(name: string): string {
  return name.replace(/%22/g, '"').replace(/%0D/gi, '\r').replace(/%0A/gi, '\n');
}

function hashing(body: AsyncIterable<Buffer>) {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* passThrough() {
    for await (const chunk of body) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  return { passThrough: passThrough(), digest: () => ({ bytes, sha256: hash.digest('hex') }) };
}
