import { expect, test } from 'vitest';
import { discardLetters } from '../../../../../lib/operate/messages/archive/discard.ts';
import { readFlow } from '../../../../../lib/operate/messages/letters/flow.ts';
import { findLetters } from '../../../../../lib/operate/messages/letters/records.ts';
import { createAudit } from '../../../../../lib/operate/stage/audit.ts';
import { never, officesForTests } from '../../../show/cli/office.ts';

const offices = officesForTests();

test('letters that were dealt with have arrived all the same, and left when that was done', async () => {
  const office = await offices.open();
  const sinceMs = Date.now();
  await office.park([{ failure: { kind: 'invalid' } }, { failure: { kind: 'invalid' } }, {}]);
  const flow = async (fromMs = sinceMs) => {
    const { letters } = await findLetters(office.target, {}, never);
    const { arrived, left } = await readFlow(office.target, letters, { sinceMs: fromMs, signal: never });
    return [arrived.length, left.reduce((sum, { count }) => sum + count, 0)];
  };
  expect(await flow()).toEqual([3, 0]);
  await discardLetters(office.target, {
    ...{ filter: { kind: ['invalid'] }, reason: 'a test', dryRun: false, signal: never },
    ...{ audit: createAudit(office.target, () => {}), confirm: async () => true },
  });
  expect(await flow()).toEqual([3, 2]);
  // What was written before then has not arrived since.
  expect((await flow(Date.now() + 1))[0]).toBe(0);
});
