import { expect, test } from 'vitest';
import type { WaitingGroup } from '../../../../lib/desk/messages/waiting/waiting.ts';
import { remarksOn, waitingGroupTable, wakeCommands } from '../../../../lib/desk/views/waiting.ts';

const group = (kind: string, more: Partial<WaitingGroup> = {}): WaitingGroup => ({
  function: 'grade-push',
  kind,
  error: 'An older message about the same was sent',
  remedy: '',
  messages: 1,
  due: 0,
  unknown: 0,
  oldestMs: Date.now(),
  lastMs: Date.now(),
  nextMs: Date.now() + 60_000,
  attempts: 1,
  ...more,
});

test.each([
  ['the platform refuses the credential', group('credentials'), true],
  ['an older message has its turn', group('busy'), false],
  ['all of them are due already', group('credentials', { nextMs: undefined, due: 1 }), false],
])('to wake what waits is offered only where that can help: %s', (_, waiting, isOffered) => {
  expect(wakeCommands([waiting])).toHaveLength(isOffered ? 1 : 0);
  expect(JSON.stringify(waitingGroupTable([waiting])).includes('"/wake"')).toBe(isOffered);
});

test('of one message it is told as of one', () => {
  const remarks = (count: number) => remarksOn([group('busy', { due: count, unknown: count })]).join(' ');
  expect(remarks(1)).toMatch(
    /^1 message is due: the function has it, .* others before it, .* or it ended .* trace it with/,
  );
  expect(remarks(2)).toMatch(
    /^2 messages are due: the function has them, .* or they ended .* trace one of them/,
  );
});
