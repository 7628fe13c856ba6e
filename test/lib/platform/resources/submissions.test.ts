import { describe, expect, test } from 'vitest';
import { findMySubmission, uploadMySubmission } from '../../../../lib/platform/resources/submissions.ts';
import { fileOf } from '../local-client.ts';
import { answering, clientAt, errorOf } from '../servers.ts';

const folder = { orgUnitId: 6606, folderId: 7 };
const sinceMs = Date.now();
const now = new Date(sinceMs + 1_000).toISOString();
const before = new Date(sinceMs - 60_000).toISOString();
const files = [
  { name: 'Prüfung.pdf', bytes: 5 },
  { name: 'b.txt', bytes: 0 },
];
const Files = [
  { FileName: 'b.txt', Size: 0 },
  { FileName: 'Prüfung.pdf', Size: 5 },
];
const renamed = [{ FileName: 'Prufung.pdf', Size: 5 }, Files[0]];
const decomposed = [{ FileName: 'Pru\u0308fung.pdf', Size: 5 }, Files[0]];

const lookedUpIn = async (list: unknown) => {
  const { url } = await answering(() => ({ body: JSON.stringify(list) }));
  const { platform } = clientAt(url);
  return findMySubmission(platform, folder, { files, sinceMs });
};

describe('a submission is looked for', () => {
  test.each<[string, string, unknown]>([
    ['found', 'where it is listed', [{ SubmissionDate: now, Files }]],
    ['found', 'where its letters are written otherwise', [{ SubmissionDate: now, Files: decomposed }]],
    ['found', 'where it is listed with its submitter', [{ Submissions: [{ SubmissionDate: now, Files }] }]],
    [
      'found',
      'beside one without files',
      [
        { SubmissionDate: now, Files: null },
        { SubmissionDate: now, Files },
      ],
    ],
    ['unclear', 'where it has other names', [{ SubmissionDate: now, Files: renamed }]],
    ['unclear', 'where it has no date', [{ SubmissionDate: null, Files }]],
    ['absent', 'where it was there before', [{ SubmissionDate: before, Files }]],
    ['absent', 'where files are missing', [{ SubmissionDate: now, Files: [Files[0]] }]],
    ['absent', 'where nothing is listed', []],
  ])('and is %s %s', async (expected, _, list) => {
    expect(await lookedUpIn(list)).toBe(expected);
  });

  test.each<[string, unknown]>([
    ['a list of another shape', { Objects: [], Next: null }],
    ['a submission without its date', [{ Files }]],
    ['a submission without its files', [{ SubmissionDate: now }]],
  ])('and %s tells nothing', async (_, list) => {
    expect((await errorOf(lookedUpIn(list))).message).toContain('the answer lacks required fields');
  });
});

const scope = 'Insufficient scope to call API. Required: dropbox:folders:read';
const person = 'Insufficient scope to call API. Required: jane.doe ';
test.each([
  [200, '[]', /^answered with a success, but does not show the files$/],
  [403, scope, /could not be read: GET \S+ answered with 403; reading requires dropbox:folders:read$/],
  [403, person, /could not be read: GET \S+ answered with 403$/],
])('a submission that was taken, and then is not shown, is told with the reason: %i %s', async (...row) => {
  const [status, body, message] = row;
  const { url } = await answering(({ method }) => (method === 'POST' ? {} : { status, body }));
  const upload = { comment: '', openFiles: async () => [fileOf('hello')] };
  const error = await errorOf(uploadMySubmission(clientAt(url).platform, folder, upload));
  expect(error).toMatchObject({ acceptedUnverified: true, message: expect.stringMatching(message) });
});
