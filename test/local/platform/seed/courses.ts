import {
  boolean,
  type Check,
  exactly,
  id,
  list,
  nullable,
  number,
  oneOf,
  optional,
  or,
  record,
  string,
} from '../http/bind.ts';
import { type Comment, emptyComment } from '../state.ts';
import { fileFields, type Sower, sower, storeFile } from './sower.ts';

const comment: Check<Comment> = or(exactly({ content: string, type: oneOf('Text', 'Html') }), emptyComment);
const gradeObjectType = or(oneOf(1, 2, 3, 4), 1);
const longAgo = '2026-01-01T00:00:00.000Z';

/** What is inside a course. */
export const courseSowers: Record<string, Sower> = {
  gradeObjects: sower(
    exactly({
      gradeObjectId: id,
      orgUnitId: id,
      name: optional(string),
      shortName: or(string, ''),
      gradeObjectType,
      maxPoints: or(nullable(number), null),
      description: comment,
      settings: or(record, {}),
    }),
    ({ name, ...row }, { tables }) => {
      const maxPoints = row.maxPoints ?? (row.gradeObjectType === 1 ? 100 : null);
      tables.gradeObjects.put({ name: name ?? `Item ${row.gradeObjectId}`, ...row, maxPoints });
    },
  ),

  gradeValues: sower(
    exactly({
      orgUnitId: id,
      gradeObjectId: id,
      userId: id,
      gradeObjectType,
      pointsNumerator: optional(number),
      pass: optional(boolean),
      value: optional(string),
      text: optional(string),
      comments: comment,
      privateComments: comment,
      lastModified: or(string, longAgo),
    }),
    (row, { tables }) => tables.gradeValues.put({ ...row, writes: 0 }),
  ),

  folders: sower(
    exactly({
      folderId: id,
      orgUnitId: id,
      name: optional(string),
      gradeItemId: or(nullable(id), null),
      customInstructions: comment,
    }),
    ({ name, ...row }, { tables }) => tables.folders.put({ name: name ?? `Folder ${row.folderId}`, ...row }),
  ),

  modules: sower(exactly({ moduleId: id, orgUnitId: id, title: or(string, 'Module') }), (row, { tables }) =>
    tables.modules.put(row),
  ),

  topics: sower(
    exactly({
      topicId: id,
      orgUnitId: id,
      moduleId: id,
      title: or(string, 'Topic'),
      url: or(nullable(string), null),
      file: or(nullable(exactly(fileFields)), null),
    }),
    (row, state) =>
      state.tables.topics.put({
        ...{
          ...row,
          shortTitle: '',
          isHidden: false,
          isLocked: false,
          startDate: null,
          endDate: null,
          dueDate: null,
        },
        topicType: row.file === null ? 3 : 1,
        file: row.file && storeFile(state, row.file),
        writes: 0,
      }),
  ),

  ltiLinks: sower(exactly({ linkId: id, orgUnitId: id, fields: or(record, {}) }), (row, { tables }) =>
    tables.ltiLinks.put({ ...row, writes: 0 }),
  ),

  assessments: sower(
    exactly({
      ...{
        orgUnitId: id,
        assessmentType: string,
        objectType: string,
        objectId: id,
        rubricId: id,
        userId: id,
      },
      assessment: record,
    }),
    (row, { tables }) => tables.assessments.put(row),
  ),

  groupCategories: sower(
    exactly({ groupCategoryId: id, orgUnitId: id, name: or(string, 'Groups') }),
    (row, { tables }) => tables.groupCategories.put(row),
  ),

  groups: sower(
    exactly({ groupId: id, groupCategoryId: id, name: optional(string), userIds: or(list(id), []) }),
    ({ name, ...row }, { tables }) => tables.groups.put({ name: name ?? `Group ${row.groupId}`, ...row }),
  ),

  quizzes: sower(exactly({ quizId: id, orgUnitId: id, name: or(string, 'Quiz') }), (row, { tables }) =>
    tables.quizzes.put(row),
  ),

  quizAttempts: sower(
    exactly({
      attemptId: id,
      quizId: id,
      userId: id,
      attemptNumber: or(id, 1),
      score: or(nullable(number), null),
      started: or(string, longAgo),
      completed: or(nullable(string), null),
    }),
    (row, { tables }) => tables.quizAttempts.put(row),
  ),
};
