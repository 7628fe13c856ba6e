import { describe, expect, test } from 'vitest';
import { RefusedError } from '../../../../../lib/stage/command-errors.ts';
import { waitLimitMs } from '../../../../limits.ts';
import { eventBody, failureOf, type Office, officesForTests } from '../../cli/office.ts';
import { editAt } from '../operator.ts';

const offices = officesForTests();

/** It waits for what comes of the message as long as a busy machine takes, unless nothing is to come. */
const edit = (office: Office, id: string, options: Parameters<typeof editAt>[1] = {}) =>
  editAt(office, {
    filter: { id: [id] },
    reason: 'points above the maximum',
    reveal: true,
    waitSeconds: waitLimitMs / 1_000,
    ...options,
  });

describe('an edited message', () => {
  test('goes to its queue one replay older, and says who changed it, when, why, and where the original is', async () => {
    const office = await offices.open();
    const body = eventBody();
    const [id = ''] = await office.park([
      { body, replays: 1, attributes: { trace: { DataType: 'String', StringValue: 'abc' } } },
      {},
    ]);
    const { ended, plan, counts, originals } = await edit(office, id, { waitSeconds: 0.1 });
    const { [id]: original = '' } = originals;
    expect({ ended, counts }).toMatchObject({ ended: 'done', counts: { sent: 1, unknown: 1 } });
    expect(plan.difference).toEqual([{ field: 'data.grade.points', before: 8.5, after: 7 }]);
    const [message] = await office.take(office.queueOf('grade-push').url);
    expect(message?.Body).toBe(body.replace('"points":8.5', '"points":7'));
    expect(message?.MessageAttributes).toMatchObject({
      trace: { StringValue: 'abc' },
      replays: { StringValue: '2' },
    });
    expect(JSON.parse(message?.MessageAttributes?.history?.StringValue ?? '')).toEqual({
      firstAt: failureOf().firstAt,
      left: 0,
      deeds: [
        {
          what: 'edited',
          by: 'a test',
          letter: id,
          kind: 'rejected',
          original,
          at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
          why: 'points above the maximum',
        },
      ],
    });
    const kept = (await office.objects('edited/')).get(original.replace(`s3://${office.bucket}/`, ''));
    expect(JSON.parse(kept ?? '')).toMatchObject({ id, body });
    expect(await office.take(office.deadLetters.url)).toHaveLength(1);
  });

  test('that fails again is a letter with its story, and why it came back is told', async () => {
    const office = await offices.open();
    const [id = ''] = await office.park([{}]);
    const worker = office.work('grade-push', () => ({ kind: 'missing-permission', title: 'Forbidden' }));
    expect(await edit(office, id)).toMatchObject({
      counts: { sent: 1, cameBack: 1, cameBackAs: [{ kind: 'missing-permission' }] },
    });
    await worker.stop();
    const [letter] = await office.take(office.deadLetters.url);
    expect(letter?.MessageAttributes).toMatchObject({
      history: { StringValue: expect.stringContaining('points above') },
    });
  });

  test('may be mended from what was no JSON at all', async () => {
    const office = await offices.open();
    const [id = ''] = await office.park([
      { body: '{"specversion":"1.0","data":{', failure: { kind: 'invalid' } },
    ]);
    await edit(office, id, { change: async () => eventBody(), waitSeconds: 0.1 });
    expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(1);
  });
});

describe('a message is sent only when its function would take it', () => {
  test('what is wrong is told, and the change asked for again', async () => {
    const office = await offices.open();
    const [id = ''] = await office.park([{}]);
    const problems: (string | undefined)[] = [];
    await edit(office, id, {
      waitSeconds: 0.1,
      change: async (body, problem) => {
        problems.push(problem);
        return body.replace(/"points":[^}]*/, problem === undefined ? '"points":"many"' : '"points":6');
      },
    });
    expect(problems).toEqual([undefined, expect.stringMatching(/data\.grade\.points: must be a number/)]);
    const [message] = await office.take(office.queueOf('grade-push').url);
    expect(JSON.parse(message?.Body ?? '').data.grade.points).toBe(6);
  });

  test.each([
    ['it gives up', { change: async () => Promise.reject(new RefusedError('given up')) }, 'given up'],
    ['nothing was changed', { change: async (body: string) => body }, /Nothing was changed/],
  ])('where %s, the letter stays as it was', async (_, options, reason) => {
    const office = await offices.open();
    const [id = ''] = await office.park([{}]);
    await expect(edit(office, id, options)).rejects.toThrow(reason);
    expect(await office.take(office.queueOf('grade-push').url)).toEqual([]);
    expect(await office.take(office.deadLetters.url)).toHaveLength(1);
    expect(office.audited.at(-1)).toMatchObject({ audit: 'end', counts: { sent: 0 } });
  });

  test('and confirmed', async () => {
    const office = await offices.open();
    const [id = ''] = await office.park([{}]);
    expect(await edit(office, id, { confirm: async () => false })).toMatchObject({ ended: 'declined' });
    expect(await office.take(office.deadLetters.url)).toHaveLength(1);
  });

  test('not where the original cannot be kept', async () => {
    const office = await offices.open();
    const [id = ''] = await office.park([{}]);
    const broken = { ...office, target: { ...office.target, bucket: async () => undefined } };
    await expect(edit(broken, id)).rejects.toThrow('Pass --bucket');
    expect(await office.take(office.deadLetters.url)).toHaveLength(1);
  });
});

test('a letter that is not ours cannot be edited', async () => {
  const office = await offices.open();
  const [id = ''] = await office.send(office.deadLetters.url, [{ MessageBody: 'garbage' }]);
  await office.list();
  await expect(edit(office, id)).rejects.toThrow(/only be exported or discarded/);
});

test.each([
  ['uncertain', /If it was done, discard it\. If it was not, pass --include-uncertain to send it/],
  [
    'outdated',
    /If something newer is there, discard the letter\. If not, pass --include-uncertain to send it/,
  ],
] as const)('a letter that is %s is edited only where that is asked for', async (kind, says) => {
  const office = await offices.open();
  const [id = ''] = await office.park([{ failure: { kind } }]);
  await expect(edit(office, id)).rejects.toThrow(says);
  expect(await office.take(office.queueOf('grade-push').url)).toEqual([]);
  await edit(office, id, { includeUncertain: true, waitSeconds: 0.1 });
  expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(1);
});

describe('many letters at once', () => {
  const noPoints = (comments = 'x') => eventBody('grade-push', { grade: null, comments });
  const set = (body: string) => body.replace('"grade":null', '"grade":{"type":"numeric","points":7}');

  test('are changed alike, the difference of the first is shown, and of all how many', async () => {
    const office = await offices.open();
    const failure = { kind: 'invalid' as const };
    await office.park([
      ...Array.from({ length: 14 }, () => ({ body: noPoints(), failure })),
      { body: eventBody(), failure },
      { body: '{"no":"message"}', failure },
      {},
    ]);
    const worker = office.work('grade-push');
    const { plan, counts, originals } = await edit(office, '', {
      filter: { kind: ['invalid'] },
      change: async (body) => set(body),
    });
    await worker.stop();
    expect(plan).toMatchObject({
      letters: 14,
      unchanged: 1,
      refused: [{ problem: expect.stringContaining('is missing') }],
      fields: { 'data.grade.points': 14, 'data.grade.type': 14 },
    });
    expect(counts).toMatchObject({ sent: 14, through: 14 });
    expect(Object.keys(originals)).toHaveLength(14);
    expect(await office.take(office.deadLetters.url)).toHaveLength(3);
  });

  test('with different values of a field are told to get one', async () => {
    const office = await offices.open();
    const withPoints = (points: string) => eventBody().replace('"points":8.5', `"points":"${points}"`);
    const bodies = ['8,5', '9,25', '3,0', '3,0'].map(withPoints);
    await office.park(bodies.map((body) => ({ body, failure: { kind: 'invalid' as const } })));
    const merged = async (change: (body: string) => string) => {
      const { plan } = await edit(office, '', {
        filter: {},
        reveal: false,
        confirm: async () => false,
        change: async (body) => change(body),
      });
      return plan.merged;
    };
    expect(await merged((body) => body.replace(/"points":"[\d,]+"/, '"points":7'))).toEqual([
      { field: 'data.grade.points', values: 3, into: 1 },
    ]);
    expect(await merged((body) => body.replace(/"points":"(\d),(\d+)"/, '"points":$1.$2'))).toEqual([]);
  });

  test('of which one needs a decision are not changed: it is named, with what leaves it out or sends it', async () => {
    const office = await offices.open();
    const [id = ''] = await office.park([{ failure: { kind: 'uncertain' } }, {}, {}]);
    await expect(edit(office, '', { filter: {} })).rejects.toThrow(
      `Nothing was changed: 1 of the 3 letters needs your decision (${id.slice(0, 8)}). To edit only the others, filter by kind. It is not known whether this was done, `,
    );
    expect(await office.take(office.deadLetters.url)).toHaveLength(3);
  });

  test('can only be opened one by one', async () => {
    const office = await offices.open();
    await office.park([{}, {}]);
    await expect(edit(office, '', { filter: {}, isOpened: true })).rejects.toThrow(/Pass --set or --unset/);
  });

  test('that somebody else changed meanwhile are left alone', async () => {
    const office = await offices.open();
    await office.park([{}, {}, {}]);
    const confirm = async () =>
      (await edit(office, '', { filter: {}, limit: 1, waitSeconds: 0.1 })).ended === 'done';
    const { counts } = await edit(office, '', { filter: {}, confirm, waitSeconds: 0.1 });
    expect(counts).toMatchObject({ sent: 2, gone: 1 });
    expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(3);
  });
});
