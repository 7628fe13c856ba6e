import * as z from 'zod';
import { platformId } from '../../../message/message.ts';
import { capitalised } from '../../../platform/client/capitalised.ts';
import { textContent } from '../../../platform/client/rich-text.ts';
import { longText } from './text.ts';

const optional = z.exactOptional;

/** The platform refuses a name with one of these. */
export const refusedInNames = '/"*<>+=|,%';

const name = z
  .string()
  .max(128, 'must be at most 128 characters')
  .regex(/^\S(.*\S)?$/, 'must be one line, without a space at its beginning or end')
  .regex(new RegExp(`^[^${refusedInNames}]*$`), `must hold none of ${[...refusedInNames].join(' ')}`);

const positive = z.number().positive('must be more than 0');
const description = longText.transform(textContent);
const flag = z.boolean();
const common = {
  orgUnitId: platformId,
  shortName: optional(z.string().max(128)),
  isBonus: optional(flag),
  excludeFromFinalGradeCalculation: optional(flag),
  description: optional(description),
};

// The score's denominator is the "out of" value of a grade object. Its effect is not documented: it is passed on as given, for the
// types that have points.
const created = {
  ...common,
  /** The dropbox folder to link to the grade object. */
  folderId: optional(platformId),
  name,
  categoryId: optional(platformId),
};
const createdPoints = { maxPoints: optional(positive), scoreDenominator: optional(positive) };
const createdScheme = { gradeSchemeId: optional(platformId) };

const changed = {
  ...common,
  gradeObjectId: platformId,
  name: optional(name),
  categoryId: optional(platformId.nullable()),
};
const changedPoints = {
  maxPoints: optional(positive.nullable()),
  scoreDenominator: optional(positive.nullable()),
};
const changedScheme = { gradeSchemeId: optional(platformId.nullable()) };

/** Only a numeric grade can exceed its points; only a selectbox must have a scheme. */
const numeric = { type: z.literal('numeric'), canExceedMaxPoints: optional(flag) };
const passFail = { type: z.literal('pass-fail') };
const selectbox = { type: z.literal('selectbox') };
const text = { type: z.literal('text') };

const oneOfTypes = {
  error: ({ code }: { code: string }) =>
    code === 'invalid_union' ? 'must be numeric, pass-fail, selectbox or text' : 'must be an object',
};

const toPlatformForm =
  <GradeType extends string>(gradeType: GradeType) =>
  <Data extends { type: string; orgUnitId: number; folderId?: number }>(given: Data) => {
    const { type: _, orgUnitId, folderId, ...settings } = given;
    return { orgUnitId, folderId, created: { GradeType: gradeType, ...capitalised(settings) } };
  };

export const newGradeObject = z.discriminatedUnion(
  'type',
  [
    z
      .strictObject({ ...created, ...numeric, ...createdPoints, ...createdScheme, maxPoints: positive })
      .transform(toPlatformForm('Numeric')),
    z
      .strictObject({ ...created, ...passFail, ...createdPoints, ...createdScheme })
      .transform(toPlatformForm('PassFail')),
    z
      .strictObject({ ...created, ...selectbox, ...createdPoints, gradeSchemeId: platformId })
      .transform(toPlatformForm('SelectBox')),
    z.strictObject({ ...created, ...text, ...createdScheme }).transform(toPlatformForm('Text')),
  ],
  oneOfTypes,
);

const changing =
  <GradeType extends string>(gradeType: GradeType) =>
  <Data extends { type: string; orgUnitId: number; gradeObjectId: number }>(given: Data) => {
    const { type: _, orgUnitId, gradeObjectId, ...settings } = given;
    return { orgUnitId, gradeObjectId, gradeType, changes: capitalised(settings) as Record<string, unknown> };
  };

const changesOf = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z
    .strictObject(shape)
    .refine(
      (given) => Object.keys(given).some((each) => !['type', 'orgUnitId', 'gradeObjectId'].includes(each)),
      'must give at least one setting to change',
    );

/** Changed settings of a grade object of each type: null removes a setting; an omitted one stays. */
export const changedGradeObject = z.discriminatedUnion(
  'type',
  [
    changesOf({
      ...changed,
      ...numeric,
      ...changedPoints,
      ...changedScheme,
      maxPoints: optional(positive),
    }).transform(changing('Numeric')),
    changesOf({ ...changed, ...passFail, ...changedPoints, ...changedScheme }).transform(
      changing('PassFail'),
    ),
    changesOf({ ...changed, ...selectbox, ...changedPoints, gradeSchemeId: optional(platformId) }).transform(
      changing('SelectBox'),
    ),
    changesOf({ ...changed, ...text, ...changedScheme }).transform(changing('Text')),
  ],
  oneOfTypes,
);
