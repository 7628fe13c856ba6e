import * as z from 'zod';
import { platformId } from '../message.ts';

/** What a university says about its exports: `snapshot-settings.json` in the bucket. */
export const settingsKey = 'snapshot-settings.json';

export const snapshotSettings = z.strictObject({
  /** The column of classes.csv that has the codes of the platform’s org units. */
  orgUnitCode: z.string().min(1).default('classCode'),
  user: z
    .strictObject({
      /** By which of the platform’s names users are known. */
      field: z.enum(['userName', 'orgDefinedId']),
      /** The column of users.csv that has it. */
      column: z.string().min(1),
    })
    .default({ field: 'userName', column: 'username' }),
  /** The platform’s ids of roles, by the words of enrollments.csv. */
  roles: z.record(z.string(), platformId).default({}),
  /**
   * To which functions an import may send: a mapping may name no other. Whoever drops a file acts with their rights, without
   * approval, so those that sign as a learner or change secrets are not among them by default.
   */
  functions: z
    .array(z.string())
    .default([
      'enrollment-create',
      'enrollment-remove',
      'grade-object-create',
      'grade-object-update',
      'grade-push',
    ]),
  /** More removals of any kind wait for a person. */
  maxRemovalsPercent: z.number().min(0).max(100).default(5),
  /** The same of what is there already and gets another role, grade, title or maximum. */
  maxChangesPercent: z.number().min(0).max(100).default(20),
});

export type SnapshotSettings = z.output<typeof snapshotSettings>;
