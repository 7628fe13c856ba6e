import { expect, test } from 'vitest';
import { showLetter } from '../../../../../lib/operate/messages/letters/show.ts';
import { eventBody, never, type Office, officesForTests } from '../../../show/cli/office.ts';

const offices = officesForTests();
const shown = ({ target, audit }: Office, id: string) =>
  showLetter(target, { id, reveal: false, audit, signal: never });

test('a letter is found by its id, by its beginning, and by the id of its message', async () => {
  const office = await offices.open();
  const [id = '', other] = await office.park([{ body: eventBody('grade-push', {}, { id: 'event-1' }) }, {}]);
  for (const by of [id, id.slice(0, 8), 'event-1'])
    expect(await shown(office, by)).toMatchObject({ id, kind: 'rejected' });
  expect(await shown(office, other!)).toMatchObject({ id: other });
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});

test('what is not there, or not one alone, is refused with what to do', async () => {
  const office = await offices.open();
  await office.park([1, 2].map(() => ({ body: eventBody('grade-push', {}, { id: 'event-twice' }) })));
  await expect(shown(office, 'nothing-like-it')).rejects.toThrow(
    'There is no letter nothing-like-it. `letters list` shows the letters, and `trace',
  );
  await expect(shown(office, 'event-twice')).rejects.toThrow(/Give more characters/);
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});
