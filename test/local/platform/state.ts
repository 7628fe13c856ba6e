import type { Content } from './http/answer.ts';
import { table } from './table.ts';

export type Role = { roleId: number; name: string; permissions: string[] };
export type OrgUnit = { orgUnitId: number; name: string; code: string; typeId: number; parents: number[] };
export type User = {
  userId: number;
  userName: string;
  firstName: string;
  lastName: string;
  email: string;
  orgDefinedId: string | null;
  hidesUserName: boolean;
  hidesEmail: boolean;
};
export type Enrollment = { orgUnitId: number; userId: number; roleId: number; writes: number };
export type GradeObject = {
  gradeObjectId: number;
  orgUnitId: number;
  name: string;
  shortName: string;
  gradeObjectType: 1 | 2 | 3 | 4;
  maxPoints: number | null;
  description: Comment;
  settings: Record<string, unknown>;
};
export type Comment = { content: string; type: 'Text' | 'Html' };
export type GradeValue = {
  orgUnitId: number;
  gradeObjectId: number;
  userId: number;
  gradeObjectType: 1 | 2 | 3 | 4;
  pointsNumerator?: number | undefined;
  pass?: boolean | undefined;
  value?: string | undefined;
  text?: string | undefined;
  comments: Comment;
  privateComments: Comment;
  writes: number;
  lastModified: string;
};
export type Folder = {
  folderId: number;
  orgUnitId: number;
  name: string;
  gradeItemId: number | null;
  customInstructions: Comment;
};
export type StoredFile = { name: string; contentType: string; bytes: number; sha256: string };
export type Submission = {
  submissionId: number;
  orgUnitId: number;
  folderId: number;
  userId: number;
  comment: string;
  submittedAt: string;
  files: StoredFile[];
};
type CourseImage = StoredFile & { orgUnitId: number };
export type Module = { moduleId: number; orgUnitId: number; title: string };
export type Topic = {
  topicId: number;
  orgUnitId: number;
  moduleId: number;
  title: string;
  shortTitle: string;
  topicType: 1 | 3;
  url: string | null;
  isHidden: boolean;
  isLocked: boolean;
  startDate: string | null;
  endDate: string | null;
  dueDate: string | null;
  file: StoredFile | null;
  writes: number;
};
/** `fields` are those of the last update, under the names that it used. */
export type LtiLink = { linkId: number; orgUnitId: number; fields: Record<string, unknown>; writes: number };
type NewsItem = {
  newsItemId: number;
  orgUnitId: number;
  fields: Record<string, unknown>;
  attachments: StoredFile[];
};
export type Assessment = {
  orgUnitId: number;
  assessmentType: string;
  objectType: string;
  objectId: number;
  rubricId: number;
  userId: number;
  assessment: Record<string, unknown>;
};
type GroupCategory = { groupCategoryId: number; orgUnitId: number; name: string };
export type Group = { groupId: number; groupCategoryId: number; name: string; userIds: number[] };
export type Quiz = { quizId: number; orgUnitId: number; name: string };
export type QuizAttempt = {
  attemptId: number;
  quizId: number;
  userId: number;
  attemptNumber: number;
  score: number | null;
  started: string;
  completed: string | null;
};
type DemographicsDataType = { dataTypeId: string; name: string };
type DemographicsField = { fieldId: number; name: string; description: string; dataTypeId: string };
type UserAttributes = {
  userId: number;
  attributes: { attributeId: string; value: string[] }[];
  writes: number;
};
export type ConfigurationVariable = {
  configId: string;
  name: string;
  scope: string;
  description: string;
  dataType: string;
  defaultValue: string;
  canEditSystemValue: boolean;
  orgValue: unknown;
  writes: number;
};
export type EPortfolioObject = {
  objectId: number;
  userId: number;
  object: Record<string, unknown>;
  writes: number;
};
type ProfileImage = StoredFile & { userId: number; writes: number };

export const emptyComment: Comment = { content: '', type: 'Text' };

/** All that the platform holds. `contents` has the bytes of files that can be read back, by their sha256. */
export function emptyState() {
  let lastId = 1_000_000;
  return {
    nextId: () => ++lastId,
    userKeys: new Map<number, string>(),
    /** By the id under which they sign, where that is another than the user's own. */
    keyIds: new Map<string, number>(),
    contents: new Map<string, Content>(),
    tables: {
      roles: table<Role>(['roleId']),
      orgUnits: table<OrgUnit>(['orgUnitId'], ['typeId']),
      users: table<User>(['userId']),
      enrollments: table<Enrollment>(['orgUnitId', 'userId'], ['orgUnitId', 'userId']),
      gradeObjects: table<GradeObject>(['gradeObjectId'], ['orgUnitId']),
      gradeValues: table<GradeValue>(['gradeObjectId', 'userId']),
      folders: table<Folder>(['folderId'], ['orgUnitId']),
      submissions: table<Submission>(['submissionId'], ['folderId']),
      profileImages: table<ProfileImage>(['userId']),
      courseImages: table<CourseImage>(['orgUnitId']),
      modules: table<Module>(['moduleId']),
      topics: table<Topic>(['topicId']),
      ltiLinks: table<LtiLink>(['linkId']),
      newsItems: table<NewsItem>(['newsItemId']),
      assessments: table<Assessment>([
        'orgUnitId',
        'assessmentType',
        'objectType',
        'objectId',
        'rubricId',
        'userId',
      ]),
      groupCategories: table<GroupCategory>(['groupCategoryId']),
      groups: table<Group>(['groupId'], ['groupCategoryId']),
      quizzes: table<Quiz>(['quizId']),
      quizAttempts: table<QuizAttempt>(['attemptId'], ['quizId']),
      demographicsDataTypes: table<DemographicsDataType>(['dataTypeId']),
      demographicsFields: table<DemographicsField>(['fieldId']),
      userAttributes: table<UserAttributes>(['userId']),
      configurationVariables: table<ConfigurationVariable>(['configId']),
      ePortfolioObjects: table<EPortfolioObject>(['objectId']),
    },
  };
}

export type State = ReturnType<typeof emptyState>;
