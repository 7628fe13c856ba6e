import { randomUUID } from 'node:crypto';
import {
  type GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createDigester } from '../../../lib/delivery/ledger/digest.ts';
import { judgeEffect, type WrittenField } from '../../../lib/options/reconcile/classes.ts';
import { readDigestMakers } from '../../../lib/options/reconcile/digest-makers.ts';
import { localClient } from '../../local/aws/aws.ts';
import { startSecretsManager } from '../../local/aws/secrets-manager.ts';

const secret = 'ledger-key';
const writtenMs = Date.UTC(2026, 10, 23, 1);
const resource = 'grade/2001/5001/301';
const [sent, another] = [
  '{"GradeObjectType":1,"PointsNumerator":7}',
  '{"GradeObjectType":1,"PointsNumerator":8}',
];

let server: Awaited<ReturnType<typeof startSecretsManager>>;
let client: SecretsManagerClient;
const close = async (): Promise<void> => {
  client?.destroy();
  await server?.close();
};

beforeEach(async () => {
  await close();
  server = await startSecretsManager({ [secret]: `first ${'k'.repeat(32)}` });
  client = new SecretsManagerClient({ ...localClient(server.url), maxAttempts: 1 });
});
afterAll(close);

const rotate = () =>
  client.send(
    new PutSecretValueCommand({ SecretId: secret, SecretString: `${randomUUID()}${randomUUID()}` }),
  );

/** A container of a function that writes grades: it keeps the key that it has read. */
const newContainer = () => createDigester({ client, secret, warn: () => {} });

/** What reconcile says of a grade with that digest, which the platform shows as `shown`. */
const verdictOn = async (digest: string | undefined, shown: string) => {
  if (digest === undefined) throw new Error('There is no digest');
  const field: WrittenField = { messageId: 'm', outcome: 'done', begunMs: writtenMs, digest };
  const digestsOf = await readDigestMakers(client, secret);
  const judged = judgeEffect({
    fields: { grade: field },
    nothing: {},
    attemptMs: 50_000,
    shown: { fields: { grade: [shown] }, changedMs: writtenMs },
    digestsOf: (name, value) => digestsOf(resource, name, value),
  });
  return judged.class ?? judged.why;
};

describe('a digest that a function has made', () => {
  const parts = [resource, 'grade', sent];

  test('is compared by the key that it was made with, where there was no other before', async () => {
    const digest = await newContainer()(parts);
    expect([await verdictOn(digest, sent), await verdictOn(digest, another)]).toEqual(['same', 'different']);
  });

  test('by a container that still has the key before, or by one that has the new one, is compared alike', async () => {
    const old = newContainer();
    await old(parts);
    await rotate();
    const renewed = newContainer();
    expect(await old(parts)).not.toBe(await renewed(parts));
    for (const container of [old, renewed])
      expect([
        await verdictOn(await container(parts), sent),
        await verdictOn(await container(parts), another),
      ]).toEqual(['same', 'different']);
  });

  test('says nothing after two rotations, whatever the platform shows: its key is gone', async () => {
    const digest = await newContainer()(parts);
    await rotate();
    const between = await newContainer()(parts);
    await rotate();
    expect([await verdictOn(digest, sent), await verdictOn(digest, another)]).toEqual([
      'no digest',
      'no digest',
    ]);
    expect([await verdictOn(between, sent), await verdictOn(between, another)]).toEqual([
      'same',
      'different',
    ]);
  });
});

test('reconcile does not begin without the current key: it would say nothing of any write', async () => {
  await expect(readDigestMakers(client, 'another')).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
  });
});

test('reconcile begins anew where the key before cannot be read now, rather than leave out what that key has digested', async () => {
  const denied = Object.assign(new Error('denied'), { name: 'AccessDeniedException' });
  const partial = {
    send: (command: GetSecretValueCommand) =>
      command.input.VersionStage === 'AWSPREVIOUS' ? Promise.reject(denied) : client.send(command),
  } as unknown as SecretsManagerClient;
  await rotate();
  await expect(readDigestMakers(partial, secret)).rejects.toBe(denied);
});
