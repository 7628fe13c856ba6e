import * as z from 'zod';
import { requestFrom } from '../../delivery/durable/request.ts';
import { runId } from './record.ts';

const reconcileRequest = z.strictObject({
  /** Every write that the ledger knows is looked at, and not those alone whose turn it is. */
  whole: z.boolean().default(false),
  /** The id of the run, so that whoever asks finds its report; default: it makes one. */
  id: runId.optional(),
  /** Nothing is compared: what `reconcile/resends/<id>.json` names is sent again. */
  resend: runId.optional(),
});

export type ReconcileRequest = z.infer<typeof reconcileRequest>;

/** @throws Error that names what is wrong with the event. */
export const requestIn = (event: unknown): ReconcileRequest => requestFrom(reconcileRequest, event).request;
