import { randomUUID } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import * as enrollmentCreate from '../../../../functions/enrollment-create.ts';
import * as enrollmentRemove from '../../../../functions/enrollment-remove.ts';
import * as gradePush from '../../../../functions/grade-push.ts';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import { ledgerMessageOf } from '../../../../lib/delivery/handle/ledger-message.ts';
import { deliveryOf } from '../../../../lib/delivery/handle/sqs-delivery.ts';
import { digesterWith } from '../../../../lib/delivery/ledger/digest.ts';
import { rememberedMessages } from '../../../../lib/delivery/ledger/item.ts';
import { TableLedger } from '../../../../lib/delivery/ledger/ledger.ts';
import { createLedgerTable } from '../../../../lib/delivery/ledger/table.ts';
import { parseMessage } from '../../../../lib/message/message.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';
import { bytesOf } from '../../../local/aws/tables.ts';

/** DynamoDB bills a write for each of these that its item begins. */
const writeUnit = 1_024;
const nowMs = Date.UTC(2026, 10, 23, 12);

const dynamodb = tablesForTests('ledger').client();
let users = 1_234_567_890;

const [orgUnitId, gradeObjectId] = [1_234_567_890, 1_234_567_891];
const grade = {
  orgUnitId,
  gradeObjectId,
  grade: { type: 'numeric', points: 17.25 },
  comments: 'c'.repeat(4_000),
  privateComments: 'p'.repeat(4_000),
};
const enrollment = { orgUnitId, roleId: 1_234_567_890 };
const undigested = async () => undefined;
const by = digesterWith('k'.repeat(32));

const shortSource = 'https://sis.example.edu/outbox';

type TestMessage<Data> = {
  integration: Integration<Data>;
  data: object;
  id?: string;
  source?: string;
  digests?: boolean;
};

const bytesIn = async (resource: string): Promise<number> => {
  const { Item } = await dynamodb.call('GetItem', {
    TableName: 'ledger',
    Key: { resource: { S: resource } },
  });
  return bytesOf(Item ?? {});
};

/** The most that the item has while these messages are done, one after the other. */
const bytesAfter = async <Data>(...messages: TestMessage<Data>[]): Promise<number> => {
  users += 1;
  const table = createLedgerTable({ dynamodb, table: 'ledger', nowMs: () => nowMs });
  const ledger = new TableLedger({
    table,
    lateEffectMs: 60_000,
    warn: () => {},
    nowMs: () => nowMs,
  });
  let most = 0;
  for (const [at, given] of messages.entries()) {
    const { integration, data, id = randomUUID(), source = shortSource, digests = true } = given;
    const body = JSON.stringify({
      specversion: '1.0',
      id,
      source,
      sequence: `${20_261_123_000_000 + at}`,
      type: `sis.${integration.name}.v1`,
      time: `2026-11-23T11:59:59.00${at}Z`,
      data: { ...data, userId: users },
    });
    const message = parseMessage(body, integration, nowMs);
    const record = { messageId: randomUUID(), attributes: {}, messageAttributes: {} } as unknown as SQSRecord;
    const received = { integration, message, record, delivery: deliveryOf(record, nowMs) };
    const entry = await ledgerMessageOf(received, digests ? async (parts) => by(parts) : undigested);
    const taken = await ledger.take(entry, { lockMs: 112_000, isolated: false });
    if (taken.kind !== 'send') throw new Error(`The message is not sent: ${taken.kind}`);
    most = Math.max(most, await bytesIn(entry.resource));
    await ledger.settle(taken, { ending: 'done' });
    most = Math.max(most, await bytesIn(entry.resource));
  }
  return most;
};

const wholeGrade = { integration: gradePush.integration, data: grade };

describe('an item of the ledger is within one write unit', () => {
  test('of a grade with both comments, a digest of each, and long ids', async () => {
    const bytes = await bytesAfter(wholeGrade);
    expect(bytes).toBeLessThanOrEqual(writeUnit);
    // Of each of its three fields: a name, a colon, quotes, a comma, and 26 characters.
    expect(bytes - (await bytesAfter({ ...wholeGrade, digests: false }))).toBe(
      3 * '"digest":"",'.length + 3 * 26,
    );
  });

  test('of a grade that repeats what was sent before, and before that, so that no more messages are remembered', async () => {
    const messages = Array.from({ length: rememberedMessages + 1 }, () => wholeGrade);
    const bytes = await bytesAfter(...messages);
    expect(bytes).toBeLessThanOrEqual(writeUnit);
    expect(await bytesAfter(...messages, wholeGrade)).toBe(bytes);
  });

  test.each([shortSource.length, 72, 2_048])(
    'of grades by a source of %i characters, whose comments earlier messages gave',
    async (length) => {
      const source = shortSource.padEnd(length, '/outbox');
      const given = [grade, { ...grade, privateComments: undefined }];
      const messages = Array.from({ length: rememberedMessages + 1 }, (_, at) => ({
        ...wholeGrade,
        source,
        data: given[at] ?? { ...given[1], comments: undefined },
      }));
      expect(await bytesAfter(...messages)).toBeLessThanOrEqual(writeUnit);
      expect(
        await bytesAfter(...Array.from(messages, (each) => ({ ...each, data: grade }))),
      ).toBeLessThanOrEqual(writeUnit);
    },
  );

  test.each([
    ['created', enrollmentCreate.integration, enrollment],
    ['removed', enrollmentRemove.integration, { orgUnitId }],
  ])('of an enrollment that is %s', async (_, integration, data) => {
    expect(await bytesAfter({ integration: integration as Integration<object>, data })).toBeLessThanOrEqual(
      writeUnit / 2,
    );
  });
});

test('ids of 256 characters leave a whole grade within its write unit, with and without digests: each field has a short version', async () => {
  for (const digests of [true, false])
    expect(await bytesAfter({ ...wholeGrade, id: 'i'.repeat(256), digests })).toBeLessThanOrEqual(writeUnit);
});
