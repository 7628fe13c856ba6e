import type { Context } from 'hono';
import { type Input, inputOf } from '../../operate/stage/input.ts';

/** A file of a form. Undefined: none was chosen, or it is empty. */
export const fileIn = async (context: Context, field: string): Promise<Input | undefined> => {
  const file = (await context.req.formData()).get(field);
  if (!(file instanceof File) || file.size === 0) return undefined;
  return inputOf(file.name, Buffer.from(await file.arrayBuffer()));
};
