import { json } from '../http/answer.ts';
import {
  boolean,
  type Check,
  id,
  nullable,
  number,
  object,
  oneOf,
  optional,
  or,
  string,
} from '../http/bind.ts';
import { badRequest, bindingError, internalServerError, notFound } from '../http/refusal.ts';
import { richTextIn, richTextOut } from '../rich-text.ts';
import { type Call, route } from '../route.ts';
import { emptyComment, type GradeObject, type State } from '../state.ts';

const gradeTypes = ['Numeric', 'PassFail', 'SelectBox', 'Text'] as const;
const collection = '{orgUnitId}/grades/';
const item = '{orgUnitId}/grades/{gradeObjectId}';

export const gradeObjectRoutes = [
  route({
    method: 'GET',
    component: 'le',
    path: collection,
    scope: 'grades:gradeobjects:read',
    permission: 'SeeGradeObjects',
    handle: ({ ids, state }) =>
      json(
        state.tables.gradeObjects.where('orgUnitId', ids.orgUnitId).map((one) => gradeObjectOut(one, state)),
      ),
  }),

  route({
    method: 'GET',
    component: 'le',
    path: item,
    scope: 'grades:gradeobjects:read',
    permission: 'SeeGradeObjects',
    handle: (call) => json(gradeObjectOut(gradeObjectOf(call), call.state)),
  }),

  route({
    method: 'POST',
    component: 'le',
    path: collection,
    scope: 'grades:gradeobjects:write',
    permission: 'ManageGradeObjects',
    async handle({ ids, state, json: body }) {
      const gradeObject = gradeObjectIn(await body());
      const { orgUnitId } = ids;
      return json(
        gradeObjectOut(
          state.tables.gradeObjects.put({ gradeObjectId: state.nextId(), orgUnitId, ...gradeObject }),
          state,
        ),
      );
    },
  }),

  route({
    method: 'PUT',
    component: 'le',
    path: item,
    scope: 'grades:gradeobjects:write',
    permission: 'ManageGradeObjects',
    async handle(call) {
      const { gradeObjectId, orgUnitId, gradeObjectType } = gradeObjectOf(call);
      const gradeObject = gradeObjectIn(await call.json());
      if (gradeObject.gradeObjectType !== gradeObjectType) throw badRequest('GradeType cannot be changed');
      // The whole of it: what is left out is as in a creation that leaves it out.
      const { gradeObjects } = call.state.tables;
      return json(gradeObjectOut(gradeObjects.put({ gradeObjectId, orgUnitId, ...gradeObject }), call.state));
    },
  }),
];

function gradeObjectOf({ ids, state }: Call<'orgUnitId' | 'gradeObjectId'>): GradeObject {
  const gradeObject = state.tables.gradeObjects.get(ids.gradeObjectId);
  if (gradeObject?.orgUnitId !== ids.orgUnitId) throw notFound('Grade object');
  return gradeObject;
}

const name: Check<string> = (value, where) => {
  const given = string(value, where);
  if (given.trim() === '' || given.length > 128) throw bindingError(`${where} must have 1 to 128 characters`);
  if (/[/"*<>+=|,%]/.test(given)) throw bindingError(`${where} must have none of / " * < > + = | , %`);
  return given;
};

const settings = object({
  CategoryId: optional(nullable(id)),
  CanExceedMaxPoints: optional(nullable(boolean)),
  IsBonus: optional(boolean),
  ExcludeFromFinalGradeCalculation: optional(boolean),
  GradeSchemeId: optional(nullable(id)),
  ScoreDenominator: optional(nullable(number)),
});

const gradeObjectBody = object({
  Name: name,
  ShortName: or(nullable(string), null),
  GradeType: oneOf(...gradeTypes),
  MaxPoints: or(nullable(number), null),
  Description: or(nullable(richTextIn), null),
  AssociatedTool: (value) => value ?? null,
});

function gradeObjectIn(body: unknown): Omit<GradeObject, 'gradeObjectId' | 'orgUnitId'> {
  const { Name, ShortName, GradeType, MaxPoints, Description, AssociatedTool } = gradeObjectBody(body, '');
  if (GradeType === 'Numeric' && MaxPoints === null) throw bindingError('MaxPoints must be a number');
  const given = settings(body, '');
  if (GradeType !== 'Numeric' && (given.CanExceedMaxPoints ?? null) !== null)
    throw bindingError('CanExceedMaxPoints is of Numeric alone');
  if (GradeType === 'SelectBox' && (given.GradeSchemeId ?? null) === null)
    throw bindingError('GradeSchemeId must be a positive integer');
  if (AssociatedTool !== null) throw internalServerError('An unexpected error occurred');
  return {
    name: Name,
    shortName: ShortName ?? '',
    gradeObjectType: (gradeTypes.indexOf(GradeType) + 1) as GradeObject['gradeObjectType'],
    maxPoints: MaxPoints,
    description: Description ?? emptyComment,
    settings: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
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

function gradeObjectOut(
  { gradeObjectId, name, shortName, gradeObjectType, ...rest }: GradeObject,
  { tables }: State,
) {
  const folder = tables.folders
    .where('orgUnitId', rest.orgUnitId)
    .find((one) => one.gradeItemId === gradeObjectId);
  return {
    Id: gradeObjectId,
    Name: name,
    ShortName: shortName,
    GradeType: gradeTypes[gradeObjectType - 1],
    CategoryId: null,
    MaxPoints: rest.maxPoints,
    Description: richTextOut(rest.description),
    AssociatedTool: folder ? { ToolId: dropboxToolId, ToolItemId: folder.folderId } : null,
    ...unset[gradeObjectType],
    ...rest.settings,
  };
}
