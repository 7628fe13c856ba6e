import { expect, test } from 'vitest';
import { jsonOf, platformForTests } from '../fixture.ts';

const platform = platformForTests();
const path = '/svc/api/le/1.82/2001/dropbox/folders/7001';

test('a folder is linked to a grade item, and replaced whole', async () => {
  const call = platform.as(200);
  const before = await jsonOf(await call('GET', path));
  expect(before).toMatchObject({ Id: 7001, Name: 'Lab report 1', GradeItemId: null });
  const CustomInstructions = { Content: '<p>neatly</p>', Type: 'Html' };
  const linked = await call('PUT', path, {
    json: { Name: 'Lab report 1', GradeItemId: 5001, CustomInstructions },
  });
  expect(await jsonOf(linked)).toMatchObject({
    ...{ GradeItemId: 5001, CustomInstructions: { Text: 'neatly', Html: '<p>neatly</p>' } },
  });
  await call('PUT', path, { json: { Name: 'Renamed' } });
  expect(await jsonOf(await call('GET', path))).toMatchObject({
    ...{ Name: 'Renamed', GradeItemId: null, CustomInstructions: { Text: '' } },
  });
});

test.each([
  [400, 'no name', { GradeItemId: 5001 }],
  [
    400,
    'instructions in the form that is read',
    { Name: 'x', CustomInstructions: { Text: 'x', Html: null } },
  ],
  [404, 'an unknown grade item', { Name: 'x', GradeItemId: 5999 }],
  [404, 'a grade item of another course', { Name: 'x', GradeItemId: 5101 }],
])('%i for %s', async (status, _, json) => {
  expect((await platform.as(100)('PUT', path, { json })).status).toBe(status);
  expect((await platform.state('folders'))[0]).toMatchObject({ name: 'Lab report 1', gradeItemId: null });
});

test('a learner may look and not change', async () => {
  expect((await platform.as(301)('GET', path)).status).toBe(200);
  expect((await platform.as(301)('PUT', path, { json: { Name: 'x' } })).status).toBe(403);
});
