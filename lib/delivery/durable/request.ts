import * as z from 'zod';

/** A schedule without an input sends an event about itself. */
const schedule = z.looseObject({ 'detail-type': z.string() });

/** What an event asks a job for; a schedule and no event ask for nothing of it. @throws Error that names what is wrong with the event. */
export const requestFrom = <Request>(
  schema: z.ZodType<Request>,
  event: unknown,
): { request: Request; isScheduled: boolean } => {
  const isScheduled = schedule.safeParse(event).success;
  const asked = schema.safeParse(isScheduled ? {} : (event ?? {}));
  if (asked.success) return { request: asked.data, isScheduled };
  throw new Error(`The event is not valid: ${z.prettifyError(asked.error)}`);
};
