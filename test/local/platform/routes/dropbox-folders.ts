import { json } from '../http/answer.ts';
import { id, nullable, object, or, string } from '../http/bind.ts';
import { bindingError, notFound } from '../http/refusal.ts';
import { richTextIn, richTextOut } from '../rich-text.ts';
import { type Call, route } from '../route.ts';
import { emptyComment, type Folder } from '../state.ts';

const path = '{orgUnitId}/dropbox/folders/{folderId}';

export const dropboxFolderRoutes = [
  route({
    method: 'GET',
    component: 'le',
    path,
    scope: 'dropbox:folders:read',
    permission: 'SeeDropbox',
    handle: (call) => json(folderOut(folderOf(call))),
  }),

  route({
    method: 'PUT',
    component: 'le',
    path,
    scope: 'dropbox:folders:write',
    permission: 'ManageDropbox',
    async handle(call) {
      const { folderId, orgUnitId } = folderOf(call);
      const { gradeObjects, folders } = call.state.tables;
      const { Name, GradeItemId, CustomInstructions } = folderBody(await call.json(), '');
      if (Name.trim() === '') throw bindingError('Name must not be empty');
      if (GradeItemId !== null && gradeObjects.get(GradeItemId)?.orgUnitId !== orgUnitId) {
        throw notFound('Grade object');
      }
      const settings = { name: Name, gradeItemId: GradeItemId, customInstructions: CustomInstructions };
      return json(folderOut(folders.put({ folderId, orgUnitId, ...settings })));
    },
  }),
];

// The folder is replaced whole: what the body leaves out is unlinked or emptied.
const folderBody = object({
  Name: string,
  GradeItemId: or(nullable(id), null),
  CustomInstructions: or(richTextIn, emptyComment),
});

export function folderOf({ ids, state }: Call<'orgUnitId' | 'folderId'>): Folder {
  const folder = state.tables.folders.get(ids.folderId);
  if (folder?.orgUnitId !== ids.orgUnitId) throw notFound('Dropbox folder');
  return folder;
}

function folderOut({ folderId, name, gradeItemId, customInstructions }: Folder) {
  return {
    ...{ Id: folderId, Name: name, GradeItemId: gradeItemId },
    CustomInstructions: richTextOut(customInstructions),
  };
}
