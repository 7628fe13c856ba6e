import { everything, instructorPermissions, learnerPermissions } from './auth/permissions.ts';
import { organizationId } from './state.ts';

const administrator = 101;
const instructor = 109;
const learner = 110;

const base64 = (text: string) => Buffer.from(text).toString('base64');
const tinyPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A small site: one organization, two courses, a service user, an instructor and three learners. */
export const defaultSeed = {
  roles: [
    { roleId: administrator, name: 'Administrator', permissions: everything },
    { roleId: instructor, name: 'Instructor', permissions: instructorPermissions },
    { roleId: learner, name: 'Learner', permissions: learnerPermissions },
  ],
  orgUnits: [
    { orgUnitId: organizationId, name: 'Local University', code: 'LOCAL', typeId: 1, parents: [] },
    { orgUnitId: 1101, name: 'Sciences', code: 'SCI', typeId: 5 },
    { orgUnitId: 1102, name: 'Humanities', code: 'HUM', typeId: 5 },
    { orgUnitId: 2001, name: 'Introduction to Biology', code: 'BIO-101', typeId: 3, parents: [1101] },
    { orgUnitId: 2002, name: 'Medieval History', code: 'HIS-210', typeId: 3, parents: [1102] },
    { orgUnitId: 3001, name: 'Biology, Section A', code: 'BIO-101-A', typeId: 7, parents: [2001] },
  ],
  users: [
    { userId: 100, userName: 'sis.service', firstName: 'Service', lastName: 'Account' },
    { userId: 200, userName: 'ines.instructor', firstName: 'Ines', lastName: 'Structor' },
    { userId: 301, userName: 'lena.learner', firstName: 'Lena', lastName: 'Learner' },
    {
      userId: 302,
      userName: 'liam.learner',
      firstName: 'Liam',
      lastName: 'Learner',
      hidesUserName: true,
      hidesEmail: true,
    },
    { userId: 303, userName: 'nora.newcomer', firstName: 'Nora', lastName: 'Newcomer' },
  ],
  enrollments: [
    { orgUnitId: organizationId, userId: 100, roleId: administrator },
    // In this course the service user has less than what it inherits: a direct enrollment counts alone.
    { orgUnitId: 2002, userId: 100, roleId: learner },
    { orgUnitId: 2001, userId: 200, roleId: instructor },
    { orgUnitId: 2001, userId: 301, roleId: learner },
    { orgUnitId: 2001, userId: 302, roleId: learner },
  ],
  gradeObjects: [
    { gradeObjectId: 5001, orgUnitId: 2001, name: 'Midterm', gradeObjectType: 1, maxPoints: 10 },
    { gradeObjectId: 5002, orgUnitId: 2001, name: 'Field trip', gradeObjectType: 2 },
    {
      gradeObjectId: 5003,
      orgUnitId: 2001,
      name: 'Lab report',
      gradeObjectType: 3,
      settings: { GradeSchemeId: 4 },
    },
    { gradeObjectId: 5004, orgUnitId: 2001, name: 'Participation', gradeObjectType: 4 },
    { gradeObjectId: 5101, orgUnitId: 2002, name: 'Essay', gradeObjectType: 1, maxPoints: 100 },
  ],
  folders: [
    { folderId: 7001, orgUnitId: 2001, name: 'Lab report 1' },
    { folderId: 7002, orgUnitId: 2001, name: 'Lab report 2' },
  ],
  courseImages: [{ orgUnitId: 2001, name: 'banner.png', base64: tinyPng }],
  modules: [{ moduleId: 8001, orgUnitId: 2001, title: 'Week 1' }],
  topics: [
    {
      topicId: 8101,
      orgUnitId: 2001,
      moduleId: 8001,
      title: 'Syllabus',
      file: { name: 'syllabus.txt', contentType: 'text/plain', base64: base64('Read all of it.\n') },
    },
    { topicId: 8102, orgUnitId: 2001, moduleId: 8001, title: 'Reading', url: 'https://example.edu/reading' },
  ],
  ltiLinks: [
    { linkId: 9001, orgUnitId: 2001, fields: { Title: 'Virtual lab', Url: 'https://lab.example.edu/' } },
  ],
  groupCategories: [{ groupCategoryId: 9101, orgUnitId: 2001, name: 'Lab groups' }],
  groups: [
    { groupId: 9111, groupCategoryId: 9101, name: 'Bench 1', userIds: [301, 302] },
    { groupId: 9112, groupCategoryId: 9101, name: 'Bench 2' },
  ],
  quizzes: [{ quizId: 9201, orgUnitId: 2001, name: 'Cells' }],
  quizAttempts: [
    { attemptId: 9211, quizId: 9201, userId: 301, score: 7, completed: '2026-01-01T00:20:00.000Z' },
    { attemptId: 9212, quizId: 9201, userId: 301, attemptNumber: 2 },
    { attemptId: 9213, quizId: 9201, userId: 302, score: 0, completed: '2026-01-01T00:30:00.000Z' },
  ],
  assessments: [
    {
      orgUnitId: 2001,
      assessmentType: 'Rubric',
      objectType: 'Dropbox',
      objectId: 7001,
      rubricId: 9301,
      userId: 301,
      assessment: { OverallScore: 8, CriteriaOutcome: [{ CriterionId: 1, Score: 8 }] },
    },
  ],
  userAttributes: [{ userId: 301, attributes: [{ attributeId: 'pronouns', value: ['she', 'her'] }] }],
  demographicsDataTypes: [
    { dataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01', name: 'Text' },
    { dataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e02', name: 'Date' },
  ],
  configurationVariables: [
    {
      configId: 'grades.decimals',
      name: 'Decimals',
      description: 'Decimals shown',
      dataType: 'Integer',
      defaultValue: '2',
    },
  ],
  ePortfolioObjects: [
    {
      objectId: 9501,
      userId: 301,
      object: {
        Name: 'Field notes',
        Geotag: { Latitude: 43.47, Longitude: -80.54, Label: 'Pond' },
        Tags: [],
      },
    },
  ],
};

/** An OAuth client of the service user, allowed whatever the user's roles allow. */
export const defaultClient = { clientId: 'local-client', clientSecret: 'local-client-secret', userId: 100 };
