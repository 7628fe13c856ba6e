import { describe, expect, test } from 'vitest';
import { type Failure, failureOf } from '../../../lib/failure.ts';
import { authUrl, explainEntry } from '../../../lib/operator/auth-url.ts';
import { getAssessment } from '../../../lib/platform/assessments.ts';
import type { Credential } from '../../../lib/platform/auth.ts';
import { getTopicFile, postTopic } from '../../../lib/platform/content.ts';
import { postDemographicsField } from '../../../lib/platform/demographics.ts';
import { postEnrollment } from '../../../lib/platform/enrollments.ts';
import type { RefusedCall } from '../../../lib/platform/error.ts';
import { postGradeObject } from '../../../lib/platform/grade-objects.ts';
import { putGradeValue } from '../../../lib/platform/grades.ts';
import { putLtiLink } from '../../../lib/platform/lti-links.ts';
import { type Operation, operation } from '../../../lib/platform/operation.ts';
import type { CallInput } from '../../../lib/platform/request.ts';
import { keysOf, localPlatform } from './local-client.ts';
import { errorOf } from './servers.ts';

const local = localPlatform();

const course = { orgUnitId: 2001 };
const gradeValue = { ...course, gradeObjectId: 5001, userId: 301 };
const service = async (): Promise<Credential> => keysOf(100);

/** A token of the service user with these scopes. */
const token = (scopes: string[]) => async (): Promise<Credential> => {
  const client = { clientId: 'narrow', clientSecret: 'the-client-secret', userId: 100, scopes };
  await local.control('POST oauth/clients', client);
  const form = { grant_type: 'client_credentials', client_id: 'narrow', client_secret: client.clientSecret };
  const response = await fetch(local.tokenUrl(), { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: accessToken } = (await response.json()) as { access_token: string };
  const grant = 'client_credentials';
  return {
    type: 'oauth',
    grant,
    tokenUrl: local.tokenUrl(),
    clientId: 'narrow',
    clientSecret: 'x',
    accessToken,
  };
};

// There is no such call in the client: the platform's answer to it is the reason.
const deleteGradeValue = operation({
  ...putGradeValue,
  name: 'delete-grade-value',
  method: 'DELETE',
});

type ErrorRow = {
  condition: string;
  call: [Operation<unknown>, CallInput];
  as?: () => Promise<Credential>;
  refused: Partial<RefusedCall>;
  kind: Failure['kind'];
};

const binding = {
  status: 400,
  type: 'json-binding-error',
  title: 'JSON Binding Error',
  detail: expect.stringMatching(/^Provided JSON is invalid/),
} as const;
const serverError = { status: 500, title: 'Internal Server Error' };

/** Section 7 of the specification, one row each; what is no answer to an API call is below. */
const documented: ErrorRow[] = [
  {
    condition: 'the body of a grade object cannot be bound',
    call: [postGradeObject, { path: course, json: { Name: 'x', GradeType: 'Numeric', MaxPoints: 'ten' } }],
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'a grade value is null',
    call: [putGradeValue, { path: gradeValue, json: { GradeObjectType: 1, PointsNumerator: null } }],
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'the body of an LTI link lacks a field',
    call: [putLtiLink, { path: { linkId: 9001 }, json: { Title: 'x' } }],
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'the body of a topic cannot be bound',
    call: [postTopic, { path: { ...course, moduleId: 8001 }, json: { Title: 7 } }],
    refused: binding,
    kind: 'rejected',
  },
  {
    condition: 'a query parameter of the assessment is wrong',
    call: [
      getAssessment,
      {
        path: course,
        query: {
          assessmentType: 'Rubric',
          objectType: 'Dropbox',
          objectId: '7001',
          rubricId: 'none',
          userId: '301',
        },
      },
    ],
    refused: { status: 400, type: 'invalid-parameters', title: 'Invalid Parameters' },
    kind: 'rejected',
  },
  {
    condition: 'a query parameter of the assessment is missing',
    call: [
      { ...getAssessment, query: [] },
      { path: course, query: { assessmentType: 'Rubric' } },
    ],
    refused: { status: 400, type: 'invalid-parameters', title: 'Invalid Parameters' },
    kind: 'rejected',
  },
  {
    condition: 'the token lacks the scope of an enrollment',
    call: [postEnrollment, { json: { OrgUnitId: 2001, UserId: 303, RoleId: 110 } }],
    as: token(['enrollment:orgunit:read']),
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
    call: [putGradeValue, { path: gradeValue, json: { GradeObjectType: 1, PointsNumerator: 1 } }],
    as: async () => keysOf(302),
    refused: { status: 403, title: 'Forbidden', missing: 'permission', required: 'EditGradeValues' },
    kind: 'missing-permission',
  },
  {
    condition: 'a POST is signed with an invalid token',
    call: [postEnrollment, { json: { OrgUnitId: 2001, UserId: 303, RoleId: 110 } }],
    as: async () => ({ ...keysOf(100), userKey: 'rotated' }) as Credential,
    refused: { status: 403, title: 'Invalid token' },
    kind: 'credentials',
  },
  {
    condition: 'a grade value is deleted',
    call: [deleteGradeValue, { path: gradeValue }],
    refused: { status: 405, type: 'method-not-allowed', title: 'Method Not Allowed' },
    kind: 'rejected',
  },
  {
    condition: 'a grade object is created with AssociatedTool',
    call: [
      postGradeObject,
      {
        path: course,
        json: { Name: 'x', GradeType: 'Text', AssociatedTool: { ToolId: 2000, ToolItemId: 7001 } },
      },
    ],
    refused: serverError,
    kind: 'uncertain',
  },
  {
    condition: 'a demographics field is created',
    call: [
      postDemographicsField,
      { json: { Name: 'x', Description: 'y', DataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01' } },
    ],
    refused: serverError,
    kind: 'uncertain',
  },
];

test.each(documented)('$condition: $refused.status, and the message is $kind', async (row) => {
  const { platform } = local.as(await (row.as ?? service)());
  const error = await errorOf(platform.call(...row.call));
  expect(error.refused).toMatchObject(row.refused);
  expect(failureOf(error)).toMatchObject({ kind: row.kind, status: row.refused.status });
});

test('the token lacks the scope of a topic’s file: 403, and the message is missing-scope', async () => {
  const { platform } = local.as(await token([])());
  const path = { orgUnitId: 2001, topicId: 8101 };
  const error = await errorOf(platform.download(getTopicFile, { path }, async () => {}));
  expect(error.refused).toMatchObject({
    type: 'not-authorized',
    title: 'Not Authorized',
    detail: 'Insufficient scope to call API. Required: content:modules:read',
  });
  expect(failureOf(error)).toMatchObject({ kind: 'missing-scope', required: 'content:modules:read' });
});

describe('the token entry path', () => {
  test('answers 302 to the error page, which is a 404, and what may be wrong is explained', async () => {
    const callback = 'https://sis.example.edu/done';
    const app = { appId: 'unknown-app', appKey: 'any' };
    const entry = authUrl({ ...app, baseUrl: local.url(), apiRoot: '/svc/api', callback });
    const answer = await fetch(entry, { redirect: 'manual' });
    const location = answer.headers.get('location') ?? '';
    expect([answer.status, location]).toEqual([
      302,
      expect.stringMatching(/^\/svc\/error\/404\/log\?targetUrl=/),
    ]);
    const explained = explainEntry({ status: answer.status, location }, callback);
    expect(explained).toContain('error page');
    expect(explained).toContain('application id');
    const errorPage = await fetch(new URL(location, local.url()));
    expect([errorPage.status, errorPage.headers.get('content-type')]).toEqual([
      404,
      expect.stringContaining('html'),
    ]);
  });

  test('that an API call is sent to by a redirect is told as a redirect, and not followed', async () => {
    const then = { status: 302, headers: { Location: '/svc/error/404/log?targetUrl=%2Fx%3Fx_a%3D1' } };
    await local.control('POST faults', { match: { method: 'POST' }, then });
    const error = await errorOf(
      local.as(100).platform.call(postEnrollment, { json: { OrgUnitId: 2001, UserId: 303, RoleId: 110 } }),
    );
    expect(error.refused).toMatchObject({ status: 302, title: 'Redirect', detail: 'to /svc/error/404/log' });
    expect(failureOf(error).kind).toBe('rejected');
    expect(await local.requests()).toHaveLength(1);
  });
});
