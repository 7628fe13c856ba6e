import * as z from 'zod';
import type { Grade } from '../platform/resources/grades.ts';

const cannotClear = 'the platform cannot clear a grade';
const otherThan = (expected: string, input: unknown): string => {
  if (input === undefined) return cannotClear;
  return input === null ? `must not be null: ${cannotClear}` : `must be ${expected}`;
};
const unless = (expected: string) => ({
  error: ({ input }: { input?: unknown }) => otherThan(expected, input),
});
const types = 'numeric, pass-fail, selectbox or text';

/** A grade as a message gives it, by its type, converted to the platform's form. 0 is a grade, null is not. */
export const grade = z.discriminatedUnion(
  'type',
  [
    z
      .strictObject({ type: z.literal('numeric'), points: z.number(unless('a number')) })
      .transform(({ points }): Grade => ({ GradeObjectType: 1, PointsNumerator: points })),
    z
      .strictObject({ type: z.literal('pass-fail'), pass: z.boolean(unless('true or false')) })
      .transform(({ pass }): Grade => ({ GradeObjectType: 2, Pass: pass })),
    z
      .strictObject({
        type: z.literal('selectbox'),
        value: z.string(unless('text')).min(1, 'must not be empty'),
      })
      .transform(({ value }): Grade => ({ GradeObjectType: 3, Value: value })),
    z
      .strictObject({ type: z.literal('text'), text: z.string(unless('text')) })
      .transform(({ text }): Grade => ({ GradeObjectType: 4, Text: text })),
  ],
  {
    // An object lacks a known type: the issue is reported for that field.
    error: ({ code, input }) =>
      code === 'invalid_union' ? `must be ${types}` : otherThan(`an object whose type is ${types}`, input),
  },
);
