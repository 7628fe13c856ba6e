import { expect, test } from 'vitest';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import { filledView, heldView } from '../../../../lib/options/crosswalk-fill/desk/view.ts';
import { quietTerminal } from '../../../lib/desk/cli/typed.ts';

test('several kinds of names that are held for one reason are told once, with the age and the command', () => {
  const held = ['userName', 'orgDefinedId'].map((kind) => ({
    of: `${kind}/file`,
    problem: 'crosswalk/users.csv is empty',
    sinceMs: Date.now() - 40 * 60_000 - 100,
  }));
  expect(linesOf(heldView(held), { ...quietTerminal, width: 1_000 })).toEqual([
    'The crosswalk keeps what it had, for 40 min: crosswalk/users.csv is empty',
    '→ Correct the source: the next fill takes it.',
    'To take it at once: sis-relay crosswalk fill',
  ]);
});

test('what a fill read is told, and what lies beside it and is not read', () => {
  const message = 'The crosswalk is filled from the platform’s list of org units, crosswalk/org-units.csv.';
  const linesFor = (unread: string[], more: { withoutUsers?: true } = {}) =>
    linesOf(filledView({ outcome: 'filled', message, unread, ...more }), { ...quietTerminal, width: 1_000 });
  expect(linesFor([])).toEqual([`✓ ${message}`]);
  // Whoever fills it for the name of a user must hear that it has none.
  expect(linesFor([], { withoutUsers: true })).toEqual([
    `✓ ${message}`,
    'It learned no names of users: there is no crosswalk/users.csv, and it did not read classlists',
    'To read them from the classlists of all courses: sis-relay crosswalk fill --classlists',
  ]);
  expect(linesFor(['crosswalk/Users.csv', 'crosswalk/a\u0007b'])).toEqual([
    `✓ ${message}`,
    'Not read: crosswalk/Users.csv, crosswalk/a b. The names of the files that are read are crosswalk/users.csv and crosswalk/org-units.csv',
  ]);
});
