import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { PurgeQueueCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { handler } from '../../functions/dead-letter-replay.ts';
import { type LetterFailure, sqsMessageOf } from '../../lib/delivery/letters/dead-letter.ts';
import { listLetters } from '../../lib/desk/messages/letters/list.ts';
import { reindexLetters } from '../../lib/desk/messages/letters/reindex.ts';
import { writePause } from '../../lib/runtime/telemetry/pauses.ts';
import { documentOf } from '../documents.ts';
import { localOffice } from '../lib/desk/cli/local-office.ts';
import { eventBody, failureOf, never } from '../lib/desk/cli/office.ts';
import { documentsIn, typed } from '../lib/desk/cli/typed.ts';
import { filesIn } from '../local/bucket.ts';
import { inThisProcess } from '../local/in-this-process.ts';
import { settingsOf } from '../local/stack.ts';

const office = localOffice({ functions: ['grade-push'], lambda: inThisProcess });
const schedule = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../events/dead-letter-replay.json'), 'utf8'),
);
const context = { getRemainingTimeInMillis: () => 120_000 } as Context;
const arn = 'arn:aws:sqs:us-east-1:000000000000:sis-relay-local-grade-push';

/** Parks grades of these users, each with its kind. */
const park = async (
  letters: { userId: number; kind: LetterFailure['kind']; replays?: number; data?: object }[],
) => {
  const Entries = letters.map(({ userId, kind, replays = 0, data = {} }, at) => ({
    Id: String(at),
    ...sqsMessageOf({
      body: eventBody('grade-push', { userId, ...data }),
      source: arn,
      replays,
      attributes: {},
      failure: failureOf('grade-push', kind),
    }),
  }));
  const { sqs, description } = office.stack();
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: description.deadLetters, Entries }));
  await reindexLetters(office.target(), { signal: never, settleMs: 0 });
};
const graded = async () =>
  (await office.controls().state()).gradeValues
    ?.map(({ userId }) => userId)
    .filter((id) => Number(id) >= 500)
    .sort();
const kindsLeft = async () => {
  const target = office.target();
  const { letters } = await listLetters(target, { filter: {}, limit: 50 }, { signal: never });
  return letters.map(({ kind }) => kind).sort();
};

beforeEach(async () => {
  const { sqs, description } = office.stack();
  await office.controls().reset();
  const userIds = Array.from({ length: 10 }, (_, at) => 500 + at);
  await office.controls().seed({
    users: userIds.map((userId) => ({ userId, userName: `u${userId}`, firstName: 'L', lastName: 'L' })),
    enrollments: userIds.map((userId) => ({ orgUnitId: 2001, userId, roleId: 110 })),
  });
  await sqs.send(new PurgeQueueCommand({ QueueUrl: description.deadLetters }));
  await reindexLetters(office.target(), { signal: never, settleMs: 0 });
  const environment = {
    ...settingsOf(description, 'dead-letter-replay'),
    SIS_RELAY_BUCKET: description.bucket,
    AWS_LAMBDA_FUNCTION_NAME: 'sis-relay-local-dead-letter-replay',
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('on schedule', () => {
  test('the age of the oldest letter is a metric, so that somebody is called before SQS deletes it', async () => {
    const ageTold = async () => {
      const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
      await handler(schedule, context);
      const line = write.mock.calls.map(([text]) => `${text}`).findLast((text) => text.includes('LetterAge'));
      return JSON.parse(line ?? '{}');
    };
    vi.stubEnv('METRIC_NAMESPACE', 'sis-relay/local');
    expect((await ageTold()).LetterAge).toEqual([0]);
    await park([{ userId: 503, kind: 'rejected' }]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 86_400_000 });
    const { LetterAge, _aws, ...dimensions } = await ageTold();
    vi.useRealTimers();
    expect(LetterAge[0]).toBeGreaterThanOrEqual(864_000);
    expect(_aws.CloudWatchMetrics).toMatchObject([
      { Namespace: 'sis-relay/local', Dimensions: [['function']] },
    ]);
    expect(dimensions).toEqual({ function: 'dead-letter-replay' });
  });

  test('the age of the longest pause is a metric, so that somebody is called who has forgotten it', async () => {
    const countsNow = async () => {
      const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true).mockClear();
      await handler(schedule, context);
      const lines = write.mock.calls.map(([text]) => `${text}`);
      return JSON.parse(lines.findLast((text) => text.includes('PauseAge')) ?? '{}');
    };
    const { dynamodb, ledgerTable: table = '' } = office.target();
    const access = { dynamodb, table, nowMs: Date.now };
    expect(await countsNow()).toEqual({});
    const dayMs = 86_400_000;
    const pause = { who: 'jane', reason: 'the platform moves' };
    await writePause(access, 'grade-push', { ...pause, sinceMs: Date.now() - dayMs - 1 });
    await writePause(access, 'news-item-create', { ...pause, sinceMs: Date.now() });
    const { PauseAge, ...dimensions } = await countsNow();
    expect(PauseAge[0]).toBeGreaterThanOrEqual(86_400);
    expect(dimensions).toMatchObject({ function: 'dead-letter-replay' });
    for (const name of ['grade-push', 'news-item-create']) await writePause(access, name, undefined);
    expect(await countsNow()).toEqual({});
  });

  const counted = async (metric: string): Promise<object[]> => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true).mockClear();
    await handler(schedule, context);
    return write.mock.calls.flatMap(([text]) => {
      const { [metric]: values, kind, what, expected } = JSON.parse(`${text}`);
      return values === undefined ? [] : [{ kind, what, expected, values }];
    });
  };

  test('each cause of letters is counted once, when it is new, and not when a letter of it comes back', async () => {
    await counted('NewCauses');
    await park([{ userId: 503, kind: 'rejected' }]);
    expect(await counted('NewCauses')).toEqual([{ kind: 'rejected', values: [1] }]);
    await park([
      { userId: 504, kind: 'rejected' },
      { userId: 505, kind: 'missing-scope' },
      { userId: 506, kind: 'unexpected-answer', replays: 1 },
      { userId: 507, kind: 'unavailable', replays: 3 },
    ]);
    expect(await counted('NewCauses')).toEqual([{ kind: 'missing-scope', values: [1] }]);
    expect(await counted('NewCauses')).toEqual([]);
  });

  test('letters that wait for a decision for a day are counted once each morning', async () => {
    await counted('Decisions');
    await park([
      { userId: 503, kind: 'uncertain' },
      { userId: 504, kind: 'rejected' },
    ]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 86_400_000 });
    onTestFinished(() => void vi.useRealTimers());
    vi.setSystemTime(new Date().setUTCHours(6, 0));
    expect(await counted('Decisions')).toEqual([]);
    vi.setSystemTime(new Date().setUTCHours(7, 0));
    expect(await counted('Decisions')).toEqual([{ what: 'letters', values: [1] }]);
    expect(await counted('Decisions')).toEqual([]);
  });

  test('letters are replayed though nobody can tell what is paused', async () => {
    await park([{ userId: 507, kind: 'rejected' }]);
    vi.stubEnv('LEDGER_TABLE', 'none-such');
    expect(await handler({ all: true }, context)).toMatchObject({ ended: 'done', counts: { sent: 1 } });
  });

  test('letters that heal by themselves are sent again, and no others', async () => {
    await park([
      { userId: 500, kind: 'unavailable' },
      { userId: 501, kind: 'throttled' },
      { userId: 502, kind: 'credentials', replays: 2 },
      { userId: 503, kind: 'rejected' },
      { userId: 504, kind: 'uncertain' },
      { userId: 505, kind: 'intercepted' },
      { userId: 506, kind: 'unexpected-answer' },
      { userId: 507, kind: 'outdated' },
    ]);
    const { ended, counts } = await handler(schedule, context);
    expect({ ended, counts }).toMatchObject({
      ended: 'done',
      counts: { sent: 4, through: 4 },
    });
    expect(await graded()).toEqual([500, 501, 502, 505]);
    expect(await kindsLeft()).toEqual(['outdated', 'rejected', 'uncertain', 'unexpected-answer']);
  });

  test('none is tried more than three times', async () => {
    await park([{ userId: 500, kind: 'unavailable', replays: 3 }]);
    expect(await handler(schedule, context)).toMatchObject({ ended: 'nothing', plan: { matching: 0 } });
    expect(await kindsLeft()).toEqual(['unavailable']);
  });

  test.each([
    ['the platform does not answer', async () => void vi.stubEnv('PLATFORM_URL', 'http://127.0.0.1:9')],
    ['the credential is refused', () => office.controls().key(100, 'another')],
  ])('nothing is sent while %s', async (_, befall) => {
    await park([
      { userId: 500, kind: 'unavailable' },
      { userId: 501, kind: 'credentials' },
    ]);
    await befall();
    const { ended, plan } = await handler(schedule, context);
    expect(ended).toBe('nothing');
    expect(plan.notYet).toHaveLength(2);
    expect(await kindsLeft()).toEqual(['credentials', 'unavailable']);
    expect((await office.controls().requests()).filter(({ method }) => method !== 'GET')).toEqual([]);
  });
});

describe('for an operator', () => {
  test('it answers with the plan, and a dry run ends there', async () => {
    await park([
      { userId: 500, kind: 'rejected' },
      { userId: 501, kind: 'uncertain' },
    ]);
    const result = await handler({ filter: { function: ['grade-push'] }, dryRun: true }, context);
    expect(result).toMatchObject({
      ended: 'planned',
      plan: {
        matching: 2,
        send: [{ function: 'grade-push', kind: 'rejected', letters: 1 }],
        uncertain: [{ letters: 1 }],
      },
      report: { reachable: true, credentialAccepted: true },
    });
    expect(await kindsLeft()).toEqual(['rejected', 'uncertain']);
  });

  test('its plan is the command’s', async () => {
    const wrong = { grade: { type: 'numeric', points: null } };
    await park([
      { userId: 500, kind: 'rejected' },
      { userId: 501, kind: 'invalid', data: wrong },
      { userId: 502, kind: 'uncertain' },
    ]);
    const { plan } = await handler({ dryRun: true }, context);
    const { out } = await typed(`letters replay --dry-run --json --stack ${office.file}`);
    expect(documentsIn(out)[0]?.plan).toEqual({ ...plan, at: expect.any(String) });
    expect(plan.send.map(({ kind }) => kind)).toEqual(['rejected']);
  });

  test('it has each option of the command', async () => {
    const { out } = await typed('letters replay --help');
    const [, own = ''] = /\nOptions:\n([\s\S]*?)\n\n/.exec(out) ?? [];
    const flags = [...own.matchAll(/^ {2}--(no-)?([a-z-]+)/gm)].map(([, , name = '']) =>
      name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    );
    expect(flags).toContain('canaryWait');
    // Whoever invokes a function has agreed.
    for (const name of flags.filter((each) => each !== 'yes'))
      await expect(handler({ [name]: {} }, context), name).rejects.toThrow(new RegExp(`"${name}"`));
  });

  test('it replays every letter only where it is told so', async () => {
    await park([{ userId: 506, kind: 'rejected' }]);
    for (const request of [{}, { filter: {} }, { limit: 5 }, { all: false }])
      await expect(handler(request, context)).rejects.toThrow(/Which letters\? Give a filter, or all: true/);
    expect(await kindsLeft()).toEqual(['rejected']);
    expect(await handler({ all: true }, context)).toMatchObject({ ended: 'done', counts: { sent: 1 } });
    expect(await graded()).toEqual([506]);
  });

  test('it takes what the runbook shows', async () => {
    await park([{ userId: 500, kind: 'rejected' }]);
    const [, payload = ''] =
      /dead-letter-replay --cli[^']+--payload '([^']+)'/.exec(documentOf('lib/desk/cli/README.md')) ?? [];
    expect(await handler(JSON.parse(payload), context)).toMatchObject({
      ended: 'planned',
      plan: { send: [{ kind: 'rejected', letters: 1 }] },
    });
  });

  test('it takes the options of the command, and the audit log knows who asked', async () => {
    await park([
      { userId: 505, kind: 'rejected' },
      { userId: 501, kind: 'invalid' },
    ]);
    const request = {
      filter: { kind: ['rejected'] },
      canary: 1,
      rate: 50,
      reason: 'the course exists now',
      as: 'jane',
    };
    expect(await handler(request, context)).toMatchObject({ ended: 'done', counts: { sent: 1 } });
    expect(await graded()).toEqual([505]);
    const entries = await filesIn(office.stack).filesUnder('audit/');
    expect(Object.values(entries).map((bytes) => JSON.parse(`${bytes}`))).toContainEqual(
      expect.objectContaining({
        audit: 'end',
        who: 'sis-relay-local-dead-letter-replay (invoked as jane)',
        reason: 'the course exists now',
        counts: expect.objectContaining({ sent: 1 }),
      }),
    );
  });

  test.each([
    [{ filter: { kind: ['reject'] } }, /must be one of/],
    [{ rate: 501 }, /rate/],
    [{ filtre: {} }, /filtre/],
    [null, /invalid/i],
  ])('it refuses %j', async (request, reason) => {
    await expect(handler(request, context)).rejects.toThrow(reason);
  });
});
