import * as z from 'zod';
import type { OpenedFile } from './files.ts';
import { contentType, fileUri } from './message.ts';
import type { UploadedFile } from './platform/multipart.ts';

/** A file that a message names, and the name and type under which the platform shall keep it. */
export const namedFile = z.strictObject({ uri: fileUri, name: z.string().min(1).max(255), contentType });

export type NamedFile = z.infer<typeof namedFile>;

type Reach = {
  openFile(uri: string, maximumBytes: number): Promise<OpenedFile>;
  limits: { fileBytes: number };
};

/** Opens it as it is uploaded. */
export const openNamedFile = async (
  { uri, name: fileName, contentType }: NamedFile,
  { openFile, limits }: Reach,
): Promise<UploadedFile> => ({ fileName, contentType, file: await openFile(uri, limits.fileBytes) });
