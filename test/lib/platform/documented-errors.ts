import type { Failure } from '../../../lib/message/failure.ts';
import { filePart, jsonPart, multipart } from '../../../lib/platform/client/multipart.ts';
import type { Operation } from '../../../lib/platform/client/operation.ts';
import type { RefusedCall } from '../../../lib/platform/client/platform-error.ts';
import type { CallInput } from '../../../lib/platform/client/request.ts';
import { getAssessment } from '../../../lib/platform/resources/assessments.ts';
import { postTopic } from '../../../lib/platform/resources/content.ts';
import { postEnrollment } from '../../../lib/platform/resources/enrollments.ts';
import { postGradeObject, putGradeObject } from '../../../lib/platform/resources/grade-objects.ts';
import { putGradeValue } from '../../../lib/platform/resources/grades.ts';
import { putLtiLink } from '../../../lib/platform/resources/lti-links.ts';
import { operations, refusedOperations } from '../../../lib/platform/resources/operations.ts';
import { postDemographicsField } from '../../../lib/platform/resources/user-attributes.ts';
import { routes } from '../../local/platform/api.ts';
import { matcher, type Route } from '../../local/platform/route.ts';
import { fileOf } from './local-client.ts';

/** An error that the local platform answers with and the client parses: what it is called with, by whom, and what comes of it. */
export type ErrorRow = {
  condition: string;
  operation: Operation<unknown>;
  input: CallInput;
  /** Signed by this user, or with this key, or by a token of these scopes, or in a role that may do this; default: the service. */
  as?: { userId: number } | { userKey: string } | { scopes: string[] } | { permissions: string[] };
  refused: Partial<RefusedCall> & { status: number; title: string };
  kind: Failure['kind'];
};

const course = { orgUnitId: 2001 };
const gradeValue = { ...course, gradeObjectId: 5001, userId: 301 };

// There is no such call in the client: the platform's answer to it is the reason.
const [{ reason: _, ...refusedOperation }] = refusedOperations;
const deleteGradeValue: Operation<undefined> = {
  ...refusedOperation,
  scope: undefined,
  repeatable: true,
  answer: 'acknowledged',
};

const binding = {
  status: 400,
  type: 'json-binding-error',
  title: 'JSON Binding Error',
} as const;
const serverError = { status: 500, title: 'Internal Server Error' };

/** Section 7 of the specification, one row each, but for the token entry path, which is no operation. */
export const documentedErrors: ErrorRow[] = [
  {
    condition: 'the body of a grade object cannot be bound',
    operation: postGradeObject,
    input: { path: course, json: { Name: 'x', GradeType: 'Numeric', MaxPoints: 'ten' } },
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'the body of an update of a grade object cannot be bound',
    operation: putGradeObject,
    input: { path: { ...course, gradeObjectId: 5001 }, json: { Name: 'x', GradeType: 'Numeric' } },
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'a file topic goes to another place than the files of its org unit',
    operation: postTopic,
    input: {
      path: { ...course, moduleId: 8001 },
      payload: async () =>
        multipart('mixed', [
          jsonPart({ Title: 'x', ShortTitle: '', Type: 1, TopicType: 1, Url: '/x', IsHidden: false }),
          filePart({ name: '', ...fileOf('x', { fileName: 'x.txt' }) }),
        ]),
    },
    refused: { status: 400, form: 'error', title: 'Errors' },
    kind: 'rejected',
  },
  {
    condition: 'a grade value is null',
    operation: putGradeValue,
    input: { path: gradeValue, json: { GradeObjectType: 1, PointsNumerator: null } },
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'the body of an LTI link lacks a field',
    operation: putLtiLink,
    input: { path: { linkId: 9001 }, json: { Title: 'x' } },
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'the body of a topic cannot be bound',
    operation: postTopic,
    input: { path: { ...course, moduleId: 8001 }, json: { Title: 7 } },
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'a query parameter of the assessment is wrong',
    operation: getAssessment,
    input: {
      path: course,
      query: {
        assessmentType: 'Rubric',
        objectType: 'Dropbox',
        objectId: '7001',
        rubricId: 'none',
        userId: '301',
      },
    },
    refused: { status: 400, type: 'invalid-parameters', title: 'Invalid Parameters' },
    kind: 'rejected',
  },
  {
    condition: 'a query parameter of the assessment is missing',
    operation: { ...getAssessment, query: [] },
    input: { path: course, query: { assessmentType: 'Rubric' } },
    refused: { status: 400, type: 'invalid-parameters', title: 'Invalid Parameters' },
    kind: 'rejected',
  },
  {
    condition: 'the token lacks the scope of an enrollment',
    operation: postEnrollment,
    input: { json: { OrgUnitId: 2001, UserId: 303, RoleId: 110 } },
    as: { scopes: ['enrollment:orgunit:read'] },
    refused: {
      status: 403,
      type: 'not-authorized',
      title: 'Not Authorized',
      detail: 'Insufficient scope to call API. Required: enrollment:orgunit:create',
      missing: 'scope',
      required: 'enrollment:orgunit:create',
    },
    kind: 'missing-scope',
  },
  {
    condition: 'the caller’s role lacks the permission to grade',
    operation: putGradeValue,
    input: { path: gradeValue, json: { GradeObjectType: 1, PointsNumerator: 1 } },
    as: { userId: 302 },
    refused: { status: 403, title: 'Forbidden', missing: 'permission', required: 'EditGradeValues' },
    kind: 'missing-permission',
  },
  {
    condition: 'a POST is signed with an invalid token',
    operation: postEnrollment,
    input: { json: { OrgUnitId: 2001, UserId: 303, RoleId: 110 } },
    as: { userKey: 'rotated' },
    refused: { status: 403, title: 'Invalid token' },
    kind: 'credentials',
  },
  {
    condition: 'a grade value is deleted',
    operation: deleteGradeValue,
    input: { path: gradeValue },
    refused: { status: 405, type: 'method-not-allowed', title: 'Method Not Allowed' },
    kind: 'rejected',
  },
  {
    condition: 'a grade object is created with AssociatedTool',
    operation: postGradeObject,
    input: {
      path: course,
      json: { Name: 'x', GradeType: 'Text', AssociatedTool: { ToolId: 2000, ToolItemId: 7001 } },
    },
    refused: serverError,
    kind: 'uncertain',
  },
  {
    condition: 'a demographics field is created',
    operation: postDemographicsField,
    input: { json: { Name: 'x', Description: 'y', DataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01' } },
    refused: serverError,
    kind: 'uncertain',
  },
];

/** Of the local platform's seed, for the placeholders of any path. */
const ids: CallInput['path'] = {
  ...gradeValue,
  parentOrgUnitId: 1101,
  folderId: 7001,
  moduleId: 8001,
  topicId: 8101,
  linkId: 9001,
  groupCategoryId: 9101,
  quizId: 9201,
  objectId: 9501,
  variableId: 'grades.decimals',
};

const assessment = { assessmentType: 'Rubric', objectType: 'Dropbox', objectId: '7001', rubricId: '9301' };
const inputOf = (called: Operation<unknown>): CallInput => ({
  path: ids,
  ...(called === postEnrollment ? { json: { OrgUnitId: 2001, UserId: 303, RoleId: 110 } } : {}),
  ...(called === getAssessment ? { query: { ...assessment, userId: '301' } } : {}),
});

/** What the local platform answers to an operation with; undefined where that is beside its API. */
export const routeOf = ({ method, component, path }: Operation<unknown>): Route | undefined => {
  const concrete = path.replace(/\{\w+\}/g, '1');
  return routes.find((route) => route.method === method && matcher(route)(`${component}/1.0${concrete}`));
};

/** What any operation is refused with, wherever the local platform asks for the right that is missing. */
export const refusalsEverywhere: ErrorRow[] = operations.flatMap((called): ErrorRow[] => {
  const { scope, permission } = routeOf(called) ?? { scope: null, permission: null };
  const { name } = called;
  const row = { operation: called, input: inputOf(called) };
  const status = 403;
  return [
    scope !== null && {
      ...row,
      condition: `the token lacks the scope of ${name}`,
      as: { scopes: [] },
      // As the client declares it, which knows nothing of the local platform's.
      refused: { status, title: 'Not Authorized', missing: 'scope' as const, required: called.scope },
      kind: 'missing-scope' as const,
    },
    permission !== null && {
      ...row,
      condition: `the caller’s role lacks the permission of ${name}`,
      as: { permissions: [] },
      refused: { status, title: 'Forbidden', missing: 'permission' as const, required: permission },
      kind: 'missing-permission' as const,
    },
    !called.anonymous && {
      ...row,
      condition: `${name} is signed with an invalid token`,
      as: { userKey: 'rotated' },
      refused: { status, title: 'Invalid token' },
      kind: 'credentials' as const,
    },
  ].filter((each) => each !== false);
});
