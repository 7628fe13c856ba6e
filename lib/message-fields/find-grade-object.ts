import type * as z from 'zod';
import type { Platform } from '../platform/client.ts';
import { readDropboxFolder } from '../platform/resources/dropbox-folders.ts';
import {
  type GradeObject,
  listGradeObjects,
  type NewGradeObject,
} from '../platform/resources/grade-objects.ts';
import type { newGradeObject } from './grade-object.ts';

/** What exists already: the folder's grade item, and grade objects with the same name. */
export const findGradeObject = async (
  { orgUnitId, folderId, created }: z.infer<typeof newGradeObject>,
  platform: Platform,
) => {
  const ids = folderId === undefined ? undefined : { orgUnitId, folderId };
  const linkedId = ids && (await readDropboxFolder(platform, ids)).GradeItemId;
  const all = await Array.fromAsync(listGradeObjects(platform, orgUnitId));
  const namesakes = all.filter((each) => isNamed(each, created));
  const alike = namesakes.filter((each) => isAlike(each, created));
  const item = alike.find(({ Id }) => Id === linkedId) ?? alike.find((each) => !ids || isFree(each));
  const isWhole = item !== undefined && (ids === undefined || item.Id === linkedId);
  return { ids, linkedId, item, isTaken: !item && namesakes.length > 0, isWhole };
};

/** Whether a grade object has this name: the platform may use another Unicode form. */
const isNamed = ({ Name }: GradeObject, wanted: NewGradeObject): boolean =>
  Name.trim().normalize() === wanted.Name.normalize();

/** Whether a grade object can be used instead of a new one: other differences change no grade. */
const isAlike = (shown: GradeObject, wanted: NewGradeObject): boolean =>
  shown.GradeType === wanted.GradeType &&
  isAsWanted(shown.MaxPoints, 'MaxPoints' in wanted ? wanted.MaxPoints : undefined) &&
  isAsWanted(shown.ScoreDenominator, 'ScoreDenominator' in wanted ? wanted.ScoreDenominator : undefined);

/** A value that is not requested, or not shown, makes no difference. */
const isAsWanted = (shown: unknown, wanted: number | undefined): boolean =>
  wanted === undefined || shown === undefined || shown === wanted;

/** Whether it belongs to no dropbox folder: grades of two folders would overwrite each other. */
const isFree = ({ AssociatedTool }: GradeObject): boolean => !AssociatedTool;
