import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, test } from 'vitest';
import { linesOf } from '../../../lib/desk/cli/print/view.ts';
import { type Status, statusOf } from '../../../lib/desk/stage-state/status.ts';
import { statusView } from '../../../lib/desk/views/status.ts';
import { localOffice } from './cli/local-office.ts';
import { eventBody, never } from './cli/office.ts';
import { documentsIn, quietTerminal, typed } from './cli/typed.ts';

const office = localOffice({ inProcess: ['enrollment-create'] });
const functions = ['enrollment-create', 'grade-push'];
const status = () => statusOf(office.target(), { functions, signal: never });
const limit = async (creditsPerMinute: number | null) => {
  const { platform } = office.stack().description;
  const body = JSON.stringify({ creditsPerMinute, windowSeconds: 60 });
  await fetch(`${platform}/_local/rateLimit`, { method: 'POST', body });
};

beforeEach(async () => {
  await office.controls().reset();
});

describe('the pace', () => {
  test('is told by who calls: what the platform grants, what is used, and by class what was called', async () => {
    await limit(5_000);
    const { sqs, description } = office.stack();
    const send = async (userId: number, more: object = {}): Promise<string> => {
      const MessageBody = eventBody('enrollment-create', { userId });
      const QueueUrl = description.queues['enrollment-create'];
      const { MessageId = '' } = await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, ...more }));
      return MessageId;
    };
    const bulk = { MessageAttributes: { priority: { DataType: 'String', StringValue: 'bulk' } } };
    const sent = [send(301), send(302, bulk)];
    expect(await Promise.all(sent.map(async (id) => office.ended(await id)))).toEqual(['done', 'done']);
    const { pace } = await status();
    expect(pace.calls).not.toEqual([]);
    expect(pace.calls?.every((each) => each.function === 'enrollment-create' && each.refused === 0)).toBe(
      true,
    );
    const { window } = pace;
    if (typeof window !== 'object') throw new Error(`the window is ${window}`);
    // Those of the probe's two calls in any case: another container may have told last what was left after its own first call.
    expect(window.used).toBeGreaterThanOrEqual(20);
    expect(window.used! + window.remaining).toBe(window.budget);
    expect(window.budget).toBeLessThanOrEqual(5_000);
    expect(window.endsMs).toBeGreaterThan(Date.now());

    const [printed] = documentsIn<Status>((await typed(`status --stack ${office.file} --json`)).out);
    expect(printed?.pace).toMatchObject({ calls: pace.calls, window: { budget: window.budget } });
    const { out } = await typed(`status --stack ${office.file}`);
    expect(out).toMatch(
      /The platform’s budget: [\d,]+ credits, of which [\d,]+ \([\d.]+ %\) are used; it is renewed in \d+ s\./,
    );
    expect(out).toMatch(/^ {2}enrollment-create +\d+ +–$/m);
  });

  test('has a budget of which only what is left is known, where no function has called lately', async () => {
    const { pace } = await statusOf(office.target(), { functions: ['grade-push'], signal: never });
    expect(pace).toMatchObject({
      window: { remaining: expect.any(Number), budget: undefined, used: undefined },
      calls: [],
    });
  });

  test('is not known where nobody can be asked', async () => {
    const target = { ...office.target(), platform: async () => undefined, ledgerTable: undefined };
    const { pace } = await statusOf(target, { functions, signal: never });
    expect(pace).toMatchObject({ window: undefined, calls: undefined });
  });
});

const terminal = { ...quietTerminal, width: 80 };
const sinceMs = Date.parse('2026-03-01T12:05:00Z');

test.each<[string, Partial<Status['pace']>, string[]]>([
  [
    'with its classes, and the functions of each',
    {
      window: { budget: 50_000, used: 30_500, remaining: 19_500, endsMs: Date.now() + 30_000 },
      calls: [
        { function: 'enrollment-create', priority: 'urgent', calls: 3_000, refused: 3 },
        { function: 'grade-push', priority: 'urgent', calls: 1_000, refused: 0 },
        { function: 'enrollment-create', priority: 'bulk', calls: 12, refused: 0 },
      ],
    },
    [
      'The platform’s budget: 50,000 credits, of which 30,500 (61 %) are used; it is',
      '  renewed in 30 s.',
      'Calls since 12:05 UTC    All  Throttled (429)',
      'urgent                 4,000        3 (0.1 %)',
      '  enrollment-create    3,000        3 (0.1 %)',
      '  grade-push           1,000                –',
      'bulk                      12                –',
      '  enrollment-create       12                –',
    ],
  ],
  [
    'without a budget',
    { window: 'none', calls: [{ function: 'grade-push', priority: 'urgent', calls: 1, refused: 0 }] },
    [
      'The platform does not report a budget.',
      'Calls since 12:05 UTC  All  Throttled (429)',
      'urgent                   1                –',
      '  grade-push             1                –',
    ],
  ],
  [
    'without calls',
    { window: 'none', calls: [] },
    ['The platform does not report a budget. No function has called the platform since', '  12:05 UTC.'],
  ],
  [
    'as not known',
    { window: undefined, calls: undefined },
    ['The platform’s budget is not known. The calls of functions are not known.'],
  ],
])('it is printed %s', (_, pace, lines) => {
  const none = { visible: 0, inFlight: 0, delayed: 0 };
  const record = {
    queues: [],
    connection: undefined,
    waiting: [],
    options: [],
    letters: { counts: none, groups: [], seen: 0, hidden: 0, whole: true },
    pace: { window: undefined, calls: undefined, sinceMs, ...pace },
  } as unknown as Status;
  const inTime = (line: string) => line.replace(/in \d+ s\.$/, 'in 30 s.');
  const printed = linesOf(statusView(record), terminal).map(inTime);
  const from = printed.indexOf('Pace') + 1;
  expect(printed.slice(from, from + 1 + lines.length)).toEqual([...lines, '']);
});
