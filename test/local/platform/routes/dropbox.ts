import * as z from 'zod';
import { json, ok } from '../http/answer.ts';
import { bind, id } from '../http/bind.ts';
import { partsOf } from '../http/multipart.ts';
import { badRequest, missingPermission } from '../http/refusal.ts';
import { filePart, jsonPart, type StoredFile } from '../http/upload.ts';
import { richText, richTextOut } from '../rich-text.ts';
import { type Call, foundIn, route } from '../route.ts';
import { emptyComment, type Row } from '../state.ts';

const folder = 'le/{orgUnitId}/dropbox/folders/{folderId}';
const submissions = `${folder}/submissions/mysubmissions[/]` as const;
const reads = 'dropbox:folders:read';
const writes = 'dropbox:folders:write';

export const dropboxRoutes = [
  route(`GET ${folder}`, { scope: reads, permission: 'SeeDropbox' }, (call) =>
    json(folderOut(folderOf(call))),
  ),

  route(`PUT ${folder}`, { scope: writes, permission: 'ManageDropbox' }, async (call) => {
    const { folderId, orgUnitId } = folderOf(call);
    const { gradeObjects, folders } = call.tables;
    const given = bind(folderBody, await call.json());
    if (given.gradeItemId !== null) foundIn(call, gradeObjects.get(given.gradeItemId), 'Grade object');
    return json(folderOut(folders.put({ folderId, orgUnitId, ...given })));
  }),

  route(`GET ${submissions}`, { scope: reads, permission: 'SubmitToDropbox' }, (call) => {
    const { folderId } = folderOf(call);
    const all = call.tables.submissions.where('folderId', folderId);
    const own = all.filter(({ userId }) => userId === call.caller.userId);
    return json(own.map((one) => submissionOut(one, call)));
  }),

  route(`POST ${submissions}`, { scope: writes, permission: 'SubmitToDropbox' }, async (call) => {
    const { folderId, orgUnitId } = folderOf(call);
    const { userId } = call.caller;
    // Whoever signs is the submitter, and an inherited role makes nobody a member of the course.
    if (call.tables.enrollments.get(orgUnitId, userId) === undefined)
      throw missingPermission(orgUnitId, 'SubmitToDropbox');
    const { comment, files } = await submissionIn(call);
    const submissionId = call.world.state.nextId();
    const submittedAt = call.world.nowIso();
    const { submissions } = call.tables;
    submissions.put({ submissionId, orgUnitId, folderId, userId, comment, files, submittedAt });
    return ok;
  }),
];

const folderOf = (call: Call<'orgUnitId' | 'folderId'>): Row<'folders'> =>
  foundIn(call, call.tables.folders.get(call.ids.folderId), 'Dropbox folder');

/** The folder is replaced whole: what the body leaves out is unlinked or emptied. */
const folderBody = z
  .object({
    Name: z.string().regex(/\S/),
    GradeItemId: id.nullable().default(null),
    CustomInstructions: richText.default(emptyComment),
  })
  .transform(({ Name: name, GradeItemId: gradeItemId, CustomInstructions: customInstructions }) => ({
    name,
    gradeItemId,
    customInstructions,
  }));

function folderOut({ folderId, name, gradeItemId, customInstructions }: Row<'folders'>) {
  return {
    Id: folderId,
    Name: name,
    GradeItemId: gradeItemId,
    CustomInstructions: richTextOut(customInstructions),
  };
}

const commentShape = z.object({ Text: z.string(), Html: z.string().nullable() });

async function submissionIn({ request }: Call) {
  let comment: string | undefined;
  const files: StoredFile[] = [];
  for await (const part of partsOf(request, 'mixed')) {
    if (comment === undefined) comment = bind(commentShape, await jsonPart(part)).Text;
    else files.push(await filePart(part, ''));
  }
  if (comment === undefined || files.length === 0) throw badRequest('A submission needs at least one file');
  return { comment, files };
}

function submissionOut(one: Row<'submissions'>, { caller }: Call) {
  return {
    Id: one.submissionId,
    SubmittedBy: { Identifier: String(caller.userId), DisplayName: `${caller.firstName} ${caller.lastName}` },
    SubmissionDate: one.submittedAt,
    Comment: { Text: one.comment, Html: null },
    Files: filesOut(one.files),
  };
}

export const filesOut = (files: StoredFile[]) =>
  files.map(({ name, bytes }, index) => ({ FileId: index + 1, FileName: name, Size: bytes }));
