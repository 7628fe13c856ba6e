import type { Platform } from './client.ts';
import { type FilePart, filePart, multipart } from './multipart.ts';
import { operation } from './operation.ts';

const postMySubmission = operation({
  name: 'upload-my-submission',
  method: 'POST',
  component: 'le',
  path: '/{orgUnitId}/dropbox/folders/{folderId}/submissions/mysubmissions/',
  scope: 'dropbox:folders:write',
  // Each call is one more submission.
  repeatable: false,
});

export type SubmittedFile = Omit<FilePart, 'name'>;

/**
 * Hands in files as the user whose credential signs: nobody can submit for another. The comment is read as
 * `{Text,Html}` here, unlike those of grades. `openFiles` is asked for each time that the body is sent.
 */
export const uploadMySubmission = (
  platform: Platform,
  folder: { orgUnitId: number; folderId: number },
  { comment, openFiles }: { comment: string; openFiles(): Promise<SubmittedFile[]> },
) =>
  platform.call(postMySubmission, {
    path: folder,
    payload: async () =>
      multipart('mixed', [
        {
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ Text: comment, Html: null }),
        },
        ...(await openFiles()).map((file) => filePart({ name: '', ...file })),
      ]),
  });
