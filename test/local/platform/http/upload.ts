import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Call } from '../route.ts';
import type { Answer, Content } from './answer.ts';
import { parseJson } from './body.ts';
import { malformed, type Part, partsOf } from './multipart.ts';
import { bindingError } from './refusal.ts';

/** Whoever lists rows does not see it, and whoever copies one takes it along. */
const content = Symbol('content');
export type StoredFile = {
  name: string;
  contentType: string;
  bytes: number;
  sha256: string;
  [content]?: Content;
};

export const seededFile = (given: { name: string; contentType: string; base64: string }): StoredFile => {
  const { base64, ...file } = given;
  const bytes = Buffer.from(base64, 'base64');
  return { ...file, bytes: bytes.length, sha256: sha256(bytes), [content]: bytes };
};

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

/** A file part, hashed as it streams by; its bytes go to a file in the spool folder, to be read back, or nowhere. */
export async function filePart({ headers, body }: Part, field: string, spool?: string): Promise<StoredFile> {
  const described = describeFile(headers, field);
  const hash = createHash('sha256');
  let bytes = 0;
  async function* hashed() {
    for await (const chunk of body) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  const file = spool === undefined ? undefined : join(spool, randomUUID());
  if (file === undefined) for await (const _ of hashed());
  else await pipeline(hashed(), createWriteStream(file));
  const stored = { ...described, bytes, sha256: hash.digest('hex') };
  return file === undefined ? stored : { ...stored, [content]: { file, bytes } };
}

/** The one part of a form that replaces a file; its bytes can be read back from now on. */
export async function receiveOnlyFile({ request, world }: Call, field: string): Promise<StoredFile> {
  let file: StoredFile | undefined;
  for await (const part of partsOf(request, 'form-data')) {
    if (file !== undefined) throw malformed(`${field} must be the only part`);
    file = await filePart(part, field, world.site.spool);
  }
  if (file === undefined) throw malformed(`the part ${field} is missing`);
  return file;
}

export function keptFileAnswer({ contentType, [content]: body }: StoredFile): Answer {
  if (body === undefined) throw new Error('a stored file has no content');
  return { status: 200, headers: { 'Content-Type': contentType }, body };
}

function sha256(bytes: Buffer): string {
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
