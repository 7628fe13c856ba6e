import * as z from 'zod';

/** One field of each sort: required or not, nullable or not, nested and listed. */
export const link = z.looseObject({
  Id: z.number(),
  Name: z.string().nullable(),
  Points: z.number().nullish(),
  IsOpen: z.boolean().optional(),
  Type: z.looseObject({ Id: z.number() }).optional(),
  Files: z.array(z.looseObject({ Size: z.number() })).nullish(),
});
