import type { StepSandbox } from './sandbox.ts';

/** What a step saw. `not-here`: this stage, or what runs it, cannot show it; then `saw` is the reason. */
export type Seen = { is: 'as-expected' | 'different' | 'not-here'; saw: string };

/** Something that the code takes for granted of AWS, and how to try it on a deployed stage. */
export type Step = {
  id: string;
  /** A function without which it cannot be shown. */
  needs?: string;
  claim: string;
  /** Beginnings of sentences that documents mark with † for this claim. */
  marked?: readonly string[];
  does: string;
  /** The alarms of the stage that it sets off. */
  alarms?: readonly string[];
  costs: string;
  minutes: number;
  expected: string;
  /** What IAM must allow to whoever runs it, clean-up included. */
  rights: readonly string[];
  try(corner: StepSandbox): Promise<Seen>;
};

export const seen = (isExpected: boolean, saw: string): Seen => ({
  is: isExpected ? 'as-expected' : 'different',
  saw,
});

export const notHere = (why: string): Seen => ({ is: 'not-here', saw: why });
