import { expect, test } from 'vitest';
import type { Integration, IntegrationContext } from '../../../../lib/delivery/handle/integration.ts';
import { wasDone, writtenRefusal } from '../../../../lib/delivery/handle/verify-attempt.ts';
import type { UnresolvedAttempt } from '../../../../lib/delivery/ledger/judge.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { ownText, safe } from '../../../../lib/message/safe-text.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';

type Data = { say: string };
type Verify = NonNullable<Integration<Data>['verify']>;

const nowMs = Date.UTC(2026, 2, 1, 12);
const clock = (clockOffsetMs?: number) =>
  ({ platform: { clockOffsetMs: () => clockOffsetMs } }) as unknown as IntegrationContext;

const left: UnresolvedAttempt = {
  sinceMs: nowMs,
  acceptedUnverified: false,
  decided: false,
  changedSince: [],
  refusal: undefined,
};
const accepted = { acceptedUnverified: true };
const refused = {
  refusal: '{"status":500,"operation":"POST /things","message":"answered with 500","title":"Oh"}',
};
const words = { status: 500, title: 'Oh', operation: safe`POST /things` };

const lookedAt = async (verify: Verify | undefined, unresolved: Partial<UnresolvedAttempt>) => {
  const integration = { verify } as unknown as Integration<Data>;
  const given = { context: clock(), unresolved: { ...left, ...unresolved } };
  return wasDone(integration, { say: 'a' }, given).catch(failureOf);
};
const showing = (found: Awaited<ReturnType<NonNullable<Verify['look']>>>, more: Partial<Verify> = {}) => ({
  subject: ({ say }: Data) => `thing ${say}`,
  look: async () => found,
  ...more,
});
const failing = (error: unknown): Verify => ({
  subject: ({ say }) => `thing ${say}`,
  look: () => Promise.reject(error),
});

test.each<[string, Verify | undefined, Partial<UnresolvedAttempt>, boolean]>([
  ['is found', showing('found'), {}, true],
  ['is found after its call was accepted', showing('found'), accepted, true],
  ['cannot be told, but was accepted', showing('unclear'), accepted, true],
  ['cannot be looked up, but was accepted', undefined, accepted, true],
  ['is not there', showing('absent'), {}, false],
  ['is not there, and no change since could hide it', showing('absent'), { changedSince: ['name'] }, false],
  ['cannot be told, and a person has decided', showing('unclear'), { decided: true }, false],
  [
    'is not shown after it was accepted, and a person has decided',
    showing('absent'),
    { ...accepted, decided: true },
    false,
  ],
  ['cannot be looked up, and a person has decided', undefined, { decided: true }, false],
  ['can never be looked up, and a person has decided', failing(new Error('x')), { decided: true }, false],
])('an effect that %s', async (_, verify, unresolved, expected) => {
  expect(await lookedAt(verify, unresolved)).toBe(expected);
});

const since = '2026-03-01T12:00:00.000Z';
const hidden = showing('absent', { isHiddenBy: (field) => field === 'name' });

test.each<[string, Verify | undefined, Partial<UnresolvedAttempt>, string, string]>([
  ['the platform does not show it', { subject: () => 'thing a' }, {}, '', 'thing a'],
  ['the platform does not show it', undefined, { changedSince: ['name'] }, '', 'its effect'],
  ['something is there that may be its effect', showing('unclear'), {}, '', 'thing a'],
  ['the platform answered with a success, but does not show it', showing('absent'), accepted, '', 'thing a'],
  [
    'it is not there as it was sent, and may have been changed there since',
    ...([hidden, { changedSince: ['size', 'name'], ...refused }, ' (answered with 500)', 'thing a'] as const),
  ],
  ['Unexpected Error', failing(new Error('x')), {}, '', 'thing a'],
  ['It is wrong', failing(new MessageFailure('rejected', safe`It is wrong`)), {}, '', 'thing a'],
])('is for a person where %s', async (why, verify, unresolved, said, subject) => {
  expect(await lookedAt(verify, unresolved)).toEqual({
    ...(unresolved.refusal && words),
    kind: 'uncertain',
    message: `An attempt since ${since} left no outcome${said}: ${why}`,
    remedy: `On the platform, look for ${subject} since ${since}. If there is none, replay this letter. If there is one, discard it.`,
  });
});

test.each([
  ['later than its claim', {}, nowMs],
  ['within a day before, where its call was accepted: the clocks may differ', accepted, nowMs - 86_400_000],
])('an effect is looked for that came %s', async (_, unresolved, sinceMs) => {
  const asked: unknown[] = [];
  const look: Verify['look'] = async (data, context) => {
    asked.push([data, context.sinceMs]);
    return 'found';
  };
  await lookedAt(showing('found', { look }), unresolved);
  expect(asked).toEqual([[{ say: 'a' }, sinceMs]]);
});

test('what keeps everybody from looking is told as it is, with the answer to the attempt if there was one', async () => {
  const failure = new MessageFailure('throttled', safe`Too many calls`, {
    remedy: 'Wait.',
    refusal: { status: 429, retryAfterSeconds: 77 },
  });
  const alone = { kind: 'throttled', message: 'Too many calls', remedy: 'Wait.' };
  expect(await lookedAt(failing(failure), { decided: true })).toEqual({
    ...alone,
    status: 429,
    retryAfterSeconds: 77,
  });
  const both = {
    ...alone,
    ...words,
    message: `Too many calls. An attempt since ${since} left no outcome (answered with 500)`,
    remedy: 'Wait. Before it is sent again, thing a is looked up.',
  };
  expect(await lookedAt(failing(failure), refused)).toEqual({ ...both, retryAfterSeconds: 77 });
  const plain = new MessageFailure('throttled', safe`Too many calls`, { remedy: 'Wait.' });
  expect(await lookedAt(failing(plain), refused)).toEqual(both);
});

test('a refusal is written with what is known of it alone', () => {
  const failure = {
    kind: 'unavailable',
    message: safe`answered with 500`,
    remedy: 'Wait.',
    ...words,
  } as const;
  expect(writtenRefusal({ ...failure, retryAfterSeconds: 7 })).toBe(refused.refusal);
});

test('a refusal is written as short as it must be, and without half a sign', () => {
  const refusalOf = (sign: string, length = 500) => {
    const text = ownText(sign.repeat(length));
    const written = writtenRefusal({
      kind: 'rejected',
      message: text,
      remedy: 'r',
      status: 500,
      operation: safe`POST /things`,
      type: text,
      title: text,
      detail: text,
      required: text,
      requestId: text,
    });
    return JSON.parse(written);
  };
  const all = (text: string) => ({
    status: 500,
    operation: 'POST /things',
    message: text,
    type: text,
    title: text,
    detail: text,
    required: text,
    requestId: text,
  });
  expect(refusalOf('x')).toEqual(all('x'.repeat(60)));
  expect(refusalOf('\u0000')).toEqual(all('\u0000'.repeat(10)));
  expect(refusalOf('x😀')).toEqual(all(`${'x😀'.repeat(10)}`));
});
