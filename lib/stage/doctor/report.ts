import * as z from 'zod';
import { pausedBefore } from './pause.ts';

export const outcomes = ['as-expected', 'different', 'not-here', 'not-allowed', 'failed'] as const;

const tried = z.object({
  id: z.string(),
  is: z.enum(outcomes),
  expected: z.string(),
  saw: z.string(),
  seconds: z.number(),
});
export type StepReport = z.infer<typeof tried>;

/** What a run leaves behind: it names no account, no person and nothing of a message. */
export const doctorReport = z.object({
  doctor: z.literal(1),
  run: z.string(),
  stage: z.string(),
  /** False: emulators answered, which is no evidence. */
  isAws: z.boolean(),
  region: z.string().optional(),
  /** Of the command, and of what is deployed. */
  version: z.string(),
  deployed: z.string().optional(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime(),
  steps: z.array(tried),
  /** What could not be removed. */
  left: z.array(z.string()),
  pausedBefore: pausedBefore.optional(),
});
export type DoctorReport = z.infer<typeof doctorReport>;

/** Without the number of an account, and without who is signed in. */
export const masked = (text: string): string =>
  text
    .replace(/(?<!\d)\d{12}(?!\d)/g, '<account>')
    .replace(/\b(assumed-role|federated-user|user)\/[^\s"',]+/g, '$1/<who>');
