import * as z from 'zod';
import { requestFrom } from '../../durable/request.ts';

/** A fill always includes org units and files. */
const fillRequest = z.strictObject({
  /** Also fill user names from the classlists of all courses, if there is no file of users. */
  classlists: z.boolean().default(false),
  /** A person has looked: names are removed, or stand for other ids, as the sources state, however many. */
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
