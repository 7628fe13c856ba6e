import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';
import { asTaken, type TextContent } from '../client/rich-text.ts';
import { itemsOf, pageOf } from './paging.ts';

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
  | (Common & Points & { GradeType: 'Numeric'; MaxPoints: number; CanExceedMaxPoints?: boolean })
  | (Common & Points & { GradeType: 'PassFail' })
  | (Common & Points & { GradeType: 'SelectBox'; GradeSchemeId: number })
  | (Common & { GradeType: 'Text' });

/** ScoreDenominator is the "out of" value; its effect beside MaxPoints is not known. */
type Points = { MaxPoints?: number; ScoreDenominator?: number };

const gradeObject = z.looseObject({
  Id: z.number(),
  Name: z.string(),
  GradeType: z.string(),
});

export type GradeObject = z.infer<typeof gradeObject>;

/** Whether a grade object has this name: the platform may use another Unicode form. */
export const isNamed = ({ Name }: GradeObject, name: string): boolean =>
  Name.trim().normalize() === name.normalize();

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

export const listGradeObjects = (platform: Platform, orgUnitId: number) =>
  itemsOf(platform, getGradeObjects, { path: { orgUnitId } });

const item = {
  component: 'le',
  path: '/{orgUnitId}/grades/{gradeObjectId}',
  repeatable: true,
  repeats: { Id: 'gradeObjectId' },
} as const;

export const getGradeObject = reading({
  ...item,
  name: 'read-grade-object',
  method: 'GET',
  scope: 'grades:gradeobjects:read',
  answer: gradeObject,
});

type GradeObjectIds = { orgUnitId: number; gradeObjectId: number };

/** @throws PlatformError if it does not exist. */
export const requireGradeObject = (platform: Platform, ids: GradeObjectIds) =>
  platform.call(getGradeObject, { path: ids });

export const putGradeObject = reading({
  ...item,
  name: 'update-grade-object',
  method: 'PUT',
  scope: 'grades:gradeobjects:write',
  // The whole grade object, as a GET returns it.
  answer: gradeObject,
});

/** Replaces a grade object: the platform forgets what is left out. Its type cannot be changed. */
export const replaceGradeObject = (
  platform: Platform,
  ids: GradeObjectIds,
  settings: { GradeType: string; [setting: string]: unknown },
) => platform.call(putGradeObject, { path: ids, json: settings });

const ofAll = ['Name', 'ShortName', 'CategoryId', 'Description'];
const ofPoints = [...ofAll, 'MaxPoints', 'IsBonus', 'ExcludeFromFinalGradeCalculation'];

/** The settings that an update must contain, by type: the platform resets the others. */
const wholeSettings: Record<string, readonly string[]> = {
  Numeric: [...ofPoints, 'CanExceedMaxPoints', 'GradeSchemeId'],
  PassFail: ofPoints,
  SelectBox: [...ofPoints, 'GradeSchemeId'],
  Text: ofAll,
};
/** Settings that are sent if they are set. */
const further = ['IsBonus', 'ExcludeFromFinalGradeCalculation', 'GradeSchemeId', 'ScoreDenominator'];

/**
 * All settings of a grade object as a PUT takes them, with these changes. `notShown`: settings that the platform did not return, so
 * that a PUT would reset them. The linked dropbox folder is not among them: the link is a setting of the folder.
 */
export const changedSettings = (shown: GradeObject, changes: Record<string, unknown>) => {
  const { GradeType } = shown;
  const whole = wholeSettings[GradeType] ?? [];
  const kept = Object.entries(shown).filter(
    ([name, value]) => whole.includes(name) || (further.includes(name) && value !== null),
  );
  const settings = {
    ...Object.fromEntries(kept.map(([name, value]) => [name, asTaken(value)])),
    ...changes,
    GradeType,
  };
  return { settings, notShown: whole.filter((name) => !Object.hasOwn(settings, name)) };
};
