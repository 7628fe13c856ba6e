import { expect, test } from 'vitest';
import { requestedIn } from '../../../lib/options/course-export/export-request.ts';
import { sectionOf } from '../../documents.ts';

test('the example of an export is one that the function takes', () => {
  const section = sectionOf('lib/options/course-export/README.md', '### Export courses');
  const [, payload = ''] = /--payload \\\n {2}'([^']+)'/.exec(section) ?? [];
  expect(requestedIn(JSON.parse(payload)).request).toMatchObject({
    orgUnitIds: [2001, 2002],
    orgUnitType: 3,
  });
});
