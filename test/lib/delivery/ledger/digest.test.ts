import { hash } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDigester, digesterWith, haveSameKey } from '../../../../lib/delivery/ledger/digest.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { startSecretsManager } from '../../../local/aws/secrets-manager.ts';

// The local service keeps what it begins with as JSON: any text is a key.
const secrets = { key: { key: 'k'.repeat(32) }, another: { key: 'a'.repeat(32) }, short: { k: 1 } };
const grade = ['grade/2001/5001/301', 'grade', '{"GradeObjectType":1,"PointsNumerator":7}'];

let server: Awaited<ReturnType<typeof startSecretsManager>>;
let client: SecretsManagerClient;
let nowMs = 0;
let warnings: { text: string; facts: Record<string, string | number> }[] = [];

beforeAll(async () => {
  server = await startSecretsManager(secrets);
  client = new SecretsManagerClient({ ...localClient(server.url), maxAttempts: 1 });
});
beforeEach(async () => {
  nowMs = Date.UTC(2026, 2, 1);
  warnings = [];
  await fetch(`${server.url}/_local/faults`, { method: 'DELETE' });
});
afterAll(async () => {
  client.destroy();
  await server.close();
});

const container = (secret = 'key') =>
  createDigester({
    client,
    secret,
    warn: (text, facts) => warnings.push({ text, facts }),
    nowMs: () => nowMs,
  });
const reads = async (): Promise<number> =>
  ((await (await fetch(`${server.url}/_local/requests`)).json()) as unknown[]).length;
const fault = (given: object) =>
  fetch(`${server.url}/_local/faults`, { method: 'POST', body: JSON.stringify(given) });

describe('a digest', () => {
  test('is the same in every container, and 26 characters that hold nothing of what it is of', async () => {
    const digest = await container()(grade);
    expect(digest).toMatch(/^[\w-]{26}$/);
    expect(await container()(grade)).toBe(digest);
  });

  test.each([
    ['grade', [grade[0]!, grade[1]!, '{"GradeObjectType":1,"PointsNumerator":8}']],
    ['field', [grade[0]!, 'comments', grade[2]!]],
    [
      'resource: the same grade of another learner cannot be told',
      ['grade/2001/5001/302', ...grade.slice(1)],
    ],
    ['place of the border between two parts', [`${grade[0]}${grade[1]}`, '', grade[2]!]],
  ])('is another one for another %s', async (_, parts) => {
    const digest = container();
    expect(await digest(parts)).not.toBe(await digest(grade));
  });

  test('is another one under another key: who has the table alone cannot try the few grades there are', async () => {
    expect(await container('another')(grade)).not.toBe(await container()(grade));
  });
});

describe('the key', () => {
  test('is read once by a container, however many ask at the same time', async () => {
    const before = await reads();
    const digest = container();
    await Promise.all(Array.from({ length: 10 }, () => digest(grade)));
    nowMs += 24 * 3_600_000;
    await digest(grade);
    expect(await reads()).toBe(before + 1);
  });

  test.each([
    ['refused', { type: 'AccessDeniedException' }, 'AccessDeniedException'],
    ['not answered', { hang: true }, 'AbortError'],
  ])(
    'that is %s gives no digest and throws nothing: it is said once a minute, and asked for again',
    async (_, then, error) => {
      await fault({ action: 'GetSecretValue', ...then, times: 1 });
      const before = await reads();
      const digest = container();
      expect(await Promise.all([digest(grade), digest(grade)])).toEqual([undefined, undefined]);
      nowMs += 59_999;
      expect(await digest(grade)).toBeUndefined();
      expect(warnings).toEqual([
        {
          text: 'the key of the ledger could not be read: messages about one resource wait longer for each other',
          facts: { secret: 'key', error },
        },
      ]);
      nowMs += 1;
      expect(await digest(grade)).toBe(await container()(grade));
      expect(await reads()).toBe(before + 3);
    },
  );

  test('that is too short to be one is none, and what it holds is told nowhere', async () => {
    expect(await container('short')(grade)).toBeUndefined();
    expect(warnings).toEqual([
      { text: 'the key of the ledger must have at least 32 characters', facts: { secret: 'short' } },
    ]);
  });
});

test('tells by which key it was made, and so with which others it can be compared', () => {
  const [one, other] = [digesterWith('k'.repeat(32)), digesterWith('a'.repeat(32))];
  expect(haveSameKey(one(grade), one(['another thing']))).toBe(true);
  expect(haveSameKey(one(grade), other(grade))).toBe(false);
});

describe('digests of grades, of which there are few', () => {
  const points = Array.from({ length: 101 }, (_, value) =>
    JSON.stringify({ GradeObjectType: 1, PointsNumerator: value }),
  );
  const gradesOf = (userId: number, key = 'k'): string[] =>
    points.map((value) => digesterWith(key.repeat(32))([`grade/2001/5001/${userId}`, 'grade', value]));
  const tagOf = (digest: string): string => digest.slice(0, 4);
  const bytesOf = (digest: string): Buffer => Buffer.from(digest.slice(4), 'base64url');
  const all = [301, 302].map((userId) => gradesOf(userId));
  const [one, other] = all as [string[], string[]];

  test('are another one of the same grade for another user, and for another grade of the same', () => {
    expect(new Set([...one, ...other]).size).toBe(2 * points.length);
  });

  test('have nothing in common but what tells the key, and no place tells the grade', () => {
    expect(new Set([...one, ...other].map(tagOf)).size).toBe(1);
    const digests = [...one, ...other].map(bytesOf);
    const bits = (left: Buffer, right: Buffer): number =>
      left.reduce(
        (sum, byte, at) => sum + (byte ^ (right[at] ?? 0)).toString(2).replaceAll('0', '').length,
        0,
      );
    const apart = digests.flatMap((left, at) => digests.slice(at + 1).map((right) => bits(left, right)));
    // Of 128 bits, half differ, as of coins: of 20,301 pairs none is as near or as far as 6 deviations of 5.7.
    expect(Math.min(...apart)).toBeGreaterThan(64 - 34);
    expect(Math.max(...apart)).toBeLessThan(64 + 34);
    expect(apart.reduce((sum, each) => sum + each, 0) / apart.length).toBeCloseTo(64, 0);
    for (let at = 0; at < 16; at += 1) {
      // 202 bytes of 256 that there are: by chance, some 140 are different.
      expect(new Set(digests.map((bytes) => bytes[at])).size).toBeGreaterThan(110);
    }
  });

  test('do not rise or fall with the grade', () => {
    const sorted = one.toSorted();
    const moved = one.filter((digest, at) => sorted.indexOf(digest) !== at);
    expect(moved.length).toBeGreaterThan(90);
  });

  test('are none of those that another key makes of all grades there are, so that trying them tells nothing', () => {
    const tried = new Set([...gradesOf(301, 'a'), ...gradesOf(302, 'a')].map((digest) => digest.slice(4)));
    for (const digest of [...one, ...other]) expect(tried.has(digest.slice(4))).toBe(false);
    // Nor of those without any key.
    for (const [at, value] of points.entries()) {
      const plain = hash('sha256', JSON.stringify(['grade/2001/5001/301', 'grade', value]), 'base64url');
      expect(plain).not.toContain(one[at]?.slice(4));
    }
  });
});
