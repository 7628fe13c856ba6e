import { expect, test } from 'vitest';
import { discardLetters } from '../../../../../lib/operate/messages/archive/discard.ts';
import { messagesAbout } from '../../../../../lib/operate/messages/trace/by-subject.ts';
import { eventBody, never, officesForTests } from '../../../show/cli/office.ts';

const offices = officesForTests();

test('messages about a user or a course are told, ended ones too, the newest first', async () => {
  const office = await offices.open();
  const ids: string[] = [];
  for (const data of [
    { userId: 301 },
    { userId: 302 },
    { userId: 301, orgUnitId: 2002 },
    { userId: 3010 },
    { userId: 301 },
  ]) {
    ids.push(...(await office.park([{ body: eventBody('grade-push', data) }])));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const [first = '', second, third, , last] = ids;
  await discardLetters(office.target, {
    ...{ filter: { id: [first] }, reason: 'a test', dryRun: false, audit: office.audit, signal: never },
    confirm: async () => true,
  });
  const about = async (what: object, limit = 100) => {
    const { messages, isWhole } = await messagesAbout(office.target, what, { limit, signal: never });
    return [messages.map(({ message }) => message), isWhole];
  };
  // What was discarded just now was heard of last.
  expect(await about({ user: '301' })).toEqual([[first, last, third], true]);
  expect(await about({ user: '301', orgUnit: '2002' })).toEqual([[third], true]);
  expect(await about({ orgUnit: '2001', user: '302' })).toEqual([[second], true]);
  expect(await about({ orgUnit: '2001' }, 2)).toEqual([[first, last], false]);
  expect(await about({ user: '301' }, 3)).toEqual([[first, last, third], true]);
  expect(await about({ user: '999' })).toEqual([[], true]);
  const [discarded] = (await messagesAbout(office.target, { user: '301' }, { limit: 1, signal: never }))
    .messages;
  expect(discarded).toMatchObject({ state: 'discarded', by: 'a test', why: 'a test', user: '301' });
});

test('about nobody and nothing is refused, and so is a deployment without a table', async () => {
  const { target } = await offices.open();
  const options = { limit: 1, signal: never };
  await expect(messagesAbout(target, {}, options)).rejects.toThrow(/Name a user, an org unit, or both/);
  await expect(messagesAbout({ ...target, deskTable: undefined }, { user: '301' }, options)).rejects.toThrow(
    /table of letters is not known/,
  );
});
