import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';
import { itemsOf, pageOf } from './paging.ts';

export const getAssessment = reading({
  name: 'read-assessment',
  call: 'GET /le/{orgUnitId}/assessment',
  query: ['assessmentType', 'objectType', 'objectId', 'rubricId', 'userId'],
  scope: 'core:*:*',
  answer: z.union([z.looseObject({}), z.array(z.unknown()), z.null()]),
});

export type AssessmentQuery = {
  assessmentType: string;
  objectType: string;
  objectId: number;
  rubricId: number;
  userId: number;
};

/** The assessment of a user's work. Its shape is the platform's own. */
export const readAssessment = (platform: Platform, orgUnitId: number, query: AssessmentQuery) =>
  platform.call(getAssessment, {
    path: { orgUnitId },
    query: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value ?? '')])),
  });

const quizAttempt = z.looseObject({
  AttemptId: z.number(),
  QuizId: z.number(),
  UserId: z.number(),
  AttemptNumber: z.number(),
  Score: z.number().nullish(),
  Started: z.string().nullish(),
  Completed: z.string().nullish(),
});

export const getQuizAttempts = reading({
  name: 'list-quiz-attempts',
  call: 'GET /le/{orgUnitId}/quizzes/{quizId}/attempts/',
  scope: 'quizzing:attempts:read',
  answer: pageOf(quizAttempt),
});

/** The attempts at a quiz; a score of null is an attempt that is not scored yet. */
export const listQuizAttempts = (platform: Platform, ids: { orgUnitId: number; quizId: number }) =>
  itemsOf(platform, getQuizAttempts, { path: ids });
