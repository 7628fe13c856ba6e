import { expect, test } from 'vitest';
import { listLetters } from '../../../../../lib/operate/messages/letters/list.ts';
import { eventBody, never, officesForTests } from '../../../show/cli/office.ts';

const offices = officesForTests();

test('the oldest letters come first, no more than were asked for, and the number of all is told', async () => {
  const office = await offices.open();
  const ids: string[] = [];
  for (let at = 0; at < 5; at += 1) {
    ids.push(...(await office.park([{}])));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { letters, matching } = await listLetters(office.target, { filter: {}, limit: 3 }, { signal: never });
  expect(letters.map(({ id }) => id)).toEqual(ids.slice(0, 3));
  expect(matching).toBe(5);
});

test('a letter is listed without its message', async () => {
  const office = await offices.open();
  const [id] = await office.park([
    {
      body: eventBody('grade-push', { comments: 'Dear Jane' }, { id: 'event-1' }),
      replays: 1,
      failure: { detail: 'no Jane here' },
    },
  ]);
  const { letters } = await listLetters(office.target, { filter: {}, limit: 3 }, { signal: never });
  expect(letters).toEqual([
    {
      id,
      sentMs: expect.any(Number),
      function: 'grade-push',
      kind: 'rejected',
      error: '404 Not Found',
      remedy: expect.any(String),
      replays: 1,
      words: 'no ••• here',
      status: 404,
      attempts: 1,
      eventId: 'event-1',
      resource: 'grade/2001/5001/301',
      ...{ user: '301', orgUnit: '2001', thing: 'grade object 5001' },
    },
  ]);
});
