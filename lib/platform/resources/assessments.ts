import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';

export const getAssessment = reading({
  name: 'read-assessment',
  method: 'GET',
  component: 'le',
  path: '/{orgUnitId}/assessment',
  query: ['assessmentType', 'objectType', 'objectId', 'rubricId', 'userId'],
  scope: 'core:*:*',
  repeatable: true,
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
