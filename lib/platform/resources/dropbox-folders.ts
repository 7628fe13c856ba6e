import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { acknowledged, reading } from '../client/operation.ts';
import { asTaken } from '../client/rich-text.ts';

type FolderIds = { orgUnitId: number; folderId: number };

export const getDropboxFolder = reading({
  name: 'read-dropbox-folder',
  call: 'GET /le/{orgUnitId}/dropbox/folders/{folderId}',
  scope: 'dropbox:folders:read',
  repeats: { Id: 'folderId' },
  answer: z.looseObject({ Id: z.number(), Name: z.string(), GradeItemId: z.number().nullish() }),
});

export const readDropboxFolder = (platform: Platform, ids: FolderIds) =>
  platform.call(getDropboxFolder, { path: ids });

export const putDropboxFolder = acknowledged({
  name: 'update-dropbox-folder',
  call: 'PUT /le/{orgUnitId}/dropbox/folders/{folderId}',
  scope: 'dropbox:folders:write',
  repeats: { Id: 'folderId' },
  repeatable: true,
});

/** Replaces a folder's settings: the platform forgets what is left out. */
export const updateDropboxFolder = (
  platform: Platform,
  ids: FolderIds,
  settings: { Name: string; GradeItemId: number | null; [setting: string]: unknown },
) => platform.call(putDropboxFolder, { path: ids, json: settings });

/**
 * Makes a grade object the grade item of a folder that has none, and leaves the folder's other settings as they are. Returns the
 * grade item that it has then: an existing one is kept.
 */
export const linkGradeItem = async (
  platform: Platform,
  { gradeObjectId, ...ids }: FolderIds & { gradeObjectId: number },
): Promise<number> => {
  const { Id, ...settings } = await readDropboxFolder(platform, ids);
  if (settings.GradeItemId) return settings.GradeItemId;
  const goingBack = Object.entries(settings).map(([name, value]) => [name, asTaken(value)]);
  await updateDropboxFolder(platform, ids, {
    ...Object.fromEntries(goingBack),
    Name: settings.Name,
    GradeItemId: gradeObjectId,
  });
  return gradeObjectId;
};
