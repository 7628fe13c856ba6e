import * as z from 'zod';
import { platformId } from './message.ts';
import { capitalised } from './platform/capitalised.ts';
import type { Platform } from './platform/client.ts';
import { readDropboxFolder } from './platform/dropbox-folders.ts';
import { type GradeObject, listGradeObjects, type NewGradeObject } from './platform/grade-objects.ts';
import { textContent } from './platform/rich-text.ts';

const may = z.exactOptional;

const name = z
  .string()
  .max(128, 'must be at most 128 characters')
  .regex(/^\S(.*\S)?$/, 'must be one line that neither begins nor ends with a space')
  .regex(/^[^/"*<>+=|,%]*$/, 'must hold none of / " * < > + = | , %');

const common = {
  orgUnitId: platformId,
  /** The dropbox folder whose grade item it shall be. */
  folderId: may(platformId),
  name,
  shortName: may(z.string().max(128)),
  categoryId: may(platformId),
  gradeSchemeId: may(platformId),
  isBonus: may(z.boolean()),
  excludeFromFinalGradeCalculation: may(z.boolean()),
  description: may(z.string().transform(textContent)),
};

const maxPoints = z.number().positive('must be more than 0');
const points = { maxPoints: may(maxPoints), canExceedMaxPoints: may(z.boolean()) };

/** Parts what the platform takes from where it goes. */
const as =
  <GradeType extends string>(gradeType: GradeType) =>
  <Given extends { type: string; orgUnitId: number; folderId?: number }>(given: Given) => {
    const { type: _, orgUnitId, folderId, ...settings } = given;
    return { orgUnitId, folderId, created: { GradeType: gradeType, ...capitalised(settings) } };
  };

/** A grade object of each type that can be created, as a message tells it. */
export const newGradeObject = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ ...common, type: z.literal('numeric'), ...points, maxPoints }).transform(as('Numeric')),
    z.strictObject({ ...common, type: z.literal('pass-fail'), ...points }).transform(as('PassFail')),
    z.strictObject({ ...common, type: z.literal('selectbox'), ...points }).transform(as('SelectBox')),
    z.strictObject({ ...common, type: z.literal('text') }).transform(as('Text')),
  ],
  {
    error: ({ code }) =>
      code === 'invalid_union' ? 'must be numeric, pass-fail, selectbox or text' : 'must be an object',
  },
);

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
const isAlike = ({ GradeType, MaxPoints }: GradeObject, wanted: NewGradeObject): boolean =>
  GradeType === wanted.GradeType &&
  (!('MaxPoints' in wanted) || MaxPoints === undefined || MaxPoints === wanted.MaxPoints);

/** Whether a dropbox folder may have it: of one that belongs to another, the grades would overwrite each other. */
const isFree = ({ AssociatedTool }: GradeObject): boolean => !AssociatedTool;
