import type * as z from 'zod';
import { MessageFailure } from '../lib/failure.ts';
import { handlerOf } from '../lib/handler.ts';
import type { Integration, World } from '../lib/integration.ts';
import { isAlike, isFree, isNamed, newGradeObject } from '../lib/new-grade-object.ts';
import {
  getDropboxFolder,
  linkGradeItem,
  putDropboxFolder,
  readDropboxFolder,
} from '../lib/platform/dropbox-folders.ts';
import * as grades from '../lib/platform/grade-objects.ts';

type Data = z.infer<typeof newGradeObject>;

/** What is there already: the folder's grade item, and what has the name. */
const find = async ({ orgUnitId, folderId, created }: Data, { platform }: World) => {
  const ids = folderId === undefined ? undefined : { orgUnitId, folderId };
  const linkedId = ids && (await readDropboxFolder(platform, ids)).GradeItemId;
  const all = await Array.fromAsync(grades.listGradeObjects(platform, orgUnitId));
  const namesakes = all.filter((each) => isNamed(each, created));
  const alike = namesakes.filter((each) => isAlike(each, created));
  const item = alike.find(({ Id }) => Id === linkedId) ?? alike.find((each) => !ids || isFree(each));
  const isWhole = item !== undefined && (ids === undefined || item.Id === linkedId);
  return { ids, linkedId, item, isTaken: !item && namesakes.length > 0, isWhole };
};

const refused = (message: string, remedy: string) => new MessageFailure('rejected', message, { remedy });

/** Creates a grade object and, where the message names a dropbox folder, makes it the grade item of that folder. */
export const integration: Integration<Data> = {
  name: 'grade-object-create',
  data: newGradeObject,
  key: (_, { source, id }) => `${source} ${id}`,
  operations: [grades.getGradeObjects, grades.postGradeObject, getDropboxFolder, putDropboxFolder],
  repeatable: false,
  // The folder comes first and the item is looked for, so that an attempt goes on where the one before it ended.
  run: async (data, world) => {
    const { ids, linkedId, item, isTaken } = await find(data, world);
    if (isTaken)
      throw refused(
        `Org unit ${data.orgUnitId} has a grade object of this name with another type, other points or another folder`,
        'Rename one of the two, or correct the message, then replay.',
      );
    if (linkedId && linkedId !== item?.Id)
      throw refused(
        `Grade object ${linkedId} is the grade item of dropbox folder ${data.folderId} already`,
        'Take it from that folder on the platform, or name another folder, then replay.',
      );
    const { Id } = item ?? (await grades.createGradeObject(world.platform, data.orgUnitId, data.created));
    if (ids) await linkGradeItem(world.platform, { ...ids, gradeObjectId: Id });
  },
  verify: {
    subject: ({ orgUnitId }) => `a grade object of this message's name in org unit ${orgUnitId}`,
    look: async (data, world) => ((await find(data, world)).isWhole ? 'found' : 'absent'),
  },
};

export const handler = handlerOf(integration);
