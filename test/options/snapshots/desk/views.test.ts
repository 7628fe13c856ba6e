import { expect, test } from 'vitest';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import type { ShownSnapshot } from '../../../../lib/options/snapshots/desk/read.ts';
import { snapshotView } from '../../../../lib/options/snapshots/desk/views/snapshots.ts';
import { quietTerminal } from '../../../lib/desk/cli/typed.ts';
import { newStage } from '../oracle/stage.ts';
import { recordOf } from './waiting-import.ts';

const shownOf = (changes: Partial<ShownSnapshot>): string[] => {
  const shown = { ...recordOf(), removed: [], isAccepted: false, refusedRows: [], report: undefined };
  return linesOf(snapshotView({ ...shown, ...changes }), { ...quietTerminal, width: 1_000 });
};

test('what a table of changes removes is told as a number, with the number from which on a person decides', async () => {
  const { put, bucket, crosswalk } = newStage({ maxRemovalsPercent: 5 });
  const data = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
  const removed = { function: 'enrollment-remove', when: { ACTION: ['DROP'] }, data };
  const message = {
    function: 'enrollment-create',
    when: { ACTION: ['ADD'] },
    data: { ...data, roleId: { value: 110 } },
    key: ['COURSE', 'LOGIN'],
    removed,
  };
  bucket.write('snapshot-mapping.json', JSON.stringify({ mode: 'delta', messages: [message] }));
  const names = Array.from({ length: 23 }, (_, at) => `n${at}`);
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', Object.fromEntries(names.map((name, at) => [name, 200 + at])));
  const table = (action: string, some: string[]) =>
    ['ACTION,COURSE,LOGIN', ...some.map((name) => `${action},BIO,${name}`), ''].join('\n');
  await put('c.csv', table('ADD', names));
  const { removals, reasons } = await put('c.csv', table('DROP', names.slice(0, 9)));
  expect(reasons).toEqual([]);
  expect(shownOf({ removals })).toContain(
    'Removals: 9 of 23 enrollments (39.1 %). In a table of changes, a person decides from 10 on, if they are more than 5 %.',
  );
});
