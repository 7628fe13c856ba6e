import * as z from 'zod';
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

/** A schedule without an input sends an event about itself. */
const schedule = z.looseObject({ 'detail-type': z.string() });

/** @throws Error that names what is wrong with the event. */
export const requestIn = (event: unknown): ReconcileRequest => {
  const asked = reconcileRequest.safeParse(schedule.safeParse(event).success ? {} : (event ?? {}));
  if (asked.success) return asked.data;
  throw new Error(`The event is not valid: ${z.prettifyError(asked.error)}`);
};
