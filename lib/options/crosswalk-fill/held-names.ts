import * as z from 'zod';
import { filledFolder } from '../../crosswalk/moved.ts';

const heldNames = z.object({
  held: z.array(z.object({ of: z.string(), problem: z.string(), sinceMs: z.number() })),
});

/** Names that stay as they were until a person has looked: an object in the bucket, by kind and source, as in `userName/file`. */
export type HeldNames = z.infer<typeof heldNames>;

export const heldKey = `${filledFolder}held.json`;

/** Empty if the object does not exist yet. */
export const heldIn = (json: unknown): HeldNames => heldNames.safeParse(json).data ?? { held: [] };
