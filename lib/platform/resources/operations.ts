import type { Operation } from '../client/operation.ts';
import { getAssessment } from './assessments.ts';
import { getClasslist, getClasslistPages } from './classlists.ts';
import {
  getConfigurationValues,
  getConfigurationVariable,
  putConfigurationValue,
} from './configuration-variables.ts';
import { getTopicFile, postTopic, putTopicFile } from './content.ts';
import { getCourseImage } from './courses.ts';
import { getDemographicsDataTypes, postDemographicsField } from './demographics.ts';
import { getDropboxFolder, putDropboxFolder } from './dropbox-folders.ts';
import { getEPortfolioObject, postEPortfolioObject, putEPortfolioObject } from './e-portfolio.ts';
import { deleteEnrollment, getMyEnrollments, postEnrollment } from './enrollments.ts';
import { getGradeObject, getGradeObjects, postGradeObject, putGradeObject } from './grade-objects.ts';
import { getGradeValue, putGradeValue } from './grades.ts';
import { getGroups } from './groups.ts';
import { putLtiLink } from './lti-links.ts';
import { postNewsItem } from './news.ts';
import { deleteParent, getOrgUnit, getOrgUnits, postParent } from './org-units.ts';
import { getQuizAttempts } from './quiz-attempts.ts';
import { getMySubmissions, postMySubmission } from './submissions.ts';
import { getUserAttributes, putUserAttributes } from './user-attributes.ts';
import { getProfileImage, getWhoAmI, postProfileImage } from './users.ts';
import { getVersions } from './versions.ts';

/** Every operation of the platform that can be called: for lists of them, and to find misspelt names in the settings. */
export const operations: readonly Operation<unknown>[] = [
  getCourseImage,
  postGradeObject,
  getGradeObjects,
  getGradeObject,
  putGradeObject,
  putGradeValue,
  getGradeValue,
  getOrgUnit,
  getOrgUnits,
  postParent,
  deleteParent,
  getTopicFile,
  putTopicFile,
  postTopic,
  getAssessment,
  putLtiLink,
  getMyEnrollments,
  postEnrollment,
  deleteEnrollment,
  getClasslist,
  getClasslistPages,
  getGroups,
  getMySubmissions,
  postMySubmission,
  getDropboxFolder,
  putDropboxFolder,
  postNewsItem,
  getDemographicsDataTypes,
  postDemographicsField,
  getUserAttributes,
  putUserAttributes,
  getConfigurationVariable,
  getConfigurationValues,
  putConfigurationValue,
  getProfileImage,
  postProfileImage,
  getQuizAttempts,
  postEPortfolioObject,
  getEPortfolioObject,
  putEPortfolioObject,
  getVersions,
  getWhoAmI,
];

/** Calls that the platform is known to refuse, with the reason. */
export const refusedOperations = [
  {
    name: 'delete-grade-value',
    method: 'DELETE',
    component: 'le',
    path: '/{orgUnitId}/grades/{gradeObjectId}/values/{userId}',
    reason: 'the platform answers 405 Method Not Allowed',
  },
] as const;
