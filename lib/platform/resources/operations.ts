import type { Operation } from '../client/operation.ts';
import * as assessments from './assessments.ts';
import * as classlists from './classlists.ts';
import * as configurationVariables from './configuration-variables.ts';
import * as content from './content.ts';
import * as dropboxFolders from './dropbox-folders.ts';
import * as ePortfolio from './e-portfolio.ts';
import * as enrollments from './enrollments.ts';
import * as gradeObjects from './grade-objects.ts';
import * as grades from './grades.ts';
import * as ltiLinks from './lti-links.ts';
import * as news from './news.ts';
import * as orgUnits from './org-units.ts';
import * as submissions from './submissions.ts';
import * as userAttributes from './user-attributes.ts';
import * as users from './users.ts';
import * as versions from './versions.ts';

const families: object[] = [
  assessments,
  classlists,
  configurationVariables,
  content,
  dropboxFolders,
  ePortfolio,
  enrollments,
  gradeObjects,
  grades,
  ltiLinks,
  news,
  orgUnits,
  submissions,
  userAttributes,
  users,
  versions,
];

const isOperation = (each: unknown): each is Operation<unknown> =>
  typeof each === 'object' && each !== null && 'repeatable' in each;

/** Every operation of the platform that can be called: for lists of them, and to find misspelt names in the settings. */
export const operations: readonly Operation<unknown>[] = families.flatMap((family) =>
  Object.values(family).filter(isOperation),
);

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
