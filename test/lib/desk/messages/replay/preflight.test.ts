import { SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, test } from 'vitest';
import { bucketOf, createCrosswalkTable } from '../../../../../lib/crosswalk/table.ts';
import { type LetterFailure, sqsMessageOf } from '../../../../../lib/delivery/letters/dead-letter.ts';
import { reindexLetters } from '../../../../../lib/desk/messages/letters/reindex.ts';
import type { PreflightOptions } from '../../../../../lib/desk/messages/replay/preflight.ts';
import { replayLetters } from '../../../../../lib/desk/messages/replay/replay.ts';
import { writeReach } from '../../../../../lib/runtime/telemetry/platform-reach.ts';
import { functionsReachedMs } from '../../../../../lib/stage/connection/functions-reach.ts';
import { localOffice } from '../../cli/local-office.ts';
import { eventBody, failureOf, never } from '../../cli/office.ts';

const office = localOffice({ functions: false });
const arnOf = (name: string) => `arn:aws:sqs:us-east-1:000000000000:sis-relay-local-${name}`;
const audit = { begin: async () => ({ id: '0a1b2c3d', end: async () => {} }) };

const park = async (name: string, failure: Partial<LetterFailure>, data: object = {}) => {
  const letter = sqsMessageOf({
    body: eventBody(name, data),
    source: arnOf(name),
    replays: 0,
    attributes: {},
    failure: { ...failureOf(name, failure.kind), ...failure },
  });
  const { sqs, description } = office.stack();
  const Entries = [{ Id: '0', ...letter }];
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: description.deadLetters, Entries }));
  await reindexLetters(office.target(), { signal: never, settleMs: 0 });
};

const plan = async (
  settings: Record<string, string> = {},
  { probe = true, functionsReachedMs }: Partial<PreflightOptions> = {},
) => {
  const { plan: made } = await replayLetters(
    office.target({ PLATFORM_CONNECT_TIMEOUT_MS: '500', ...settings }),
    {
      filter: {},
      dryRun: true,
      includeUncertain: false,
      probe,
      canary: 5,
      waitSeconds: 1,
      rate: 5,
      stopAfter: 5,
    },
    { audit, signal: never, functionsReachedMs, confirm: async () => true },
  );
  return {
    send: made.send.map(({ function: name, kind, letters }) => [name, kind, letters]),
    notYet: made.notYet.map(({ why, letters }) => [why, letters]),
    notChecked: made.notChecked.map(({ function: name, kind, letters }) => [name, kind, letters]),
  };
};

beforeEach(async () => {
  await office.controls().reset();
  const { sqs, description } = office.stack();
  const { PurgeQueueCommand } = await import('@aws-sdk/client-sqs');
  await sqs.send(new PurgeQueueCommand({ QueueUrl: description.deadLetters }));
  await reindexLetters(office.target(), { signal: never, settleMs: 0 });
});

describe('a letter cannot succeed yet', () => {
  test('while the platform does not answer, whatever it failed with', async () => {
    await park('grade-push', { kind: 'unavailable' });
    await park('submission-upload', { kind: 'rejected' });
    expect(await plan({ PLATFORM_URL: 'http://127.0.0.1:9' })).toMatchObject({
      send: [],
      notYet: [
        ['the platform does not answer', 1],
        ['the platform does not answer', 1],
      ],
    });
    expect((await plan()).send).toHaveLength(2);
  });

  test('unless the functions reach it: they judge each message', async () => {
    await park('grade-push', { kind: 'unavailable' });
    const away = { PLATFORM_URL: 'http://127.0.0.1:9' };
    const { dynamodb, ledgerTable: table = '' } = office.target();
    const seen = async (isReached: boolean, nowMs: number) => {
      await writeReach({ dynamodb, table, nowMs: () => nowMs }, { isReached, what: '', remedy: '' });
      const asked = () => functionsReachedMs(office.target());
      return (await plan(away, { functionsReachedMs: asked })).send.length;
    };
    expect(await seen(true, Date.now())).toBe(1);
    expect(await seen(false, Date.now())).toBe(0);
    expect(await seen(true, Date.now() - 3_600_000)).toBe(0);
  });

  test('while the service’s credential is refused, unless a learner’s own signs it', async () => {
    await park('grade-push', { kind: 'credentials' });
    await park('submission-upload', { kind: 'rejected' });
    await office.controls().key(100, 'another');
    expect(await plan()).toMatchObject({
      send: [['submission-upload', 'rejected', 1]],
      notYet: [['the platform refuses the service’s credential', 1]],
    });
    await office.controls().key(100, 'local-key-100');
    expect((await plan()).notYet).toEqual([]);
  });

  test('while its user has no secret', async () => {
    const failure = { kind: 'missing-credential' } as const;
    await park('submission-upload', failure, { userId: 302 });
    await park('submission-upload', failure, { userId: 301 });
    expect(await plan()).toEqual({
      send: [['submission-upload', 'missing-credential', 1]],
      notYet: [['their secrets do not exist yet', 1]],
      notChecked: [],
    });
    await park('grade-push', { kind: 'rejected' });
    // Secrets Manager has the secrets, whether or not the platform is asked, or answers.
    const found = {
      send: [
        ['submission-upload', 'missing-credential', 1],
        ['grade-push', 'rejected', 1],
      ],
      notYet: [['their secrets do not exist yet', 1]],
      notChecked: [],
    };
    expect(await plan({}, { probe: false })).toEqual(found);
    const away = { PLATFORM_URL: 'http://127.0.0.1:9' };
    expect(await plan(away, { probe: false })).toEqual(found);
    expect(await plan(away, { functionsReachedMs: async () => Date.now() })).toEqual(found);
  });

  test('while who signs may not even read what it would change', async () => {
    const operation = 'PUT /svc/api/le/1.82/2001/grades/5001/values/301';
    const failure = { kind: 'missing-permission', status: 403, title: 'Forbidden', operation } as const;
    await park('grade-push', { ...failure, required: 'SeeGradeValues' });
    await office.controls().fault(
      {
        status: 403,
        body: {
          type: '#forbidden',
          title: 'Forbidden',
          status: 403,
          detail: 'Not authorized for [ orgUnitId: 2001, securityVariableName: SeeGradeValues ]',
        },
      },
      { method: 'GET', path: 'values/301$', times: 1 },
    );
    expect((await plan()).notYet).toEqual([['a probe shows that the platform still refuses them', 1]]);
    expect((await plan()).send).toEqual([['grade-push', 'missing-permission', 1]]);
    expect((await office.controls().requests()).every(({ method }) => method === 'GET')).toBe(true);
  });

  test('in a group that the platform’s path would lead astray: nothing but plain paths of its API is asked for', async () => {
    const failure = { kind: 'missing-permission', status: 403, required: 'X' } as const;
    await park('grade-push', { ...failure, operation: 'PUT /etc/passwd' });
    await park('grade-push', { ...failure, operation: 'PUT /svc/api/../../secret?x=1', title: 'Other' });
    await park('grade-push', { ...failure, operation: 'PUT /svc/api/../../secret', title: 'Third' });
    expect((await plan()).send).toHaveLength(3);
    const paths = (await office.controls().requests()).map(({ path }) => path);
    expect(paths.every((path) => /versions|whoami/.test(path))).toBe(true);
  });

  test('while the crosswalk does not know its name, as far as the lists tell the name', async () => {
    const { dynamodb, crosswalkTable = '' } = office.target();
    const table = createCrosswalkTable({ dynamodb, table: crosswalkTable, nowMs: Date.now });
    const know = (name: string) =>
      table.put([{ bucket: bucketOf('userName', 'file', name), entries: new Map([[name, { ids: [301] }]]) }]);
    const unknown = (field: string) =>
      ({
        kind: 'unknown-id',
        message: `The crosswalk does not know this data.${field}. It is empty`,
      }) as const;
    const nameless = { userId: undefined, orgUnitId: undefined, orgUnitCode: 'ada' };
    await know('ada');
    await park('grade-push', unknown('userName'), { ...nameless, userName: 'lena · x' });
    // A course has the name of a user.
    await park('grade-push', unknown('orgUnitCode'), { ...nameless, userName: 'ada' });
    await park('enrollment-create', unknown('fromParentCode'), { userId: undefined, userName: 'liam' });
    const held = 'the crosswalk still does not know their names';
    expect(await plan({}, { probe: false })).toMatchObject({
      send: [['enrollment-create', 'unknown-id', 1]],
      notYet: [
        [held, 1],
        [held, 1],
      ],
    });
    await know('lena · x');
    expect((await plan()).notYet).toEqual([[held, 1]]);
  });
});
