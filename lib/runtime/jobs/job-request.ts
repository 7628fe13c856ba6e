import * as z from 'zod';

/** A schedule without an input sends an event about itself. */
const schedule = z.looseObject({ 'detail-type': z.string() });

/**
 * The part of an event that is a job's request; empty for a schedule or no event. @throws Error that names what is wrong with the
 * event.
 */
export const requestFrom = <Request>(
  schema: z.ZodType<Request>,
  event: unknown,
): { request: Request; isScheduled: boolean } => {
  const isScheduled = schedule.safeParse(event).success;
  const asked = schema.safeParse(isScheduled ? {} : (event ?? {}));
  if (asked.success) return { request: asked.data, isScheduled };
  throw new Error(`The event is not valid: ${z.prettifyError(asked.error)}`);
};
