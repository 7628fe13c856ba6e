import * as z from 'zod';

/** What is to be filled: org units and files always. */
const fillRequest = z.strictObject({
  /** User names by the classlists of all courses, too, where there is no file of users. */
  classlists: z.boolean().default(false),
  /** A person has looked: names are removed and stand for other ids as the sources say, however many. */
  acceptRemovals: z.boolean().default(false),
});

export type FillRequest = z.infer<typeof fillRequest> & {
  /** Then classlists are read once a night. */
  isScheduled: boolean;
};

/** A schedule without an input sends an event about itself. */
const schedule = z.looseObject({ 'detail-type': z.string() });

/** @throws Error that names what is wrong with the event. */
export const requestIn = (event: unknown): FillRequest => {
  const isScheduled = schedule.safeParse(event).success;
  const asked = fillRequest.safeParse(isScheduled ? {} : (event ?? {}));
  if (asked.success) return { ...asked.data, isScheduled };
  throw new Error(`The event is not valid: ${z.prettifyError(asked.error)}`);
};
