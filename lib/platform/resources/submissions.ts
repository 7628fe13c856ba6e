import * as z from 'zod';
import { ownText, type SafeText, safe } from '../../message/safe-text.ts';
import type { Platform } from '../client/client.ts';
import { listOf } from '../client/list-of.ts';
import { filePart, jsonPart, multipart, type UploadedFile } from '../client/multipart.ts';
import { acknowledged, reading } from '../client/operation.ts';
import { PlatformError, wantedIn } from '../client/platform-error.ts';

type Folder = { orgUnitId: number; folderId: number };

export const postMySubmission = acknowledged({
  name: 'upload-my-submission',
  call: 'POST /le/{orgUnitId}/dropbox/folders/{folderId}/submissions/mysubmissions/',
  scope: 'dropbox:folders:write',
  // Each call adds a submission.
  repeatable: false,
});

const submission = z.looseObject({
  // Without a date, a submission may be an older one.
  SubmissionDate: z.iso.datetime({ offset: true }).nullable(),
  Files: listOf(z.looseObject({ FileName: z.string(), Size: z.number() })).nullable(),
});

export const getMySubmissions = reading({
  name: 'read-my-submissions',
  call: 'GET /le/{orgUnitId}/dropbox/folders/{folderId}/submissions/mysubmissions/',
  scope: 'dropbox:folders:read',
  // Some versions group them by submitter.
  answer: listOf(z.union([z.looseObject({ Submissions: listOf(submission) }), submission])),
});

/**
 * Submits files as the user whose credential signs: the platform allows no submission for another user. The comment goes as
 * `{Text,Html}`, unlike those of grades. `openFiles` is called each time that the body is sent. A success of the upload does not
 * mean that it was stored, so the submission is searched for: by the sizes of its files, and not by time, as the platform's
 * clocks may differ.
 * @throws PlatformError, `acceptedUnverified` if no such submission is found, or submissions cannot be read.
 */
export const uploadMySubmission = async (
  platform: Platform,
  folder: Folder,
  { comment, openFiles }: { comment: string; openFiles(): Promise<UploadedFile[]> },
): Promise<void> => {
  let uploaded: UploadedFile[] = [];
  // By another clock, the platform may date it before our call.
  const sinceMs = Date.now() - 86_400_000;
  await platform.call(postMySubmission, {
    path: folder,
    payload: async () => {
      uploaded = await openFiles();
      const parts = uploaded.map((file) => filePart({ name: '', ...file }));
      return multipart('mixed', [jsonPart({ Text: comment, Html: null }), ...parts]);
    },
  });
  const files = uploaded.map(({ fileName: name, file: { bytes } }) => ({ name, bytes }));
  // An error of the search must not cause a second upload.
  const found = await findMySubmission(platform, folder, { files, sinceMs }).catch(whyUnread);
  if (found === 'found' || found === 'unclear') return;
  const { method, path } = postMySubmission;
  throw new PlatformError({
    operation: postMySubmission,
    call: safe`${method} ${ownText(path)}`,
    sent: true,
    acceptedUnverified: true,
    message: safe`answered with a success, but ${found === 'absent' ? 'does not show the files' : found}`,
  });
};

const whyUnread = (error: unknown): SafeText => {
  const text = safe`the submissions there could not be read`;
  if (!(error instanceof PlatformError)) return text;
  const required = error.refused && wantedIn(error.refused);
  return safe`${text}: ${error.call} ${error.message}${required ? safe`; reading requires ${required}` : ''}`;
};

/** The platform accepts clocks that differ by 300 s: this is the uncertainty if its clock is not known. */
const acceptedSkewMs = 330_000;
/** The Date header has whole seconds. */
const headerToleranceMs = 2_000;

/** Whether the caller has submitted these files since a time on our clock, by names and sizes; `unclear` if it may be another. */
export const findMySubmission = async (
  platform: Platform,
  folder: Folder,
  { files, sinceMs }: { files: { name: string; bytes: number }[]; sinceMs: number },
): Promise<'found' | 'absent' | 'unclear'> => {
  const answer = await platform.call(getMySubmissions, { path: folder });
  const submissions = answer.flatMap((each) =>
    'Submissions' in each ? (each.Submissions as Submission[]) : each,
  );
  const offsetMs = platform.clockOffsetMs();
  const since = sinceMs + (offsetMs ?? 0) - headerToleranceMs;
  const earliest = offsetMs === undefined ? since - acceptedSkewMs : since;
  const sizes = listed(files.map(({ bytes }) => bytes));
  const names = listed(files.map(({ name }) => name.normalize()));
  const candidates = (submissions as Submission[])
    .map(({ SubmissionDate, Files }) => ({
      atMs: SubmissionDate === null ? undefined : Date.parse(SubmissionDate),
      files: Files ?? [],
    }))
    .filter(
      ({ atMs = earliest, files }) => atMs >= earliest && listed(files.map(({ Size }) => Size)) === sizes,
    );
  if (candidates.length === 0) return 'absent';
  // The platform may write the letters of a name in another form.
  const certain = candidates.some(
    ({ atMs = Number.NEGATIVE_INFINITY, files }) =>
      atMs >= since && listed(files.map(({ FileName }) => FileName.normalize())) === names,
  );
  return certain ? 'found' : 'unclear';
};

type Submission = z.infer<typeof submission>;

const listed = (values: (string | number)[]): string => JSON.stringify(values.map(String).sort());
