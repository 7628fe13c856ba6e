import { describe, expect, test } from 'vitest';
import { safe } from '../../../../lib/message/safe-text.ts';
import { logLine } from '../../../../lib/runtime/telemetry/log-facts.ts';

describe('a line', () => {
  const about = { level: 'info', atMs: 0, message: safe`told`, function: 'grade-push', error: undefined };
  const head = {
    level: 'INFO',
    timestamp: '1970-01-01T00:00:00.000Z',
    message: 'told',
    function: 'grade-push',
  };

  test('takes what is listed and of its type, and nothing else', () => {
    const given = {
      messageId: 'm',
      status: 200,
      durationMs: 1.26,
      count: Number.NaN,
      code: 7,
      reason: undefined,
      grade: 0,
    };
    expect(logLine(about, given)).toEqual({ ...head, messageId: 'm', status: 200, durationMs: 1.3 });
  });

  test('names no file, in its text or in a fact', () => {
    const line = logLine({ ...about, message: safe`‹jane.pdf› waits` }, { reason: 'no ‹jane.pdf›' });
    expect(line).toMatchObject({ message: 'a file waits', reason: 'no a file' });
  });

  test('keeps a zero and an empty text', () => {
    expect(logLine(about, { replays: 0, reason: '' })).toEqual({ ...head, replays: 0, reason: '' });
  });

  test.each([
    ['0f6c1a52', true],
    ['7F3C2A10-5b9e-4d0a-9c71-0c2f9a6b1e55', true],
    ['jane.doe', false],
    ['12345678', false],
    ['facade', false],
    ['0f6c1a52 jane', false],
    ['r-1', false],
  ])('tells a request id only if it has the form of one: %s', (requestId, isTold) => {
    expect(logLine(about, { requestId })).toEqual({ ...head, ...(isTold && { requestId }) });
  });
});
