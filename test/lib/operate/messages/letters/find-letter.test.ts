import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { expect, test } from 'vitest';
import { selectLetters, withLetters } from '../../../../../lib/operate/messages/letters/selection.ts';
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

test('a letter that somebody takes for a moment, after the queue was counted, is waited for', async () => {
  const office = await offices.open();
  const [id = ''] = await office.park([{}]);
  const sqs = await office.target.sqs();
  const QueueUrl = office.deadLetters.url;
  let taken: string | undefined;
  /** What another operator does, who is as quick as can be: the first count is of before, the second of meanwhile. */
  const other = async (): Promise<void> => {
    if (taken === undefined) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 600 }),
      );
      taken = Messages[0]?.ReceiptHandle ?? '';
    } else if (taken !== '') {
      const giveBack = { QueueUrl, ReceiptHandle: taken, VisibilityTimeout: 0 };
      taken = '';
      await sqs.send(new ChangeMessageVisibilityCommand(giveBack));
    }
  };
  const send = async (command: Parameters<typeof sqs.send>[0]) => {
    const answer = await sqs.send(command);
    if (command instanceof GetQueueAttributesCommand) await other();
    return answer;
  };
  const beside = new Proxy(sqs, {
    get: (client, name) => (name === 'send' ? send : Reflect.get(client, name)),
  });
  const target = { ...office.target, sqs: async () => beside };
  const { letters } = await selectLetters(office.target, { filter: {} }, never);
  const found = await withLetters(target, { signal: never, letters }, async (inHand) => ({
    ids: inHand.letters.map((letter) => letter.id),
  }));
  expect(found.ids).toEqual([id]);
  expect(taken).toBe('');
  expect(await office.take(QueueUrl)).toHaveLength(1);
});
