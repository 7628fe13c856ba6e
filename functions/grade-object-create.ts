import type * as z from 'zod';
import { newGradeObject } from '../lib/delivery/handle/fields/grade-object.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { confirmByReadBack } from '../lib/delivery/handle/read-back.ts';
import { MessageFailure } from '../lib/message/failure.ts';
import { type SafeText, safe } from '../lib/message/safe-text.ts';
import { identityOf } from '../lib/message/version.ts';
import type { Platform } from '../lib/platform/client/client.ts';
import {
  getDropboxFolder,
  linkGradeItem,
  putDropboxFolder,
  readDropboxFolder,
} from '../lib/platform/resources/dropbox-folders.ts';
import * as grades from '../lib/platform/resources/grade-objects.ts';

type Data = z.infer<typeof newGradeObject>;

const refused = (message: SafeText, remedy: string) => new MessageFailure('rejected', message, { remedy });

const isTakenBy = (gradeObjectId: number, { folderId }: { folderId: number }) =>
  refused(
    safe`Grade object ${gradeObjectId} is already linked to dropbox folder ${folderId}`,
    'Remove it from that folder on the platform, or name another folder, then replay.',
  );

/** Finds what already exists: the folder's grade item, and grade objects with the same name. */
const findGradeObject = async ({ orgUnitId, folderId, created }: Data, platform: Platform) => {
  const ids = folderId === undefined ? undefined : { orgUnitId, folderId };
  const linkedId = ids && (await readDropboxFolder(platform, ids)).GradeItemId;
  const all = await Array.fromAsync(grades.listGradeObjects(platform, orgUnitId));
  const namesakes = all.filter((each) => grades.isNamed(each, created.Name));
  const alike = namesakes.filter((each) => isAlike(each, created));
  const item = alike.find(({ Id }) => Id === linkedId) ?? alike.find((each) => !ids || isFree(each));
  const isWhole = item !== undefined && (ids === undefined || item.Id === linkedId);
  return { ids, linkedId, item, isTaken: !item && namesakes.length > 0, isWhole };
};

/** Whether an existing grade object can be used instead of a new one. Other differences change no grade. */
const isAlike = (shown: grades.GradeObject, wanted: grades.NewGradeObject): boolean =>
  shown.GradeType === wanted.GradeType &&
  isAsWanted(shown.MaxPoints, 'MaxPoints' in wanted ? wanted.MaxPoints : undefined) &&
  isAsWanted(shown.ScoreDenominator, 'ScoreDenominator' in wanted ? wanted.ScoreDenominator : undefined);

/** A value that is not requested or not shown does not count as a difference. */
const isAsWanted = (shown: unknown, wanted: number | undefined): boolean =>
  wanted === undefined || shown === undefined || shown === wanted;

/** Whether it belongs to no dropbox folder. Grades of two folders would overwrite each other. */
const isFree = ({ AssociatedTool }: grades.GradeObject): boolean => !AssociatedTool;

/** Creates a grade object. If the message names a dropbox folder, links the grade object to it as its grade item. */
export const integration: Integration<Data> = {
  name: 'grade-object-create',
  data: newGradeObject,
  // One key per org unit: of two creations for one name or folder, the second finds what the first has made.
  resource: ({ orgUnitId }) => `grade-objects/${orgUnitId}`,
  // Each creation has its own field: people rename grade objects, so a name does not prove whether one was created.
  fields: (_, message) => [`created/${identityOf(message)}`],
  changes: ['grade-objects'],
  operations: [grades.getGradeObjects, grades.postGradeObject, getDropboxFolder, putDropboxFolder],
  repeatable: false,
  // The folder comes first and the item is looked up, so that an attempt continues where the previous one ended.
  run: async (data, context) => {
    const { ids, linkedId, item, isTaken } = await findGradeObject(data, context.platform);
    if (isTaken)
      throw refused(
        safe`Org unit ${data.orgUnitId} already has a grade object with this name, but it has another type, other points or another folder`,
        'Rename the grade object on the platform, or correct the message. Then replay.',
      );
    if (ids && linkedId && linkedId !== item?.Id) throw isTakenBy(linkedId, ids);
    const { Id } = item ?? (await grades.createGradeObject(context.platform, data.orgUnitId, data.created));
    if (ids === undefined) return;
    const linking = linkGradeItem(context.platform, { ...ids, gradeObjectId: Id });
    const isLinked = async () => (await readDropboxFolder(context.platform, ids)).GradeItemId === Id;
    await confirmByReadBack(linking, isLinked);
    const holder = await linking.catch(() => Id);
    if (holder !== Id) throw isTakenBy(holder, ids);
  },
  verify: {
    subject: ({ orgUnitId }) => `a grade object of this message's name in org unit ${orgUnitId}`,
    // The fields by which a grade object is found, of any grade object in the org unit.
    isHiddenBy: (field) => /\/(Name|MaxPoints|ScoreDenominator)$/.test(field),
    look: async (data, context) =>
      (await findGradeObject(data, context.platform)).isWhole ? 'found' : 'absent',
  },
};

export const handler = handlerOf(integration);
