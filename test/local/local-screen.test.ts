import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createLocalScreen } from './local-screen.ts';
import type { StackDescription } from './stack.ts';

const url = 'http://127.0.0.1:40001';
const stack = {
  ...{ platform: url, sqs: url, s3: url, secretsManager: url, dynamodb: url, lambda: url },
} as StackDescription;

const opened = (columns = 100) => {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns });
  const screen = createLocalScreen(stream as unknown as NodeJS.WriteStream);
  return { screen, shown: () => stripVTControlCharacters(`${stream.read() ?? ''}`) };
};
const told = { messageId: 'm-1', eventId: 'e-1', function: 'grade-push' };
const line = (facts: object) => JSON.stringify({ level: 'INFO', ...told, ...facts });

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

test('each message has a line, and why, where the platform’s answer does not tell; how to go on is said once', () => {
  const { screen, shown } = opened();
  const operation = 'PUT /grades/1';
  screen.log('grade-push', line({ outcome: 'done', operation, status: 200 }));
  screen.log('grade-push', line({ outcome: 'waiting', waitSeconds: 4, reason: 'it must wait' }));
  for (const eventId of ['e-2', 'e-3'])
    screen.log(
      'grade-push',
      line({ outcome: 'parked', eventId, status: 404, operation, reason: 'not said' }),
    );
  const messages = [{ messageId: 'm-8' }, { messageId: 'm-9', eventId: 'e-9' }];
  screen.log(
    'grade-push',
    JSON.stringify({ outcome: 'done', function: 'grade-push', messages, messageId: undefined }),
  );
  const text = shown();
  expect(text).toMatch(/^\d\d:\d\d:\d\d {2}done +e-1\n +grade-push · PUT \/grades\/1 → 200$/m);
  expect(text).toMatch(/^\d\d:\d\d:\d\d {2}waits 4 s +e-1\n.*\n +it must wait$/m);
  expect(text).not.toContain('not said');
  expect(text.match(/letters groups --local/g)).toHaveLength(1);
  for (const id of ['m-8', 'e-9']) expect(text).toMatch(new RegExp(`done +${id}$`, 'm'));
});

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
