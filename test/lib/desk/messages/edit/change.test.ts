import { describe, expect, test } from 'vitest';
import { changeFrom, removalOf } from '../../../../../lib/desk/cli/actions/letters/set-option.ts';
import { changed, changedInEditor, differences } from '../../../../../lib/desk/messages/edit/change.ts';
import { inTopic, noticeOf, onBus } from '../../../../envelopes.ts';

const body = '{"data":{"grade":{"points":12},"files":[{"name":"a"},{"name":"b"}],"userId":301}}';

describe('a change', () => {
  test.each([
    ['data.grade.points=7', { data: { grade: { points: 7 } } }],
    ['data.grade.points="7"', { data: { grade: { points: '7' } } }],
    ['data.comments=Well done', { data: { comments: 'Well done' } }],
    ['data.comments=', { data: { comments: '' } }],
    ['data.comments=a=b', { data: { comments: 'a=b' } }],
    ['data.grade={"type":"text","text":"A"}', { data: { grade: { type: 'text', text: 'A' } } }],
    ['data.files[1].name=c', { data: { files: [{ name: 'a' }, { name: 'c' }] } }],
    ['data.files.0.name=c', { data: { files: [{ name: 'c' }, { name: 'b' }] } }],
    ['data.grade.pass=true', { data: { grade: { pass: true } } }],
    ['data.term.dates.first=7', { data: { term: { dates: { first: 7 } } } }],
  ])('%s sets its field and leaves the others', (text, expected) => {
    const after = JSON.parse(changed(body, [changeFrom(text)]));
    expect(after).toMatchObject(expected);
    expect(after.data.userId).toBe(301);
  });

  test('can take a field away, or an element of a list', () => {
    const after = changed(body, [removalOf('data.grade.points'), removalOf('data.files[0]')]);
    expect(JSON.parse(after)).toEqual({ data: { grade: {}, files: [{ name: 'b' }], userId: 301 } });
  });

  test.each([
    [() => changeFrom('data.grade'), /must be as in data.grade.points=7/],
    [() => changeFrom('=7'), /must be as in/],
    [
      () => changeFrom('data.grade={"points":'),
      /^--set data\.grade: the value begins as JSON, but it is not JSON \(its first fault is in line 1, column 11\)\. Correct it, .* --set 'data\.grade="\[a text\]"'\.$/,
    ],
    [() => changeFrom('data..x=7'), /must be as in/],
    [() => changeFrom('data.__proto__.x=7'), /must be as in/],
    [() => changed(body, [changeFrom('data.files[2].name=7')]), /has no field data.files.2/],
    [() => changed(body, [changeFrom('nothing.deep=7')]), /no field nothing/],
    [() => changed(body, [removalOf('data.nothing.deep')]), /has no field data.nothing/],
    [() => changed(body, [changeFrom('data.userId.deep=7')]), /that could hold deep/],
    [() => changed(body, [removalOf('data.nothing')]), /has no field data.nothing/],
    [() => changed(body, [changeFrom('grade.points=3')]), /no field grade. Did you mean data.grade.points\?/],
    [() => changed(body, [changeFrom('comments=Well')]), /no field comments. Did you mean data.comments\?/],
    [() => changed(body, [removalOf('userId')]), /no field userId. Did you mean data.userId\?/],
    [
      () => changed('{\n"a": 1\n"b": 2}', [changeFrom('a=1')]),
      /The message is not JSON \(its first fault is in line 3, column 1\), so its fields cannot be set/,
    ],
  ])('that makes no sense is refused in words', (change, reason) => {
    expect(change).toThrow(reason);
  });
});

describe('the difference', () => {
  test('names each field that changed, came or went', () => {
    const after = changed(body, [
      changeFrom('data.grade.points=7'),
      changeFrom('data.note=x'),
      removalOf('data.files[1]'),
    ]);
    expect(differences(body, after, { reveal: true })).toEqual([
      { field: 'data.grade.points', before: 12, after: 7 },
      { field: 'data.files[1].name', before: 'b', after: undefined },
      { field: 'data.note', before: undefined, after: 'x' },
    ]);
  });

  test('of a message that was not JSON is the whole of it', () => {
    expect(differences('{"data":{', '{"data":{}}', { reveal: true })).toEqual([
      { field: 'the whole message', before: '{"data":{', after: undefined },
      { field: 'data', before: undefined, after: '{}' },
    ]);
  });

  test('tells nothing personal that the message held before, where it is not revealed', () => {
    const difference = (data: object, ...changes: Parameters<typeof changed>[1]) => {
      const before = JSON.stringify({ id: 'event-1', data });
      return differences(before, changed(before, changes), { reveal: false });
    };
    expect(
      difference(
        { userId: 301, grade: { points: 12 }, comments: 'Dear Jane', 'Jane Doe': 1 },
        ...[changeFrom('id=event-2'), changeFrom('data.userId=302'), changeFrom('data.grade.points=7')],
        ...[changeFrom('data.comments=Well done, Jane'), removalOf('data.Jane Doe')],
      ),
    ).toEqual([
      { field: 'id', before: 'event-1', after: 'event-2' },
      { field: 'data.userId', before: 301, after: 302 },
      { field: 'data.grade.points', before: '•••', after: 7 },
      { field: 'data.comments', before: '•••', after: 'Well done, •••' },
      { field: 'data.•••', before: '•••', after: undefined },
    ]);
    // What is taken out of a list moves the others.
    expect(
      difference({ files: [{ name: 'a.txt' }, { name: 'Jane.pdf' }] }, removalOf('data.files[0]')),
    ).toEqual([
      { field: 'data.files[0].name', before: '•••', after: '•••.•••' },
      { field: 'data.files[1].name', before: '•••', after: undefined },
    ]);
    expect(differences('{"data":{"Jane', '{"data":"Jane 7"}', { reveal: false })).toEqual([
      { field: 'the whole message', before: '•••', after: undefined },
      { field: 'data', before: undefined, after: '••• 7' },
    ]);
  });

  test('of the same is nothing, however it is written', () => {
    expect(differences('{"a": [1, {}]}', '{"a":[1,{}]}', { reveal: true })).toEqual([]);
  });
});

describe('of an event in an envelope', () => {
  const event = {
    specversion: '1.0',
    id: 'e-1',
    source: '/sis',
    type: 'sis.grade-push.v1',
    time: '2026-01-01T00:00:00Z',
    data: { grade: { points: 12 }, comments: 'Dear Ann Lee' },
  };
  const seven = { ...event, data: { ...event.data, grade: { points: 7 } } };
  test.each([
    ['SNS', inTopic(JSON.stringify(event))],
    ['EventBridge', onBus(event)],
    ['SNS, EventBridge', inTopic(onBus(event))],
  ])('in %s, a field is set, and the event stands alone then', async (envelopes, wrapped) => {
    const after = changed(wrapped, [changeFrom('data.grade.points=7')]);
    expect(JSON.parse(after)).toEqual(seven);
    expect(differences(wrapped, after, { reveal: true })).toEqual([
      { field: 'the envelope', before: envelopes, after: undefined },
      { field: 'data.grade.points', before: 12, after: 7 },
    ]);
    expect(await changedInEditor(wrapped, async (text) => text)).toBe(wrapped);
    const saved = await changedInEditor(wrapped, async (text) => text.replace('12', '7'));
    expect(JSON.parse(saved)).toEqual(seven);
  });
  test('nothing more is shown than of the event alone', () => {
    const masked = { reveal: false, isTyped: false };
    const after = JSON.stringify({ ...event, data: { ...event.data, comments: 'Dear Eve' } });
    expect(differences(onBus(event), after, masked).slice(1)).toEqual(
      differences(JSON.stringify(event), after, masked),
    );
  });
  test('a notice of a file is edited as it is', () => {
    const after = changed(noticeOf({ key: 'a' }), [changeFrom('Records[0].s3.object.key=b')]);
    expect(after).toBe(noticeOf({ key: 'b' }));
  });
});
