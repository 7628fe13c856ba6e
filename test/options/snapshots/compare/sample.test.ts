import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { fileRules, ruled } from '../../../../lib/delivery/mapping/cell-rules.ts';
import { compareHere } from '../../../../lib/options/snapshots/desk/compare-here.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../temporary-folder.ts';
import { bucketFolder } from '../bucket-folder.ts';
import { newCrosswalk } from '../oracle/crosswalk.ts';
import { filesOf, standardTables } from '../packages.ts';
import { zipOf } from '../sis.ts';

afterAll(removeTemporaryFolders);
const integrations = await loadIntegrations();

const sampleOf = async (name: string, content: string | Buffer, settings: Record<string, object>) => {
  const folder = temporaryFolder();
  const bucket = bucketFolder(join(folder, 'bucket'));
  const crosswalk = newCrosswalk(bucket);
  crosswalk.fill('orgUnitCode', { BIO: 1 });
  crosswalk.fill('userName', { 'ada.lee': 2, '0012': 3 });
  const file = join(folder, name);
  writeFileSync(file, content);
  const texts = new Map(Object.entries(settings).map(([key, value]) => [key, JSON.stringify(value)]));
  const { sample } = await compareHere({
    file,
    store: bucket.store,
    integrations,
    texts,
    takeReport: async () => {},
  });
  return sample;
};

test('a table shows what its mapping gives for three rows, names that are not known, what is near them, and what protects them', async () => {
  const rows = ['COURSE,LOGIN', 'BIO,Ada.Lee', 'BIO,12', 'BIO,#ben', 'BIO,ada.lee', 'BIO,#cy'];
  const data = { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { value: 110 } };
  const mapping = { messages: [{ function: 'enrollment-create', data, key: ['COURSE', 'LOGIN'] }] };
  const sample = await sampleOf('people.csv', rows.join('\n'), { 'snapshot-mappings/people.json': mapping });
  expect(sample?.rows).toEqual(
    ['Ada.Lee', '12', '#ben'].map((login, at) => ({
      file: 'people.csv',
      line: at + 2,
      gives: `enrollment-create: orgUnitCode BIO, userName ${login}, roleId 110`,
    })),
  );
  expect(sample?.unknown).toEqual([
    {
      field: 'userName',
      count: 4,
      examples: expect.arrayContaining([
        { name: 'Ada.Lee', nearest: 'ada.lee', differs: 'in upper and lower case alone' },
        { name: '12', nearest: '0012', differs: 'by zeros in front alone' },
        { name: '#ben' },
      ]),
      guarded: [{ name: '#ben', by: ['hash'], count: 2 }],
    },
  ]);
});

test('what protects a name is named as a whole: the rule that is shown leaves the name alone', async () => {
  const names = ["'00123", '"=""0123"""', '"=""0124"""', "'#0045", ' ben', '„cy“', "o'hara", '="dd"'];
  const rows = ['COURSE,LOGIN', ...names.map((name) => `BIO,${name}`)];
  const data = { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { value: 110 } };
  const mapping = { messages: [{ function: 'enrollment-create', data, key: ['COURSE', 'LOGIN'] }] };
  const sample = await sampleOf('people.csv', rows.join('\n'), { 'snapshot-mappings/people.json': mapping });
  const guarded = sample?.unknown.flatMap((each) => each.guarded) ?? [];
  expect(guarded).toEqual([
    { name: "'#0045", by: ['quotes', 'hash'], count: 1 },
    { name: "'00123", by: ['quotes'], count: 2 },
    { name: '="0123"', by: ['formula'], count: 3 },
  ]);
  expect(guarded.map(({ name, by: strip }) => ruled(name, fileRules.parse({ strip })))).toEqual([
    '0045',
    '00123',
    '0123',
  ]);
});

test('an export shows the names that its settings give, and which the platform does not have', async () => {
  const files = filesOf(standardTables('bulk'), { version: '1.2', mode: 'bulk' });
  const zip = await zipOf(Object.entries(files).map(([name, content]) => ({ name, content })));
  const roles = { student: 110, teacher: 109 };
  const sample = await sampleOf('export.zip', zip, {
    'snapshot-settings.json': { roles, orgUnitCode: { from: 'classCode', case: 'lower' } },
  });
  expect(sample?.rows).toEqual([
    {
      file: 'enrollments.csv',
      line: 2,
      gives: 'enrollment-create: orgUnitCode bio, userName ada, roleId 110',
    },
    {
      file: 'enrollments.csv',
      line: 3,
      gives: 'enrollment-create: orgUnitCode bio, userName tess, roleId 109',
    },
  ]);
  expect(sample?.unknown.map(({ field, count, examples }) => [field, count, examples[0]])).toEqual([
    // Nobody is enrolled in the other class.
    ['orgUnitCode', 1, { name: 'bio', nearest: 'BIO', differs: 'in upper and lower case alone' }],
    ['userName', 2, { name: 'ada' }],
  ]);
});
