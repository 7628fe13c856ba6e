import * as z from 'zod';
import { requestFrom } from '../../durable/request.ts';

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

/** @throws Error that names what is wrong with the event. */
export const requestIn = (event: unknown): FillRequest => {
  const { request, isScheduled } = requestFrom(fillRequest, event);
  return { ...request, isScheduled };
};
