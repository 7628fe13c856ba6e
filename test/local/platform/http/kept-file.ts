import type { Call } from '../route.ts';
import type { State, StoredFile } from '../state.ts';
import { type Answer, withHeaders } from './answer.ts';
import { malformed, partsOf } from './multipart.ts';
import { type KeptFile, keptFilePart } from './upload.ts';

/** The one part of a form that replaces a file; its bytes can be read back from now on. */
export async function receiveOnlyFile({ request, state, world }: Call, field: string): Promise<StoredFile> {
  const files: KeptFile[] = [];
  for await (const part of partsOf(request, 'form-data')) {
    if (files.length > 0) throw malformed(`${field} must be the only part`);
    files.push(await keptFilePart(part, { field, spool: world.site.spool }));
  }
  const [file] = files;
  if (file === undefined) throw malformed(`the part ${field} is missing`);
  keep(state, file);
  return file.stored;
}

export function keep({ contents }: State, { stored, content }: KeptFile) {
  contents.set(stored.sha256, content);
}

export function keptFileAnswer({ contents }: State, { contentType, sha256 }: StoredFile): Answer {
  const body = contents.get(sha256);
  if (body === undefined) throw new Error('a stored file has no content');
  return withHeaders({ status: 200, headers: {}, body }, { 'Content-Type': contentType });
}
