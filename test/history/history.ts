import fc from 'fast-check';

/** What the SIS sends, and what is special about it. */
export type Plan = {
  /** Which of two resources on the platform it changes. */
  thing: number;
  /** Of enrollments: it removes one. Of grade objects: it renames what another creates. */
  removes: boolean;
  /** Of grades: which comments it gives beside the grade. Of grade objects: it gives a grade, by the name of what another creates. */
  comments: boolean;
  privateComments: boolean;
  /** When the SIS says it happened: several at the same time are ordered by their sequence, then by their id. */
  minute: number;
  sequence?: string | undefined;
  /** The platform refuses it for good, until somebody corrects it. */
  wrong: boolean;
  /** The function dies of it each time, until somebody mends the function. */
  deadly: boolean;
};

/**
 * What becomes of something that a container does to the outside: of a call, a write, a letter. `cut`, `lost` and `late`
 * are without an answer: it never happened, it has, it will. `twice` is sent again by a client whose answer got lost.
 */
export type PlayedOutcome = (typeof outcomes)[number];
const outcomes = [
  'well',
  'refused',
  'cut',
  'lost',
  'late',
  'twice',
  'crash before',
  'crash after',
  'crash late',
] as const;

export type Step =
  | { do: 'send'; message: number }
  /** SQS may hand out what is in flight, and what is deleted, once more. */
  | {
      do: 'deliver';
      container: number;
      from: number;
      count: number;
      again: 'never' | 'in flight' | 'deleted';
    }
  | { do: 'go on'; pick: number; outcome: PlayedOutcome }
  | { do: 'pass'; seconds: number }
  | { do: 'kill'; container: number }
  /** A person changes the platform by hand. */
  | { do: 'change'; thing: number }
  | { do: 'replay'; pick: number; corrected: boolean }
  /** By SQS itself, as anybody may ask it to: nobody has read the letter. */
  | { do: 'redrive'; pick: number }
  /** A person throws a letter away, and the SIS sends its message again. */
  | { do: 'discard'; pick: number }
  /** The SIS sends what was done once more, and gives it another time. */
  | { do: 'send anew'; message: number; minutes: number }
  /** What the platform shows of a thing stays for so long as it is. */
  | { do: 'cache'; thing: number; seconds: number }
  /** The platform has a thing as it was before the last change. */
  | { do: 'restore'; thing: number };

export type History = {
  family: 'enrollments' | 'grades' | 'submissions' | 'objects';
  messages: Plan[];
  /** The platform renames files, and the learner has handed in one of the same size: nobody can tell them apart for certain. */
  lookalike: boolean;
  /** Of what is left to chance. */
  seed: number;
  steps: Step[];
};

export const containers = 4;
const most = { messages: 5, steps: 150 };

const often = <const Value>(weight: number, value: Value) => ({ weight, arbitrary: fc.constant(value) });
const only = <const Value>(value: Value) => fc.constant(value);
const rarely = (percent: number) => fc.oneof(often(100 - percent, false), often(percent, true));

const plan: fc.Arbitrary<Plan> = fc.record({
  thing: fc.nat({ max: 1 }),
  removes: rarely(40),
  comments: fc.boolean(),
  privateComments: fc.boolean(),
  minute: fc.nat({ max: 2 }),
  sequence: fc.constantFrom(undefined, undefined, '9', '10'),
  wrong: rarely(15),
  deadly: rarely(5),
});

const misfortune = fc.constantFrom(...outcomes.slice(1));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: only('send'), message: fc.nat({ max: most.messages - 1 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: only('deliver'),
      container: fc.nat({ max: containers - 1 }),
      from: fc.nat({ max: 3 }),
      count: fc.integer({ min: 1, max: 4 }),
      again: fc.oneof(often(8, 'never'), often(1, 'in flight'), often(1, 'deleted')),
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      do: only('go on'),
      pick: fc.nat({ max: 5 }),
      outcome: fc.oneof(often(5, 'well'), { weight: 2, arbitrary: misfortune }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: only('pass'),
      seconds: fc.oneof(often(3, 12), often(3, 62), often(4, 130), often(4, 400), often(1, 90_000)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: only('kill'), container: fc.nat({ max: containers - 1 }) }) },
  { weight: 1, arbitrary: fc.record({ do: only('change'), thing: fc.nat({ max: 1 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: only('replay'), pick: fc.nat({ max: 2 }), corrected: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: only('redrive'), pick: fc.nat({ max: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ do: only('discard'), pick: fc.nat({ max: 2 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: only('send anew'),
      message: fc.nat({ max: most.messages - 1 }),
      minutes: fc.integer({ min: 3, max: 20 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: only('cache'),
      thing: fc.nat({ max: 1 }),
      seconds: fc.constantFrom(30, 300, 3_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: only('restore'), thing: fc.nat({ max: 1 }) }) },
);

/** What can happen, in every order. */
export const histories: fc.Arbitrary<History> = fc.record({
  family: fc.constantFrom('enrollments', 'grades', 'submissions', 'objects'),
  messages: fc.array(plan, { minLength: 1, maxLength: most.messages, size: 'max' }),
  lookalike: rarely(25),
  seed: fc.nat({ max: 1_000 }),
  steps: fc.array(step, { maxLength: most.steps, size: 'max' }),
});
