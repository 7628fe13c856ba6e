import type * as z from 'zod';
import type { Platform } from '../platform/client.ts';
import { readDropboxFolder } from '../platform/resources/dropbox-folders.ts';
import {
  type GradeObject,
  listGradeObjects,
  type NewGradeObject,
} from '../platform/resources/grade-objects.ts';
import type { newGradeObject } from './grade-object.ts';

/** What is there already: the folder's grade item, and what has the name. */
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

/** Whether a grade object has the name that is wanted: the platform may write its letters in another form. */
const isNamed = ({ Name }: GradeObject, wanted: NewGradeObject): boolean =>
  Name.trim().normalize() === wanted.Name.normalize();

/** Whether a grade object can take the place of the one that is wanted: what differs otherwise changes no grade. */
const isAlike = (shown: GradeObject, wanted: NewGradeObject): boolean =>
  shown.GradeType === wanted.GradeType &&
  isAsWanted(shown.MaxPoints, 'MaxPoints' in wanted ? wanted.MaxPoints : undefined) &&
  isAsWanted(shown.ScoreDenominator, 'ScoreDenominator' in wanted ? wanted.ScoreDenominator : undefined);

/** What is not wanted, or not shown, is no difference. */
const isAsWanted = (shown: unknown, wanted: number | undefined): boolean =>
  wanted === undefined || shown === undefined || shown === wanted;

/** Whether a dropbox folder may have it: of one that belongs to another, the grades would overwrite each other. */
const isFree = ({ AssociatedTool }: GradeObject): boolean => !AssociatedTool;
