import { json, ok } from '../http/answer.ts';
import { nullable, object, string } from '../http/bind.ts';
import { partsOf } from '../http/multipart.ts';
import { badRequest, missingPermission } from '../http/refusal.ts';
import { filePart, jsonPart } from '../http/upload.ts';
import { type Call, route } from '../route.ts';
import type { StoredFile, Submission } from '../state.ts';
import { folderOf } from './dropbox-folders.ts';

const path = '{orgUnitId}/dropbox/folders/{folderId}/submissions/mysubmissions[/]';
const commentShape = object({ Text: string, Html: nullable(string) });

export const submissionRoutes = [
  route({
    method: 'GET',
    component: 'le',
    path,
    scope: 'dropbox:folders:read',
    permission: 'SubmitToDropbox',
    handle(call) {
      const { folderId } = folderOf(call);
      const own = call.state.tables.submissions.where('folderId', folderId);
      return json(
        own.filter(({ userId }) => userId === call.caller.userId).map((one) => submissionOut(one, call)),
      );
    },
  }),

  route({
    method: 'POST',
    component: 'le',
    path,
    scope: 'dropbox:folders:write',
    permission: 'SubmitToDropbox',
    async handle(call) {
      const { folderId, orgUnitId } = folderOf(call);
      const { userId } = call.caller;
      // Whoever signs is the submitter, and an inherited role makes nobody a member of the course.
      if (call.state.tables.enrollments.get(orgUnitId, userId) === undefined) {
        throw missingPermission(orgUnitId, 'SubmitToDropbox');
      }
      const { comment, files } = await submissionIn(call);
      call.state.tables.submissions.put({
        ...{ submissionId: call.state.nextId(), orgUnitId, folderId, userId, comment, files },
        submittedAt: call.world.nowIso(),
      });
      return ok;
    },
  }),
];

async function submissionIn({ request }: Call) {
  let comment: string | undefined;
  const files: StoredFile[] = [];
  for await (const part of partsOf(request, 'mixed')) {
    if (comment === undefined) comment = commentShape(await jsonPart(part), '').Text;
    else files.push(await filePart(part, ''));
  }
  if (comment === undefined || files.length === 0) throw badRequest('A submission needs at least one file');
  return { comment, files };
}

function submissionOut({ submissionId, submittedAt, comment, files }: Submission, { caller }: Call) {
  return {
    Id: submissionId,
    SubmittedBy: { Identifier: String(caller.userId), DisplayName: `${caller.firstName} ${caller.lastName}` },
    SubmissionDate: submittedAt,
    Comment: { Text: comment, Html: null },
    Files: files.map(({ name, bytes }, index) => ({ FileId: index + 1, FileName: name, Size: bytes })),
  };
}
