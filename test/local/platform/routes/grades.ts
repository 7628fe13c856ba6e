import * as z from 'zod';
import { json, ok } from '../http/answer.ts';
import { bind, id } from '../http/bind.ts';
import { badRequest, bindingError, internalServerError } from '../http/refusal.ts';
import { richText, richTextOut } from '../rich-text.ts';
import { type Call, found, foundIn, ownPath, route } from '../route.ts';
import { emptyComment, type Row } from '../state.ts';

type GradeObject = Row<'gradeObjects'>;

const readsObjects = { scope: 'grades:gradeobjects:read', permission: 'SeeGradeObjects' } as const;
const writesObjects = { scope: 'grades:gradeobjects:write', permission: 'ManageGradeObjects' } as const;

export const gradeRoutes = [
  route('GET le/{orgUnitId}/grades/', readsObjects, ({ ids, tables }) =>
    json(tables.gradeObjects.where('orgUnitId', ids.orgUnitId).map((one) => gradeObjectOut(one, tables))),
  ),

  route('GET le/{orgUnitId}/grades/{gradeObjectId}', readsObjects, (call) =>
    json(gradeObjectOut(gradeObjectOf(call), call.tables)),
  ),

  route('POST le/{orgUnitId}/grades/', writesObjects, async ({ ids, world, tables, json: body }) => {
    const made = { gradeObjectId: world.state.nextId(), ...ids, ...gradeObjectIn(await body()) };
    return json(gradeObjectOut(tables.gradeObjects.put(made), tables));
  }),

  route('PUT le/{orgUnitId}/grades/{gradeObjectId}', writesObjects, async (call) => {
    const { gradeObjectType } = gradeObjectOf(call);
    const gradeObject = gradeObjectIn(await call.json());
    if (gradeObject.gradeObjectType !== gradeObjectType) throw badRequest('GradeType cannot be changed');
    // The whole of it: what is left out is as in a creation that leaves it out.
    const { gradeObjects } = call.tables;
    return json(gradeObjectOut(gradeObjects.put({ ...call.ids, ...gradeObject }), call.tables));
  }),

  route(
    'GET le/{orgUnitId}/grades/{gradeObjectId}/values/{userId}',
    { scope: 'grades:gradevalues:read', permission: 'SeeGradeValues', own: ownPath },
    (call) => {
      const gradeObject = valueObjectOf(call);
      const { gradeObjectId, userId } = call.ids;
      const value = found(call.tables.gradeValues.get(gradeObjectId, userId), 'Grade value');
      return json(valueOut(value, gradeObject));
    },
  ),

  route(
    'PUT le/{orgUnitId}/grades/{gradeObjectId}/values/{userId}',
    { scope: 'grades:gradevalues:write', permission: 'EditGradeValues' },
    async (call) => {
      const { gradeObjectType } = valueObjectOf(call);
      const { gradeValues } = call.tables;
      const { gradeObjectId, userId } = call.ids;
      const given = bind(gradeValueBody, await call.json());
      if (given.gradeObjectType !== gradeObjectType)
        throw bindingError(`GradeObjectType must be ${gradeObjectType} for this grade object`);
      gradeValues.put({
        ...call.ids,
        ...given,
        writes: (gradeValues.get(gradeObjectId, userId)?.writes ?? 0) + 1,
        lastModified: call.world.nowIso(),
      });
      return ok;
    },
  ),
];

const gradeObjectOf = (call: Call<'orgUnitId' | 'gradeObjectId'>): GradeObject =>
  foundIn(call, call.tables.gradeObjects.get(call.ids.gradeObjectId), 'Grade object');

function valueObjectOf(call: Call<'orgUnitId' | 'gradeObjectId' | 'userId'>): GradeObject {
  const gradeObject = gradeObjectOf(call);
  found(call.tables.users.get(call.ids.userId), 'User');
  return gradeObject;
}

const gradeTypes = ['Numeric', 'PassFail', 'SelectBox', 'Text'] as const;

const gradeObjectBody = z.object({
  Name: z
    .string()
    .max(128)
    .regex(/^(?!\s*$)[^/"*<>+=|,%]+$/s),
  ShortName: z.string().nullable().default(null),
  GradeType: z.enum(gradeTypes),
  MaxPoints: z.number().nullable().default(null),
  Description: richText.nullable().default(null),
  AssociatedTool: z.unknown().optional(),
});

const settings = z.object({
  CategoryId: id.nullable().optional(),
  CanExceedMaxPoints: z.boolean().nullable().optional(),
  IsBonus: z.boolean().optional(),
  ExcludeFromFinalGradeCalculation: z.boolean().optional(),
  GradeSchemeId: id.nullable().optional(),
  ScoreDenominator: z.number().nullable().optional(),
});

function gradeObjectIn(body: unknown): Omit<GradeObject, 'gradeObjectId' | 'orgUnitId'> {
  const { Name, ShortName, GradeType, MaxPoints, Description, AssociatedTool } = bind(gradeObjectBody, body);
  if (GradeType === 'Numeric' && MaxPoints === null) throw bindingError('MaxPoints must be a number');
  const given = bind(settings, body);
  if (GradeType !== 'Numeric' && (given.CanExceedMaxPoints ?? null) !== null)
    throw bindingError('CanExceedMaxPoints is of Numeric alone');
  if (GradeType === 'SelectBox' && (given.GradeSchemeId ?? null) === null)
    throw bindingError('GradeSchemeId must be a positive integer');
  if ((AssociatedTool ?? null) !== null) throw internalServerError('An unexpected error occurred');
  return {
    name: Name,
    shortName: ShortName ?? '',
    gradeObjectType: (gradeTypes.indexOf(GradeType) + 1) as GradeObject['gradeObjectType'],
    maxPoints: MaxPoints,
    description: Description ?? emptyComment,
    settings: given,
  };
}

/** What those of a type show of the settings that nobody has given. */
const counted = { IsBonus: false, ExcludeFromFinalGradeCalculation: false };
const unset: Record<GradeObject['gradeObjectType'], object> = {
  1: { ...counted, CanExceedMaxPoints: false, GradeSchemeId: null },
  2: counted,
  3: { ...counted, GradeSchemeId: null },
  4: {},
};

/** The tool of a dropbox; the shape of what is associated is not documented. */
const dropboxToolId = 2000;

function gradeObjectOut(one: GradeObject, { folders }: Call['tables']) {
  const folder = folders
    .where('orgUnitId', one.orgUnitId)
    .find(({ gradeItemId }) => gradeItemId === one.gradeObjectId);
  return {
    Id: one.gradeObjectId,
    Name: one.name,
    ShortName: one.shortName,
    GradeType: gradeTypes[one.gradeObjectType - 1],
    CategoryId: null,
    MaxPoints: one.maxPoints,
    Description: richTextOut(one.description),
    AssociatedTool: folder ? { ToolId: dropboxToolId, ToolItemId: folder.folderId } : null,
    ...unset[one.gradeObjectType],
    ...one.settings,
  };
}

const gradeComment = richText
  .refine(({ content }) => content.length <= 4_000, 'it exceeds 4,000 characters')
  .default(emptyComment);
/** The whole value is replaced: a comment that the body leaves out is gone. */
const comments = { Comments: gradeComment, PrivateComments: gradeComment };

const gradeValueBody = z
  .discriminatedUnion('GradeObjectType', [
    z.object({ GradeObjectType: z.literal(1), PointsNumerator: z.number(), ...comments }),
    z.object({ GradeObjectType: z.literal(2), Pass: z.boolean(), ...comments }),
    z.object({ GradeObjectType: z.literal(3), Value: z.string(), ...comments }),
    z.object({ GradeObjectType: z.literal(4), Text: z.string(), ...comments }),
  ])
  .transform(({ GradeObjectType: gradeObjectType, ...given }) => ({
    gradeObjectType,
    comments: given.Comments,
    privateComments: given.PrivateComments,
    ...('PointsNumerator' in given && { pointsNumerator: given.PointsNumerator }),
    ...('Pass' in given && { pass: given.Pass }),
    ...('Value' in given && { value: given.Value }),
    ...('Text' in given && { text: given.Text }),
  }));

function valueOut(value: Row<'gradeValues'>, { name, maxPoints }: GradeObject) {
  return {
    UserId: String(value.userId),
    OrgUnitId: String(value.orgUnitId),
    GradeObjectIdentifier: String(value.gradeObjectId),
    GradeObjectName: name,
    GradeObjectType: value.gradeObjectType,
    PointsNumerator: value.pointsNumerator ?? null,
    PointsDenominator: maxPoints,
    Pass: value.pass,
    Value: value.value,
    Text: value.text,
    LastModified: value.lastModified,
    Comments: richTextOut(value.comments),
    PrivateComments: richTextOut(value.privateComments),
  };
}
