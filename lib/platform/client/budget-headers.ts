import type { AnswerFacts } from '../rate-limit/answered.ts';

type Headers = Record<string, string | string[] | undefined>;

const plainNumber = /^\s*\d+(\.\d+)?\s*$/;

/** The budget in an answer's headers; empty if they are invalid, such as a time of day for seconds. */
export const budgetIn = (headers: Headers): Pick<AnswerFacts, 'remaining' | 'resetSeconds' | 'cost'> => {
  const numberIn = (name: string, least: number, most: number): number | undefined => {
    const value = headers[name];
    const number = typeof value === 'string' && plainNumber.test(value) ? Number(value) : Number.NaN;
    return number >= least && number <= most ? number : undefined;
  };
  return {
    remaining: numberIn('x-rate-limit-remaining', 0, Number.MAX_SAFE_INTEGER),
    resetSeconds: numberIn('x-rate-limit-reset', 0, 3_600),
    cost: numberIn('x-request-cost', Number.MIN_VALUE, 1_000_000),
  };
};
