import { randomUUID } from 'node:crypto';
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, test } from 'vitest';
import { recordsOf } from '../../../../../lib/delivery/letters/read-records.ts';
import { writeRecord } from '../../../../../lib/delivery/letters/write-record.ts';
import { filterSchema } from '../../../../../lib/desk/messages/letters/filter.ts';
import { listWaiting } from '../../../../../lib/desk/messages/waiting/waiting.ts';
import { wakeMessages } from '../../../../../lib/desk/messages/waiting/wake.ts';
import type { Audit, AuditEntry } from '../../../../../lib/stage/audit.ts';
import type { Target } from '../../../../../lib/stage/target.ts';
import { queuesAndFilesForTests, tablesForTests } from '../../../../local/aws/for-tests.ts';
import { eventBody, never } from '../../cli/office.ts';

const deskTable = 'sis-relay-test-desk';
const { sqs, createQueue } = queuesAndFilesForTests();
const dynamodb = tablesForTests('sis-relay-test-ledger', deskTable).client();
let name = '';
let url = '';
let audited: (AuditEntry & { audit: string })[] = [];

/** A function of its own for each test. */
beforeEach(async () => {
  name = `push-${randomUUID().slice(0, 8)}`;
  url = (await createQueue(`sis-relay-test-${name}`)).url;
  audited = [];
});

const desk = () => ({ dynamodb, table: deskTable, nowMs: Date.now });
const target = () =>
  ({
    prefix: 'sis-relay-test-',
    sqs: async () => sqs,
    dynamodb,
    deskTable,
    who: 'a test',
    queueUrlOf: async (asked: string) => (asked === name ? url : undefined),
  }) as Partial<Target> as Target;
const audit: Audit = {
  begin: async (entry) => {
    audited.push({ audit: 'begin', ...entry });
    return {
      id: '0a1b2c3d',
      end: async (counts, letters) => void audited.push({ ...entry, audit: 'end', counts, letters }),
    };
  },
};

/** Messages that their function has received, and that wait for an hour. */
const waitFor = async (count: number, change: { kind?: string; nextMs?: number } = {}) => {
  const messages: { id: string; handle: string }[] = [];
  for (let from = 0; from < count; from += 10) {
    const Entries = Array.from({ length: Math.min(10, count - from) }, (_, at) => ({
      Id: String(at),
      MessageBody: eventBody(),
    }));
    await sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, VisibilityTimeout: 3_600 }),
    );
    messages.push(
      ...Messages.map(({ MessageId = '', ReceiptHandle = '' }) => ({ id: MessageId, handle: ReceiptHandle })),
    );
  }
  const { kind = 'credentials', nextMs = Date.now() + 3_600_000 } = change;
  for (const { id, handle } of messages)
    await writeRecord(desk(), id, {
      state: 'waiting',
      waits: true,
      facts: { function: name, kind, nextMs, handle, firstMs: Date.now() - 60_000, attempts: 3 },
    });
  return messages;
};
const filterOf = (given: object = {}) => filterSchema.parse({ function: [name], ...given });
const wake = (options: Partial<Parameters<typeof wakeMessages>[1]> = {}) =>
  wakeMessages(target(), {
    filter: filterOf(),
    reason: 'the key is back',
    dryRun: false,
    signal: never,
    audit,
    confirm: async () => true,
    ...options,
  });
const visible = async (): Promise<number> => {
  let count = 0;
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10 }),
    );
    if (Messages.length === 0) return count;
    count += Messages.length;
  }
};
const nexts = async () =>
  (await listWaiting(target(), { filter: filterOf() }, { signal: never })).messages.map(({ next }) => next);

describe('what is woken', () => {
  test('is shown by its queue at once, due by the list, and in the audit log', async () => {
    const messages = await waitFor(25);
    await waitFor(3, { kind: 'unavailable' });
    const woken = await wake({ filter: filterOf({ kind: ['credentials'] }) });
    expect(woken).toMatchObject({ woken: 25, taken: 0, failed: [], left: 0, plan: { messages: 25, due: 0 } });
    expect(await visible()).toBe(25);
    expect((await nexts()).sort()).toEqual([...Array(25).fill('due'), ...Array(3).fill('later')]);
    const ids = messages.map(({ id }) => id).sort();
    expect(audited).toMatchObject([
      { audit: 'begin', command: 'waiting wake', reason: 'the key is back', counts: { planned: 25 } },
      { audit: 'end', counts: { woken: 25, taken: 0, failed: 0 } },
    ]);
    for (const { letters = [] } of audited) expect(letters.toSorted()).toEqual(ids);
  });

  test('and is no more, or was taken meanwhile, is counted as taken by its function', async () => {
    const [gone] = await waitFor(3);
    await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: gone?.handle }));
    expect(await wake()).toMatchObject({ woken: 2, taken: 1, failed: [], left: 0 });
    // Of that one the record stays as its function wrote it.
    expect((await nexts()).sort()).toEqual(['due', 'due', 'later']);
  });

  test('while its function tells of it anew keeps what the function told', async () => {
    const [message] = await waitFor(1);
    const nextMs = Date.now() + 1_800_000;
    const facts = { function: name, kind: 'unavailable', nextMs, handle: 'a newer one', attempts: 4 };
    await wake({
      onWoken: () => {},
      confirm: async () => {
        await writeRecord(desk(), message?.id ?? '', { state: 'waiting', facts });
        return true;
      },
    });
    const record = (await recordsOf(desk(), [message?.id ?? ''])).get(message?.id ?? '');
    expect(record).toMatchObject({ nextMs, handle: 'a newer one' });
  });

  test('is nothing that is due already, and nothing without consent or in a dry run', async () => {
    await waitFor(2, { nextMs: Date.now() - 1_000 });
    await waitFor(2);
    expect(await wake({ dryRun: true })).toMatchObject({ woken: 0, plan: { messages: 2, due: 2 } });
    expect(await wake({ confirm: async () => false })).toMatchObject({ woken: 0, left: 2 });
    expect(audited).toEqual([]);
    expect(await visible()).toBe(0);
  });

  test('of a function whose queue is gone is told, and the others are woken', async () => {
    await waitFor(1);
    const facts = {
      function: `${name}-gone`,
      kind: 'credentials',
      nextMs: Date.now() + 60_000,
      handle: 'none',
    };
    const id = randomUUID();
    await writeRecord(desk(), id, { state: 'waiting', facts });
    const filter = filterSchema.parse({ function: [name, `${name}-gone`] });
    expect(await wake({ filter })).toMatchObject({ woken: 1, failed: [{ id, reason: 'it has no queue' }] });
  });

  test('stopped between two thousands, the rest come at their time', { tags: ['long'] }, async () => {
    await waitFor(1_200);
    const stop = new AbortController();
    const woken = await wake({ signal: stop.signal, onWoken: () => stop.abort() });
    expect(woken).toMatchObject({ woken: 1_000, left: 200 });
    expect(audited.at(-1)?.letters).toHaveLength(1_000);
  });
});

test('a message whose next try is long past may have ended: it is not told of as one that waits', async () => {
  await waitFor(1);
  await waitFor(1, { nextMs: Date.now() - 60_000 });
  await waitFor(1, { nextMs: Date.now() - 3_600_000 });
  const { groups } = await listWaiting(target(), { filter: filterOf() }, { signal: never });
  expect(groups).toMatchObject([{ messages: 3, due: 1, unknown: 1, attempts: 3 }]);
  expect((await nexts()).sort()).toEqual(['due', 'later', 'unknown']);
});

test('a message that waits only for its turn is not listed', async () => {
  await waitFor(2, { kind: 'pace' });
  expect(await nexts()).toEqual([]);
});
