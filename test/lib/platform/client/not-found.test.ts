import { describe, expect, test } from 'vitest';
import { safe } from '../../../../lib/message/safe-text.ts';
import { isNotFound, undefinedIfNotFound } from '../../../../lib/platform/client/not-found.ts';
import type { Operation } from '../../../../lib/platform/client/operation.ts';
import { PlatformError, type RefusedCall } from '../../../../lib/platform/client/platform-error.ts';
import { operations } from '../servers.ts';

type MaybeRefused = Partial<RefusedCall> | undefined;

const errorOf = (refused: MaybeRefused, operation: Operation<unknown> = operations.read) =>
  new PlatformError({
    operation,
    call: safe`GET /svc/api/lp/1.49/things/1`,
    sent: true,
    message: safe``,
    ...(refused && { refused: { status: 404, form: 'error', ...refused } }),
  });

describe('a 404', () => {
  test.each<[string, MaybeRefused, boolean]>([
    ['of the API, in its form', {}, true],
    ['in no form of the API', { form: 'page' }, false],
    ['without a word', { form: 'nothing' }, false],
    ['that is another status', { status: 403 }, false],
    ['that never came', undefined, false],
  ])('%s', (_, refused, isOne) => {
    expect(isNotFound(errorOf(refused))).toBe(isOne);
  });

  test('is the platform’s alone', () => {
    expect(isNotFound(Object.assign(new Error('no'), { refused: { status: 404, form: 'error' } }))).toBe(
      false,
    );
  });
});

describe('what may be missing', () => {
  const found = (refused: MaybeRefused, resource?: RegExp, operation?: Operation<unknown>) =>
    undefinedIfNotFound(Promise.reject(errorOf(refused, operation)), resource).catch(() => 'thrown');

  test('is what was found', async () => {
    expect(await undefinedIfNotFound(Promise.resolve('it'))).toBe('it');
    expect(await undefinedIfNotFound(Promise.reject(new Error('no'))).catch(String)).toBe('Error: no');
  });

  test('is missing after a read if the API says so in any of its forms', async () => {
    expect(await found({ form: 'nothing' })).toBeUndefined();
    expect(await found({ form: 'page' })).toBe('thrown');
    expect(await found({ status: 403 })).toBe('thrown');
    expect(await found(undefined)).toBe('thrown');
  });

  test('is missing after another call, or as a named resource, only if words say so', async () => {
    const words = { title: 'Resource Not Found', detail: 'Grade object not found' };
    expect(await found(words, undefined, operations.once)).toBeUndefined();
    expect(await found({ ...words, form: 'nothing' }, undefined, operations.once)).toBe('thrown');
    expect(await found({ form: 'error' }, undefined, operations.once)).toBe('thrown');
    expect(await found(words, /grade object/i)).toBeUndefined();
    expect(await found(words, /user/i)).toBe('thrown');
  });
});
