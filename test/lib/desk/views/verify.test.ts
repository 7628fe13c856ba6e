import { expect, test } from 'vitest';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import type { RevealedLetter } from '../../../../lib/desk/messages/verify/compare.ts';
import { comparisonView } from '../../../../lib/desk/views/verify.ts';
import { quietTerminal } from '../cli/typed.ts';

test.each([
  [['7', 'x'], 'The platform holds what this message sets, so the letter can be discarded.'],
  [['', ''], 'Nothing is there. Unless it was removed on purpose, the letter can be sent.'],
  [['', undefined], 'Nothing is there. Unless it was removed on purpose, the letter can be sent.'],
  // What is not shown may be there, and a difference is a person's to judge.
  [[undefined, undefined], undefined],
  [['6', 'x'], undefined],
])('what the platform holds beside an outdated message says what follows: %j', (shown, follows) => {
  const fields = [
    { field: 'grade', sent: '7', shown: shown[0] },
    { field: 'comments', sent: 'x', shown: shown[1] },
  ];
  const comparison = { fields, sentAt: '2026-01-01T00:00:00Z', changedAt: undefined };
  const lines = linesOf(comparisonView({ comparison } as RevealedLetter), { ...quietTerminal, width: 200 });
  expect(lines.flatMap((line) => /(?:The platform holds|Nothing is there).*/.exec(line) ?? [])).toEqual(
    follows === undefined ? [] : [follows],
  );
});
