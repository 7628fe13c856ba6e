import * as z from 'zod';
import type { Grade } from '../../../platform/resources/grades.ts';
import { longTextWith, shortTextWith } from './text.ts';

const cannotClear = 'the platform cannot clear a grade';
const otherThan = (expected: string, input: unknown): string => {
  if (input === undefined) return cannotClear;
  return input === null ? `must not be null: ${cannotClear}` : `must be ${expected}`;
};
const unless = (expected: string) => ({
  error: ({ input }: { input?: unknown }) => otherThan(expected, input),
});
const types = 'numeric, pass-fail, selectbox or text';

type GivenGrade = {
  value: Grade;
  /** The maximum of its points, if the message gives it. */
  outOf?: number | undefined;
};

const outOf = 'The maximum of the points. While the grade object has another maximum, the message waits.';

/** A grade in a message, by its type, converted to the platform's form. 0 is a grade, null is not. */
export const grade = z.discriminatedUnion(
  'type',
  [
    z
      .strictObject({
        type: z.literal('numeric'),
        points: z.number(unless('a number')),
        outOf: z.exactOptional(z.number().positive('must be more than 0')).describe(outOf),
      })
      .transform(
        ({ points, outOf }): GivenGrade => ({
          value: { GradeObjectType: 1, PointsNumerator: points },
          outOf,
        }),
      ),
    z
      .strictObject({ type: z.literal('pass-fail'), pass: z.boolean(unless('true or false')) })
      .transform(({ pass }): GivenGrade => ({ value: { GradeObjectType: 2, Pass: pass } })),
    z
      .strictObject({
        type: z.literal('selectbox'),
        value: shortTextWith(unless('text')).min(1, 'must not be empty'),
      })
      .transform(({ value }): GivenGrade => ({ value: { GradeObjectType: 3, Value: value } })),
    z
      .strictObject({ type: z.literal('text'), text: longTextWith(unless('text')) })
      .transform(({ text }): GivenGrade => ({ value: { GradeObjectType: 4, Text: text } })),
  ],
  {
    // An object lacks a known type: the issue is reported for that field.
    error: ({ code, input }) =>
      code === 'invalid_union' ? `must be ${types}` : otherThan(`an object whose type is ${types}`, input),
  },
);
