import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';
import { itemsOf, pageOf } from './paging.ts';

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
  method: 'GET',
  component: 'le',
  path: '/{orgUnitId}/quizzes/{quizId}/attempts/',
  scope: 'quizzing:attempts:read',
  repeatable: true,
  answer: pageOf(quizAttempt),
});

/** The attempts at a quiz; a score of null is an attempt that is not scored yet. */
export const listQuizAttempts = (platform: Platform, ids: { orgUnitId: number; quizId: number }) =>
  itemsOf(platform, getQuizAttempts, { path: ids });
