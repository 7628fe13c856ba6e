import * as z from 'zod';
import { mediaType, type UploadedFile } from '../../../platform/client/multipart.ts';
import { fileUriProblem } from '../../../runtime/files/uri.ts';
import type { IntegrationContext } from '../integration.ts';
import { maxUrlLength } from './text.ts';

/** The address of a file: `s3://bucket/key`, or `https://`. The function's settings list the allowed hosts. */
export const fileUri = z
  .string()
  .max(maxUrlLength, { error: 'must be at most 8,192 characters', abort: true })
  .check((context) => {
    const problem = fileUriProblem(context.value);
    if (problem) context.issues.push({ code: 'custom', message: problem, input: context.value });
  });

export const contentType = z
  .string()
  .max(255)
  .regex(mediaType, 'must be a content type such as application/pdf');

export const namedFile = z.strictObject({ uri: fileUri, name: z.string().min(1).max(255), contentType });

export const openNamedFile = async (
  { uri, name: fileName, contentType }: z.infer<typeof namedFile>,
  { openFile, limits }: IntegrationContext,
): Promise<UploadedFile> => ({ fileName, contentType, file: await openFile(uri, limits.fileBytes) });
