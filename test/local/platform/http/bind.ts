import * as z from 'zod';
import { bindingError } from './refusal.ts';

export const id = z.int().positive();
/** `yyyy-MM-ddTHH:mm:ss.fffZ`: the platform takes no date without milliseconds. */
export const date = z.iso.datetime({ precision: 3 });
export const record = z.record(z.string(), z.unknown());

/** Turns a parsed JSON value into a typed one, or refuses with a JSON Binding Error that names the place. */
export function bind<Shape extends z.ZodType>(shape: Shape, value: unknown): z.output<Shape> {
  const { success, data, error } = shape.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const where = issue?.path.join('.') || 'the body';
  const what = issue?.code === 'invalid_type' ? `must be ${issue.expected}` : `is wrong: ${issue?.message}`;
  throw bindingError(`${where} ${what}`);
}
