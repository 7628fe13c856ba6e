import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { StackDescription } from '../stack.ts';
import { createLocalScreen } from './local-screen.ts';

const url = 'http://127.0.0.1:40001';
const stack = {
  platform: url,
  sqs: url,
  s3: url,
  secretsManager: url,
  dynamodb: url,
  lambda: url,
} as StackDescription;

const opened = (columns = 100) => {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns });
  const screen = createLocalScreen(stream as unknown as NodeJS.WriteStream);
  return { screen, shown: () => stripVTControlCharacters(`${stream.read() ?? ''}`) };
};
const message = { messageId: 'm-1', eventId: 'e-1', function: 'grade-push' };
const line = (facts: object) => JSON.stringify({ level: 'INFO', ...message, ...facts });

test.each([60, 80, 120])(
  'on a terminal of %i columns, every line but what is to be typed fits',
  (columns) => {
    const { screen, shown } = opened(columns);
    screen.up(stack, { functions: true });
    screen.log(
      'grade-push',
      line({ outcome: 'parked', kind: 'invalid', reason: 'a long reason '.repeat(12) }),
    );
    screen.stopping();
    const lines = shown().split('\n');
    expect(lines.filter((each) => each.length > columns && !each.includes('npx sis-relay'))).toEqual([]);
  },
);

test('of other lines only trouble is shown, in words, and controls nobody’s terminal', () => {
  const { screen, shown } = opened();
  shown();
  screen.log('grade-push', '{"_aws":{},"Messages":1}');
  screen.log('connection-check', '{"level":"INFO","message":"the connection works"}');
  expect(shown()).toBe('');
  const problems = [{ what: 'The key was refused', remedy: 'Rotate it.' }];
  screen.log('connection-check', JSON.stringify({ level: 'ERROR', message: 'it has problems', problems }));
  screen.log('grade-push', 'SyntaxError: \u001b[2Junexpected');
  screen.trouble('a batch failed');
  expect(shown()).toMatch(
    /^connection-check: it has problems: The key was refused\ngrade-push: SyntaxError: .*unexpected\na batch failed\n$/,
  );
});
