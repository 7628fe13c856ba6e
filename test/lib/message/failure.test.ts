import { expect, test } from 'vitest';
import { InvalidMessage, problemsText } from '../../../lib/message/failure.ts';
import { safe } from '../../../lib/message/safe-text.ts';

const problems = [
  { field: safe`data.userId`, problem: safe`is missing` },
  { problem: safe`the body is not JSON` },
  { field: safe`time`, problem: safe`must be a time` },
];
const text = 'data.userId: is missing; the body is not JSON; time: must be a time';

test('problems are told by their fields, or of the whole message', () => {
  expect(problemsText(problems)).toBe(text);
  expect(problemsText(problems.slice(0, 1))).toBe('data.userId: is missing');
  expect(problemsText([])).toBe('');
});

test('a failure tells the same, and keeps them', () => {
  const failure = new InvalidMessage(problems);
  expect(failure.message).toBe(`The message is not valid: ${text}`);
  expect(failure.problems).toBe(problems);
});
