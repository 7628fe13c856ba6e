import * as z from 'zod';
import { unlessAbsent } from './absence.ts';
import type { Platform } from './client.ts';
import { reading } from './operation.ts';
import { itemsOf, pageOf } from './paging.ts';
import type { TextContent } from './rich-text.ts';

type Common = {
  /** At most 128 characters, none of `/"*<>+=|,%`. */
  Name: string;
  ShortName?: string;
  CategoryId?: number | null;
  Description?: TextContent;
  GradeSchemeId?: number | null;
  IsBonus?: boolean;
  ExcludeFromFinalGradeCalculation?: boolean;
};

/**
 * A grade object of each type that can be created. There is no AssociatedTool: the platform answers 500 to it. A dropbox
 * folder is linked by the folder's own grade item instead (`linkGradeItem`).
 */
export type NewGradeObject =
  | (Common & { GradeType: 'Numeric'; MaxPoints: number; CanExceedMaxPoints?: boolean })
  | (Common & { GradeType: 'PassFail' | 'SelectBox'; MaxPoints?: number; CanExceedMaxPoints?: boolean })
  | (Common & { GradeType: 'Text' });

const gradeObject = z.looseObject({ Id: z.number(), Name: z.string(), GradeType: z.string() });

export type GradeObject = z.infer<typeof gradeObject>;

const collection = { component: 'le', path: '/{orgUnitId}/grades/' } as const;

export const postGradeObject = reading({
  ...collection,
  name: 'create-grade-object',
  method: 'POST',
  scope: 'grades:gradeobjects:write',
  // Each call creates one more, of the same name.
  repeatable: false,
  answer: gradeObject,
});

/** Creates a grade object in an org unit. */
export const createGradeObject = (platform: Platform, orgUnitId: number, created: NewGradeObject) =>
  platform.call(postGradeObject, { path: { orgUnitId }, json: created });

export const getGradeObjects = reading({
  ...collection,
  name: 'list-grade-objects',
  method: 'GET',
  scope: 'grades:gradeobjects:read',
  repeatable: true,
  answer: pageOf(gradeObject),
});

/** The grade objects of an org unit. */
export const listGradeObjects = (platform: Platform, orgUnitId: number) =>
  itemsOf(platform, getGradeObjects, { path: { orgUnitId } });

export const getGradeObject = reading({
  name: 'read-grade-object',
  method: 'GET',
  component: 'le',
  path: '/{orgUnitId}/grades/{gradeObjectId}',
  scope: 'grades:gradeobjects:read',
  repeatable: true,
  answer: gradeObject,
});

/** A grade object; undefined where there is none. */
export const readGradeObject = (platform: Platform, ids: { orgUnitId: number; gradeObjectId: number }) =>
  unlessAbsent(platform.call(getGradeObject, { path: ids }));
