import { describe, expect, test } from 'vitest';
import { type Office, officesForTests } from '../../cli/office.ts';
import { exportFrom, importInto } from '../operator.ts';

const offices = officesForTests();

describe('an export', () => {
  test('has every letter that matches as a line, and leaves them where they are', async () => {
    const office = await offices.open();
    await office.park([{}, {}, { failure: { kind: 'invalid' } }]);
    const { lines, exported: count } = await exportFrom(office, { filter: { kind: ['rejected'] } });
    expect(count).toBe(2);
    expect(lines.map((line) => JSON.parse(line).kind)).toEqual(['rejected', 'rejected']);
    expect(await office.take(office.deadLetters.url)).toHaveLength(3);
    expect(office.audited.at(-1)).toMatchObject({
      command: 'letters export',
      reason: 'a test',
      counts: { exported: 2 },
      file: 'letters.jsonl',
    });
  });

  test('ends at its limit', async () => {
    const office = await offices.open();
    await office.park(Array.from({ length: 25 }, () => ({})));
    expect((await exportFrom(office, { limit: 3 })).lines).toHaveLength(3);
    expect(await office.take(office.deadLetters.url)).toHaveLength(25);
  });
});

describe('an import', () => {
  test('brings back exactly the letters of an export, under their ids', async () => {
    const office = await offices.open();
    await office.park([
      {
        body: 'one \u{1F393}',
        attributes: { trace: { DataType: 'String.custom', StringValue: 'é' } },
        replays: 7,
      },
      { function: 'enrollment-create' },
    ]);
    await office.send(office.deadLetters.url, [
      { MessageBody: 'garbage', MessageAttributes: { failure: { DataType: 'Number', StringValue: '1' } } },
    ]);
    await office.list();
    const { lines } = await exportFrom(office);
    const core = (messages: Awaited<ReturnType<Office['take']>>) =>
      messages
        .map(({ Body, MessageAttributes: { letterId: _, ...attributes } = {} }) => ({ Body, attributes }))
        .sort((a, b) => `${a.Body}`.localeCompare(`${b.Body}`));
    const before = core(await office.take(office.deadLetters.url));
    expect(await importInto(office, lines)).toEqual({ letters: 3, imported: 3, problems: [] });
    const after = await office.take(office.deadLetters.url);
    expect(core(after)).toEqual(before);
    expect(after.map(({ MessageAttributes }) => MessageAttributes?.letterId?.StringValue).sort()).toEqual(
      lines.map((line) => JSON.parse(line).id).sort(),
    );
  });

  const text = { type: 'String', text: 'of the producer' };
  test.each([
    ['that has no attributes', {}, 2],
    ['whose producer calls something else its source', { source: text }, 2],
    ['that has ten attributes', Object.fromEntries([...'abcdefghij'].map((name) => [name, text])), 10],
  ])('keeps the source of a letter %s, where SQS moved it and would no longer tell it', async (...given) => {
    const [, attributes, count] = given;
    const office = await offices.open();
    const source = office.queueOf('grade-push').arn;
    await importInto(office, [JSON.stringify({ body: 'b', attributes, source })]);
    const [message] = await office.take(office.deadLetters.url);
    expect(message?.MessageAttributes).toMatchObject({ source: { DataType: 'String', StringValue: source } });
    expect(Object.keys(message?.MessageAttributes ?? {})).toHaveLength(count);
  });

  test('of a file with a bad line imports nothing, and names the line', async () => {
    const office = await offices.open();
    const good = JSON.stringify({ body: 'b', attributes: {}, source: '' });
    const lines = [
      good,
      'no JSON',
      '',
      '{"body":7}',
      JSON.stringify({ body: 'b', attributes: { x: { type: 'Binary', base64: '!' } }, source: '' }),
    ];
    const { imported: count, problems } = await importInto(office, lines);
    expect(count).toBe(0);
    expect(problems.map(({ line, problem }) => `${line} ${problem}`)).toEqual([
      '2 is not JSON',
      '4 is not a letter: body, attributes, source',
      '5 is not a letter: attributes.x.base64',
    ]);
    expect(await office.take(office.deadLetters.url)).toEqual([]);
  });

  test('of what SQS would not take imports nothing, and names the line', async () => {
    const office = await offices.open();
    const line = (body: string, attributes: object = {}) => JSON.stringify({ body, attributes, source: '' });
    const text = (value: string) => ({ type: 'String', text: value });
    const lines = [
      line('tab\t, line\r\n, delete\u007F and \u{1F600}'),
      line('nothing\u0000'),
      line('b', { x: text('\uFFFF') }),
      line('half of \uD83D'),
      line('b'.repeat(1_048_576 - 7), { x: text('12') }),
      line('b', Object.fromEntries([...'abcdefghijk'].map((name) => [name, text('x')]))),
      line('b'.repeat(1_048_576)),
    ];
    const { imported: count, problems } = await importInto(office, lines);
    expect(count).toBe(0);
    expect(problems.map(({ line: at, problem }) => `${at} ${problem}`)).toEqual([
      '2 holds U+0000, a character that SQS does not accept',
      '3 holds U+FFFF, a character that SQS does not accept',
      '4 holds U+D83D, a character that SQS does not accept',
      '5 is larger than 1 MiB, the most that SQS accepts',
      '6 has more than 10 attributes, the most that SQS accepts',
      '7 is larger than 1 MiB, the most that SQS accepts',
    ]);
    expect(await office.take(office.deadLetters.url)).toEqual([]);
  });

  test('tells which lines SQS refused', async () => {
    const office = await offices.open();
    const name = office.deadLetters.url.split('/').at(-1);
    await office.fault({ action: 'SendMessageBatch', name, failedEntries: 1 });
    const lines = ['a', 'b', 'c'].map((body) => JSON.stringify({ body, attributes: {}, source: '' }));
    const { problems, ...counts } = await importInto(office, lines);
    await office.clearFaults();
    const there = (await office.take(office.deadLetters.url)).map(({ Body }) => Body);
    expect(counts).toEqual({ letters: 3, imported: 2 });
    const refused = ['a', 'b', 'c'].findIndex((body) => !there.includes(body));
    expect(problems).toEqual([{ line: refused + 1, problem: 'SQS refused it: InternalError' }]);
  });

  test('can be tried without sending anything', async () => {
    const office = await offices.open();
    const lines = [JSON.stringify({ body: 'b', attributes: {}, source: '' })];
    expect(await importInto(office, lines, true)).toMatchObject({ letters: 1, imported: 0 });
    expect(office.audited).toEqual([]);
  });
});
