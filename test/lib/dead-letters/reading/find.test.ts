import { expect, test } from 'vitest';
import { showLetter } from '../../../../lib/dead-letters/reading/find.ts';
import { eventBody, never, officesForTests } from '../../cli/office.ts';

const offices = officesForTests();

test('a letter is found by its id, by its beginning, and by the id of its message', async () => {
  const office = await offices.open();
  const [id = '', other] = await office.park([{ body: eventBody('grade-push', {}, { id: 'event-1' }) }, {}]);
  for (const by of [id, id.slice(0, 8), 'event-1'])
    expect(await showLetter(office.target, { id: by, signal: never })).toMatchObject({
      id,
      kind: 'rejected',
    });
  expect(await showLetter(office.target, { id: other!, signal: never })).toMatchObject({ id: other });
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});

test('what is not there, or not one alone, is refused with what to do', async () => {
  const office = await offices.open();
  await office.park([1, 2].map(() => ({ body: eventBody('grade-push', {}, { id: 'event-twice' }) })));
  const show = (id: string) => showLetter(office.target, { id, signal: never });
  await expect(show('nothing-like-it')).rejects.toThrow('There is no letter nothing-like-it.');
  await expect(show('event-twice')).rejects.toThrow(/give more of it/);
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});
