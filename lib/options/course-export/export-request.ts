import * as z from 'zod';
import { platformId } from '../../message/message.ts';
import { courseOffering } from '../../platform/resources/org-units.ts';
import { requestFrom } from '../../runtime/jobs/job-request.ts';
import { exportDetails } from './parts.ts';

const exportRequest = z
  .strictObject({
    /** Default: all org units of the type. */
    orgUnitIds: z
      .array(platformId)
      .min(1, 'must name at least one org unit, or be left out for all courses')
      .transform((ids) => [...new Set(ids)])
      .optional(),
    orgUnitType: platformId.default(courseOffering),
    /** By org unit. */
    details: z
      .record(z.string().regex(/^[1-9]\d*$/, 'must be the id of an org unit'), exportDetails)
      .default({}),
  })
  .refine(
    ({ orgUnitIds, details }) =>
      orgUnitIds === undefined || Object.keys(details).every((id) => orgUnitIds.includes(Number(id))),
    { path: ['details'], error: 'must be only about org units that orgUnitIds names' },
  );

export type ExportRequest = z.infer<typeof exportRequest>;

export type RequestedExport = { request: ExportRequest; isScheduled: boolean };

/** @throws Error that names what is wrong with the event. */
export const requestedIn = (event: unknown): RequestedExport => requestFrom(exportRequest, event);
