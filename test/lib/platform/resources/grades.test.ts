import { describe, expect, test } from 'vitest';
import {
  commentOf,
  type Grade,
  readGrade,
  setGradeValue,
} from '../../../../lib/platform/resources/grades.ts';
import { answering, clientAt, errorOf } from '../servers.ts';

const ids = { orgUnitId: 6606, gradeObjectId: 7, userId: 42 };
const value = '/svc/api/le/1.82/6606/grades/7/values/42';

test('a grade value is put as a whole, with both comments as objects', async () => {
  const { url, requests } = await answering(() => ({ body: '' }));
  const grade = { GradeObjectType: 1, PointsNumerator: 0 } as const;
  const comments = { comments: commentOf('Well done'), privateComments: commentOf('') };
  await setGradeValue(clientAt(url).platform, ids, { grade, ...comments });
  expect(requests).toMatchObject([{ method: 'PUT', path: value }]);
  expect(JSON.parse(requests[0]!.body)).toEqual({
    ...grade,
    Comments: { Content: 'Well done', Type: 'Text' },
    PrivateComments: { Content: '', Type: 'Text' },
  });
});

describe('the comments of a grade value', () => {
  const readComments = async (url: string) => {
    const shown = await readGrade(clientAt(url).platform, ids, 1);
    return shown && { comments: shown.comments.words, privateComments: shown.privateComments?.words };
  };
  const text = (Text: string | null, Html: string | null = null) => ({ Text, Html });
  test.each([{ message: 'maintenance' }, {}, { PrivateComments: text('a', null) }])(
    'are not taken for empty where the answer does not tell them: %j',
    async (found) => {
      const { url } = await answering(() => ({ body: JSON.stringify(found) }));
      const asked = readComments(url);
      await expect(asked).rejects.toThrow(/lacks required fields|answered with 200/);
    },
  );

  test('are not both told by every platform', async () => {
    const { url } = await answering(() => ({ body: JSON.stringify({ Comments: text('a') }) }));
    const found = await readComments(url);
    expect(found).toEqual({ comments: 'a', privateComments: undefined });
  });

  test.each<[string, object, { comments: string; privateComments: string }]>([
    [
      'as text',
      { Comments: text('a\nb', '<p>a</p>'), PrivateComments: text('c') },
      { comments: 'a\nb', privateComments: 'c' },
    ],
    [
      'without their tags, where there is nothing else',
      { Comments: text('', '<p>a &lt; b</p><p>c</p>'), PrivateComments: text(null, '<b>c</b>') },
      { comments: 'a < b\nc', privateComments: 'c' },
    ],
    [
      'with the characters that HTML writes by name or number',
      {
        Comments: text('', '<p>Sch&ouml;n: &Uuml;bung &#252;&#xDF;&#128512; &ndash; &euro;&nbsp;5</p>'),
        PrivateComments: text('', '&amp;lt; &unknown; AT&T'),
      },
      { comments: 'Schön: Übung üß😀 – € 5', privateComments: '&lt; &unknown; AT&T' },
    ],
    [
      'in the form in which they are given',
      {
        Comments: { Content: 'Please see me', Type: 'Text' },
        PrivateComments: { content: '<p>c</p>', type: 'Html' },
      },
      { comments: 'Please see me', privateComments: 'c' },
    ],
    [
      'as empty where they are an empty paragraph',
      { Comments: text('', '<p></p>'), PrivateComments: text('', '<p>&nbsp;<br/></p>') },
      { comments: '', privateComments: '' },
    ],
    [
      'as empty where they are empty',
      { Comments: text('', ''), PrivateComments: text(null, null) },
      { comments: '', privateComments: '' },
    ],
    [
      'as empty where they are null',
      { Comments: null, PrivateComments: null },
      { comments: '', privateComments: '' },
    ],
    [
      'as empty where they have no fields',
      { Comments: {}, PrivateComments: {} },
      { comments: '', privateComments: '' },
    ],
  ])('are read %s', async (_, found, expected) => {
    const { url, requests } = await answering(() => ({ body: JSON.stringify(found) }));
    expect(await readComments(url)).toEqual(expected);
    expect(requests).toMatchObject([{ method: 'GET', path: value }]);
  });

  test.each<[string, object, object]>([
    [
      'as HTML where they are shown as HTML',
      text('a', '<p><b>a</b></p>'),
      { Content: '<p><b>a</b></p>', Type: 'Html' },
    ],
    ['as text where they are not', text('a < b'), { Content: 'a < b', Type: 'Text' }],
    ['as they were given', { Content: '<i>a</i>', Type: 'Html' }, { Content: '<i>a</i>', Type: 'Html' }],
  ])('are written back %s', async (_, Comments, content) => {
    const { url } = await answering(() => ({
      body: JSON.stringify({ Comments, PrivateComments: Comments }),
    }));
    const shown = await readGrade(clientAt(url).platform, ids, 1);
    expect(shown).toMatchObject({ comments: { content }, privateComments: { content } });
  });

  test.each([
    ['{"Errors":[{"Message":"No grade value"}]}', { 'content-type': 'application/json' }],
    [
      '{"title":"Resource Not Found","status":404,"detail":"Grade value not found"}',
      { 'content-type': 'application/problem+json' },
    ],
  ])('are none where there is no value: 404 %s', async (body, headers) => {
    const { url, requests } = await answering(() => ({ status: 404, body, headers }));
    expect(await readComments(url)).toBeUndefined();
    expect(requests).toHaveLength(1);
  });

  test.each([
    [400, ''],
    [403, '{"title":"Forbidden"}'],
    // A page is not the API's: whatever is not found there, it is not the value.
    [404, '<html>Not Found</html>'],
    // It may be the path that is not found.
    [404, ''],
    [404, '404 page not found'],
    [404, '{"Errors":[]}'],
    [404, '{"title":"Resource Not Found","status":404}'],
    [404, '{"title":"Not Found","status":404,"detail":"No route for /le/1.1/6606/grades/7/values/42"}'],
    [404, '{"Message":"No HTTP resource was found that matches the request URI"}'],
    [404, '{"title":"Not Found","status":404,"detail":"User not found"}'],
    [410, ''],
    [500, ''],
    [200, ''],
    [200, 'null'],
    [200, '{"Comments":"text"}'],
    [200, '{"Comments":{"Text":[7]}}'],
    [200, '{"Comments":{"Content":"a"}}'],
    [200, '{"Comments":{"Content":"a","Type":"Markdown"}}'],
    [200, '{"Comments":{"Value":"a"}}'],
  ])('are not taken for none where they could not be read: %i %s', async (status, body) => {
    const { url } = await answering(() => ({ status, body }));
    await errorOf(readComments(url));
  });
});

describe('a grade as the platform shows it', () => {
  const value = { PointsNumerator: 0, Pass: false, Value: 'Gut', Text: '', Comments: null };
  const shown = async (type: Grade['GradeObjectType'], body: object) => {
    const { url } = await answering(() => ({ body: JSON.stringify(body) }));
    return readGrade(clientAt(url).platform, ids, type);
  };

  test.each<Grade>([
    { GradeObjectType: 1, PointsNumerator: 0 },
    { GradeObjectType: 2, Pass: false },
    { GradeObjectType: 3, Value: 'Gut' },
    { GradeObjectType: 4, Text: '' },
  ])('is what a message would set: %o', async (grade) => {
    expect(await shown(grade.GradeObjectType, value)).toMatchObject({ grade });
  });

  test('is none where the platform does not tell one of this type, and its time is none where it tells none', async () => {
    const found = await shown(1, { ...value, PointsNumerator: null });
    expect(found).toMatchObject({ grade: undefined, changedMs: Number.NaN });
    const LastModified = '2026-03-01T12:00:00.500Z';
    expect(await shown(1, { ...value, LastModified })).toMatchObject({ changedMs: Date.parse(LastModified) });
  });
});
