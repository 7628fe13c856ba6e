import * as z from 'zod';
import { requestFrom } from '../../runtime/jobs/job-request.ts';
import { runId } from './record.ts';

const reconcileRequest = z.strictObject({
  /** Checks every write in the ledger, not only those whose turn it is. */
  whole: z.boolean().default(false),
  /** The id of the run, so that the caller finds its report; default: a new one. */
  id: runId.optional(),
  /** Compares nothing: sends again what `reconcile/resends/<id>.json` names. */
  resend: runId.optional(),
});

export type ReconcileRequest = z.infer<typeof reconcileRequest>;

/** @throws Error that names what is wrong with the event. */
export const requestIn = (event: unknown): ReconcileRequest => requestFrom(reconcileRequest, event).request;
