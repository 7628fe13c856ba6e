import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import {
  maxErrorBytes,
  type Receiver,
  readStart,
  receive,
} from '../../../../lib/runtime/aws/receive-answer.ts';

/** A request whose answer comes as the test says, and what became of it. */
const asked = ({ signal, ...more }: Partial<Receiver> = {}) => {
  const happened: unknown[] = [];
  const attempt = new AbortController();
  let handler: Dispatcher.DispatchHandler | undefined;
  const dispatcher = {
    dispatch: (_: unknown, given: Dispatcher.DispatchHandler) => {
      handler = given;
    },
  } as unknown as Dispatcher;
  const controller = {
    abort: (reason: Error) => happened.push(`aborted: ${reason.message}`),
  } as unknown as Dispatcher.DispatchController;
  const given = signal ?? attempt.signal;
  receive(
    dispatcher,
    { path: '/', method: 'GET' },
    {
      signal: given,
      maximumBytes: 10,
      onStart: () => happened.push('started'),
      onHead: (status) => happened.push(`head ${status}`),
      onAnswer: ({ headers: _, ...answer }) => happened.push(answer),
      onError: (error) => happened.push(error),
      ...more,
    },
  );
  return {
    happened,
    abort: () => attempt.abort(new Error('time is over')),
    listeners: () => getEventListeners(given, 'abort').length,
    isDispatched: () => handler !== undefined,
    start: () => handler?.onRequestStart?.(controller, {}),
    head: (status: number) => handler?.onResponseStart?.(controller, status, {}, ''),
    data: (text: string) => handler?.onResponseData?.(controller, Buffer.from(text)),
    end: () => handler?.onResponseEnd?.(controller, {}),
    cut: () => handler?.onResponseError?.(controller, new Error('reset')),
  };
};

describe('an answer', () => {
  test('is told once, whole, and what follows it is not', () => {
    const { happened, listeners, start, head, data, end, cut, abort } = asked();
    start();
    head(103);
    head(201);
    expect(listeners()).toBe(1);
    data('12345');
    data('67890');
    end();
    expect(listeners()).toBe(0);
    const whole = ['started', 'head 201', { status: 201, text: '1234567890' }];
    expect(happened).toEqual(whole);
    end();
    cut();
    abort();
    expect(happened).toEqual(whole);
  });

  test('may be empty, and nobody need ask for its head', () => {
    const { happened, head, end } = asked({ onHead: undefined });
    head(204);
    end();
    expect(happened).toEqual([{ status: 204, text: '' }]);
  });

  test('that is a success and too long is told by its start', () => {
    const { happened, head, data } = asked({ maximumBytes: maxErrorBytes + 10 });
    head(200);
    data('x'.repeat(maxErrorBytes + 10));
    expect(happened).toEqual(['head 200']);
    data('x');
    expect(happened.slice(1)).toEqual([
      { status: 200, text: 'x'.repeat(maxErrorBytes), isTooLong: true },
      'aborted: enough was read',
    ]);
  });

  test.each([199 + 101, 302, 404, 500])('of status %i is read to as much as an error has', (status) => {
    const { happened, head, data } = asked();
    head(status);
    data('x'.repeat(maxErrorBytes - 1));
    expect(happened).toEqual([`head ${status}`]);
    data('yz');
    const text = `${'x'.repeat(maxErrorBytes - 1)}y`;
    expect(happened.slice(1)).toEqual([{ status, text }, 'aborted: enough was read']);
  });

  test('that is cut off is what had come', () => {
    const { happened, listeners, head, data, cut } = asked();
    head(400);
    data('{"title":');
    cut();
    cut();
    expect(happened).toEqual([
      'head 400',
      { status: 400, text: '{"title":', cutBy: expect.objectContaining({ message: 'reset' }) },
    ]);
    expect(listeners()).toBe(0);
  });

  test('that never began is an error, once', () => {
    const { happened, listeners, start, cut, end } = asked();
    start();
    cut();
    cut();
    end();
    expect(happened).toEqual(['started', expect.objectContaining({ message: 'reset' })]);
    expect(listeners()).toBe(0);
  });
});

describe('the end of the time', () => {
  const over = expect.objectContaining({ message: 'time is over' });

  test('before the call sends nothing', () => {
    const { happened, isDispatched, listeners } = asked({
      signal: AbortSignal.abort(new Error('time is over')),
    });
    expect(happened).toEqual([over]);
    expect(isDispatched()).toBe(false);
    expect(listeners()).toBe(0);
  });

  test('before there is a connection ends the request as soon as there is one', () => {
    const { happened, abort, start } = asked();
    abort();
    expect(happened).toEqual([over]);
    start();
    expect(happened).toEqual([over, 'aborted: time is over']);
  });

  test('while the answer is awaited ends the call and its connection', () => {
    const { happened, listeners, abort, start, cut } = asked();
    start();
    abort();
    cut();
    expect(happened).toEqual(['started', over, 'aborted: time is over']);
    expect(listeners()).toBe(0);
  });
});

describe('the start of a stream', () => {
  const startOf = (pieces: Iterable<Buffer> | AsyncIterable<Buffer>) =>
    readStart({ statusCode: 400, headers: {}, body: Readable.from(pieces) } as Dispatcher.ResponseData);

  test('is all of a short one', async () => {
    expect(await startOf([Buffer.from('ab'), Buffer.from('cd')])).toEqual({
      status: 400,
      headers: {},
      text: 'abcd',
    });
  });

  test('is as much as an error has, and no more is read', async () => {
    let read = 0;
    const endless = function* () {
      for (; read < 100; read += 1) yield Buffer.alloc(maxErrorBytes / 2, 'x');
    };
    expect((await startOf(endless())).text).toBe('x'.repeat(maxErrorBytes));
    expect(read).toBeLessThan(100);
  });

  test('of one that is cut off is what had come', async () => {
    const cut = async function* () {
      yield Buffer.from('ab');
      throw new Error('reset');
    };
    expect(await startOf(cut())).toEqual({
      status: 400,
      headers: {},
      text: 'ab',
      cutBy: expect.objectContaining({ message: 'reset' }),
    });
  });
});
