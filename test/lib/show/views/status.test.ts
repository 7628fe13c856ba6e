import { expect, test } from 'vitest';
import type { ConnectionReport } from '../../../../lib/operate/stage/connection/check.ts';
import { connectionNotes, pausedText, problemNotes } from '../../../../lib/show/views/status.ts';

const report = (more: Partial<ConnectionReport>): ConnectionReport => ({
  ...{ platform: 'https://lms.example.edu', reachable: true, credentialAccepted: true },
  ...{ changes: { refused: 'no' }, waitingFor: undefined, clockSkewSeconds: 1, budget: undefined },
  versions: [{ component: 'lp', version: '1.50', supported: true }],
  ...{ authorizationDays: undefined, scopes: undefined, problems: [], ...more },
});

test('a connection that is well has three notes, all good', () => {
  expect(connectionNotes(report({}))).toEqual([
    { tone: 'good', text: 'The platform answers: https://lms.example.edu' },
    { tone: 'good', text: 'It accepts the service’s credential, and has not refused it for a change lately' },
    { tone: 'good', text: 'Versions in use: lp 1.50' },
  ]);
});

test('what is not well comes with what to do, and without control characters', () => {
  const refused = report({
    ...{ reachable: false, credentialAccepted: undefined, changes: undefined },
    ...{ clockSkewSeconds: -12, authorizationDays: -1 },
    problems: [{ what: 'Refused\u001B[31m', remedy: 'Rotate\u0007it' }],
  });
  const told = [...connectionNotes(refused), ...problemNotes(refused)];
  expect(told.map(({ tone, text }) => `${tone}: ${text}`)).toEqual([
    'bad: The platform does not answer: https://lms.example.edu',
    'unknown: It is not known whether it accepts the service’s credential',
    'good: Versions in use: lp 1.50',
    'plain: Its clock is 12 s behind ours',
    'plain: A person must authorize again in 0 days',
    'bad: Refused',
    'todo: Rotate it',
  ]);
});

test('a platform that was not asked is one note', () => {
  expect(connectionNotes(undefined)).toMatchObject([{ tone: 'plain' }]);
});

test('who has paused a function, and why, is printed without control characters', () => {
  const paused = {
    function: 'grade-push',
    state: 'Disabled',
    sinceMs: 0,
    who: 'jane',
    reason: 'a\u0007b',
  };
  expect(pausedText(paused)).toBe('grade-push is paused (Disabled) since 1970-01-01 00:00 UTC by jane: a b');
});
