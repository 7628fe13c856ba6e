import type { Parked } from './played.ts';

type Cause = Pick<Parked, 'function'> & { failure: NonNullable<Parked['failure']>; data?: object };

/** The failures of a bad weekend: fifteen causes, of ten functions' kinds. */
const causes: readonly Cause[] = [
  {
    failure: {
      kind: 'missing-scope',
      status: 403,
      title: 'Not Authorized',
      required: 'grades:gradevalues:write',
      detail: 'Insufficient scope to call API. Required: grades:gradevalues:write',
      message:
        'The platform answered PUT /svc/api/le/1.82/2001/grades/5001/values/301 with 403 Not Authorized',
      remedy: 'Grant the client the scope grades:gradevalues:write, then replay.',
    },
  },
  {
    function: 'enrollment-create',
    failure: {
      kind: 'missing-permission',
      status: 403,
      title: 'Forbidden',
      detail: 'Not authorized for [ orgUnitId: 2001, securityVariableName: EnrollUsers ]',
      message: 'The platform answered POST /svc/api/lp/1.51/enrollments/ with 403 Forbidden',
      remedy: 'Give the role of the service’s user the permission EnrollUsers, then replay.',
      operation: 'POST /svc/api/lp/1.51/enrollments/',
    },
  },
  {
    data: { gradeObjectId: 5999 },
    failure: {
      kind: 'rejected',
      status: 404,
      title: 'Not Found',
      detail: 'Grade object not found',
      message: 'The platform answered PUT /svc/api/le/1.82/2001/grades/5999/values/301 with 404 Not Found',
      remedy: 'Correct what the platform names, in the message or on the platform, then replay.',
    },
  },
  {
    failure: {
      kind: 'rejected',
      status: 400,
      title: 'Errors',
      detail: 'Locked until Monday',
      message: 'The platform answered PUT /svc/api/le/1.82/2001/grades/5001/values/301 with 400 Errors',
      remedy: 'Correct what the platform names, in the message or on the platform, then replay.',
    },
  },
  {
    data: { grade: null },
    failure: {
      kind: 'invalid',
      message: 'The message is not valid: data.grade: must be an object',
      remedy:
        'Have the producer correct the message and send it again, then discard this letter. Or edit and replay this letter.',
    },
  },
  {
    function: 'enrollment-create',
    data: { roleId: -1 },
    failure: {
      kind: 'invalid',
      message: 'The message is not valid: data.roleId: must be greater than 0',
      remedy:
        'Have the producer correct the message and send it again, then discard this letter. Or edit and replay this letter.',
    },
  },
  {
    function: 'submission-upload',
    failure: {
      kind: 'uncertain',
      message:
        'No answer came to POST /svc/api/le/1.82/2001/dropbox/folders/7001/submissions/mysubmissions/, so it is not known whether it was done',
      remedy: 'Look on the platform whether the submission is there, then discard or replay.',
      operation: 'POST /svc/api/le/1.82/2001/dropbox/folders/7001/submissions/mysubmissions/',
    },
  },
  {
    failure: {
      kind: 'outdated',
      message: 'The message is older than the ledger remembers, so something newer may have been done since',
      remedy: 'Check what the platform holds. If it is older or missing there, replay this letter.',
    },
  },
  {
    function: 'submission-upload',
    failure: {
      kind: 'missing-credential',
      message: 'The secret sis-relay/local/users/302 does not exist',
      remedy: 'Create the secret sis-relay/local/users/302 with the credential of that user, then replay.',
    },
  },
  {
    function: 'enrollment-remove',
    failure: {
      kind: 'ambiguous-id',
      message: 'The course code MATH-101 stands for 2 org units',
      remedy: 'Make the name unique on the platform or in the university’s files, then replay.',
    },
  },
  {
    function: 'enrollment-create',
    failure: {
      kind: 'unknown-id',
      message: 'No org unit with the code HIST-204 is known',
      remedy: 'Create what the message names on the platform, or correct the message.',
    },
  },
  {
    function: 'enrollment-remove',
    failure: {
      kind: 'defect',
      message: 'TypeError: Cannot read properties of undefined (reading ‘path’)',
      remedy:
        'This is a bug in sis-relay. Report it with the log of this message, deploy the fix, then replay.',
    },
  },
  {
    failure: {
      kind: 'intercepted',
      status: 200,
      title: 'a page',
      message: 'What answered PUT /svc/api/le/1.82/2001/grades/5001/values/301 is not the platform',
      remedy: 'Check what is between sis-relay and the platform (a proxy, a firewall, a login), then replay.',
    },
  },
  {
    failure: {
      kind: 'unavailable',
      status: 503,
      title: 'Service Unavailable',
      attempts: 31,
      message:
        'The platform answered PUT /svc/api/le/1.82/2001/grades/5001/values/301 with 503 Service Unavailable',
      remedy: 'Wait until the platform answers again, then replay.',
    },
  },
  {
    failure: {
      kind: 'throttled',
      status: 429,
      title: 'Too Many Requests',
      attempts: 40,
      message:
        'The platform answered PUT /svc/api/le/1.82/2001/grades/5001/values/301 with 429 Too Many Requests',
      remedy:
        'Do nothing: the schedule sends them again. If this happens often, set the parameter `callsPerMinute`.',
    },
  },
];

/** As many letters of each cause, each of another user. */
export const stormOf = (each: number): Parked[] =>
  causes.flatMap(({ data = {}, ...cause }, at) =>
    Array.from({ length: each }, (_, of) => ({
      ...cause,
      data: { ...data, userId: 10_000 * (at + 1) + of },
    })),
  );

export const causesOfStorm = causes.length;
