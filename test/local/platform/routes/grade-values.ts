import { json, ok } from '../http/answer.ts';
import { boolean, number, object, oneOf, or, string } from '../http/bind.ts';
import { bindingError, notFound } from '../http/refusal.ts';
import { commentIn, richTextOut } from '../rich-text.ts';
import { type Call, ownPath, route } from '../route.ts';
import { emptyComment, type GradeObject, type GradeValue } from '../state.ts';

const path = '{orgUnitId}/grades/{gradeObjectId}/values/{userId}';
type ValueCall = Call<'orgUnitId' | 'gradeObjectId' | 'userId'>;

export const gradeValueRoutes = [
  route({
    method: 'GET',
    component: 'le',
    path,
    scope: 'grades:gradevalues:read',
    permission: 'SeeGradeValues',
    own: ownPath,
    handle(call) {
      const gradeObject = gradeObjectOf(call);
      const value = call.state.tables.gradeValues.get(call.ids.gradeObjectId, call.ids.userId);
      if (value === undefined) throw notFound('Grade value');
      return json(valueOut(value, gradeObject));
    },
  }),

  route({
    method: 'PUT',
    component: 'le',
    path,
    scope: 'grades:gradevalues:write',
    permission: 'EditGradeValues',
    async handle(call) {
      const { gradeObjectType } = gradeObjectOf(call);
      const { orgUnitId, gradeObjectId, userId } = call.ids;
      const { gradeValues } = call.state.tables;
      const body = await call.json();
      const grade = gradeIn(body, gradeObjectType);
      // The whole value is replaced: a comment that the body leaves out is gone.
      const comments = object({
        Comments: or(commentIn, emptyComment),
        PrivateComments: or(commentIn, emptyComment),
      });
      const { Comments, PrivateComments } = comments(body, '');
      gradeValues.put({
        ...{ orgUnitId, gradeObjectId, userId, gradeObjectType },
        ...grade,
        comments: Comments,
        privateComments: PrivateComments,
        writes: (gradeValues.get(gradeObjectId, userId)?.writes ?? 0) + 1,
        lastModified: call.world.nowIso(),
      });
      return ok;
    },
  }),
];

function gradeObjectOf({ ids, state: { tables } }: ValueCall): GradeObject {
  const gradeObject = tables.gradeObjects.get(ids.gradeObjectId);
  if (gradeObject?.orgUnitId !== ids.orgUnitId) throw notFound('Grade object');
  if (tables.users.get(ids.userId) === undefined) throw notFound('User');
  return gradeObject;
}

type Grade = Pick<GradeValue, 'pointsNumerator' | 'pass' | 'value' | 'text'>;

function gradeIn(body: unknown, expected: GradeObject['gradeObjectType']): Grade {
  const { GradeObjectType } = object({ GradeObjectType: oneOf(1, 2, 3, 4) })(body, '');
  if (GradeObjectType !== expected)
    throw bindingError(`GradeObjectType must be ${expected} for this grade object`);
  switch (GradeObjectType) {
    case 1:
      return { pointsNumerator: object({ PointsNumerator: number })(body, '').PointsNumerator };
    case 2:
      return { pass: object({ Pass: boolean })(body, '').Pass };
    case 3:
      return { value: object({ Value: string })(body, '').Value };
    case 4:
      return { text: object({ Text: string })(body, '').Text };
  }
}

function valueOut(value: GradeValue, { name, maxPoints }: GradeObject) {
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
