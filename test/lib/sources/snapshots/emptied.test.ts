import { afterAll, beforeAll, expect, test } from 'vitest';
import { rowsTold } from '../../../../lib/sources/snapshots/package/rows.ts';
import { removeTemporaryFolders } from '../../../temporary-folder.ts';
import { type importedOf, newImports } from './imports.ts';

// What a table's cell means that had a value and is empty now. All cases share one import a night.

afterAll(removeTemporaryFolders);

const essay = { orgUnitCode: { value: 'BIO' }, gradeObjectName: { value: 'Essay' }, userName: 'LOGIN' };
const mapping = {
  messages: [
    {
      ...{ function: 'grade-push', key: ['LOGIN'], when: { OF: ['grade'] } },
      data: { ...essay, 'grade.type': { value: 'numeric' }, 'grade.points': 'POINTS', comments: 'TEXT' },
    },
    {
      ...{ function: 'grade-push', key: ['LOGIN'], when: { OF: ['cleared'] } },
      data: {
        ...{ ...essay, 'grade.type': { value: 'numeric' }, 'grade.points': 'POINTS' },
        comments: { from: 'TEXT', default: '' },
      },
    },
  ],
};
/** By user: points and text of each night, after a comma. */
const cells: Record<string, [of: string, ...nights: string[]]> = {
  emptied: ['grade', '7,Well done', '7,', '8,', '8,""', '8,'],
  back: ['grade', '7,Well done', '7,', '7,Well done', '7,Better', '7,Better'],
  never: ['grade', '7,', '7,', '7,', '7,', '7,'],
  moved: ['grade', '7,Well done', ',', '7,Well done', '7,Well done', '7,Well done'],
  default: ['cleared', '7,Well done', '7,', '7,', '7,', '7,'],
};
const nights = [1, 2, 3, 4, 5];

let imported: Awaited<ReturnType<typeof importedOf>>[];
beforeAll(async () => {
  const { bucket, drop } = newImports({ maxChangesPercent: 100 });
  bucket.write('snapshot-mapping.json', JSON.stringify(mapping));
  imported = [];
  for (const night of nights) {
    const rows = Object.entries(cells).map(([login, [of, ...each]]) => `${login},${of},${each[night - 1]}`);
    imported.push(await drop(['LOGIN,OF,POINTS,TEXT', ...rows, ''].join('\n'), 'snapshots/grades.csv'));
  }
});

/** What is sent of a user in each night, as `7 Well done`. */
const sentOf = (login: string): string[] =>
  imported.map(({ bodies }) =>
    bodies
      .filter(({ data }) => data.userName === login)
      .map(({ data: { grade, comments } }) => `${(grade as { points: number }).points} ${comments}`)
      .join(),
  );
/** The nights in which the report names the row of a user. */
const toldOf = (login: string): number[] => {
  const line = Object.keys(cells).indexOf(login) + 2;
  const told = `"grades.csv","${line}","TEXT","is empty without quotation marks, so the platform keeps the value that was sent. To clear it, write """" there"`;
  return nights.filter((night) => imported[night - 1]?.report.some((each) => each === told));
};

test('a cell that is emptied without quotation marks sends nothing of its field, and is told until it is cleared', () => {
  expect(sentOf('emptied')).toEqual(['7 Well done', '', '8 undefined', '8 ', '']);
  expect(toldOf('emptied')).toEqual([2, 3]);
});

test('a cell that has its value again sends nothing, and another value is sent', () => {
  expect(sentOf('back')).toEqual(['7 Well done', '', '', '7 Better', '']);
  expect(toldOf('back')).toEqual([2]);
});

test('a cell that never had a value is not told', () => {
  expect(sentOf('never')).toEqual(['7 undefined', '', '', '', '']);
  expect(toldOf('never')).toEqual([]);
});

test('a row of which a value is missing that its message needs is refused', () => {
  expect(sentOf('moved')).toEqual(['7 Well done', '', '', '', '']);
  expect(toldOf('moved')).toEqual([]);
  expect(imported[1]?.report.filter((told) => told.includes('"5","POINTS"'))).toHaveLength(1);
});

test('a cell whose field has a default is cleared by it', () => {
  expect(sentOf('default')).toEqual(['7 Well done', '7 ', '', '', '']);
  expect(toldOf('default')).toEqual([]);
});

test('its rows are counted by themselves, with the next step', () => {
  expect(imported[1]?.record.rows).toEqual({ 'grades.csv': { used: 2, emptied: 2, refused: 1 } });
  expect(rowsTold(imported[1]?.record ?? {}).join(' ')).toMatch(
    /2 used, with an empty cell whose last value stays, .*To clear that, write "" in the cell, or give its field a default/,
  );
});
