import { list, part, section, table, text, type View } from '../../../../desk/views/view.ts';
import { plain } from '../../../../runtime/privacy/printable.ts';
import type { TablesSurvey } from '../tables.ts';

export const mappingText = (mapping: object): string => `${JSON.stringify(mapping, null, 2)}\n`;

const statusText =
  'Of a status, "is" has the values that look like those of people who are enrolled, and "not" all others in the table: correct them. A row with another value is refused.';

/** What tables hold that are not OneRoster's, and how to import them. */
export const tablesView = (
  { file, isZip, tables }: TablesSurvey,
  { given, written, isUnwritten }: { given: string; written: string | undefined; isUnwritten: boolean },
): View => {
  const formats = [...new Set(tables.flatMap(({ format }) => format ?? []))];
  const mapped = tables.filter(({ mapping }) => mapping !== undefined);
  const what =
    formats.length > 0 ? formats.join(' and ') : `${isZip ? 'tables' : 'a table'} of an unknown format`;
  return [
    { heading: `${plain(file)}: ${what}${isZip ? ', not OneRoster' : ''}` },
    table('Tables', tables, {
      File: ({ name }) => name,
      Format: ({ format }) => format,
      Rows: ({ rows }) => rows,
      Columns: ({ columns }) => columns.join(', ').slice(0, 200),
    }),
    ...tables.flatMap(
      ({ name, header }): View =>
        header === undefined
          ? []
          : [text(`${plain(name)} has no header. Put this line before its first row: ${plain(header)}`)],
    ),
    ...mapped.map(({ name, mapping }) =>
      section(
        `A mapping to start from for ${plain(name)}`,
        { document: mapping ?? {}, label: 'Mapping' },
        list([
          'Replace each null by the id that the role has on the platform; its administrators see it in the list of roles. Remove a role whose rows are not to be sent. A null under "when" stands for words that the table does not have.',
          'A column of orders, such as add and drop, makes "mode": "delta": the file has only what changed. "when" has the words that add, and "removed" those that end.',
          ...(JSON.stringify(mapping).includes('"is":') ? [statusText] : []),
          'Compare the columns that name courses and users with what the crosswalk knows: orgUnitCode is the code of an org unit, userName the login, orgDefinedId the id of the student system.',
        ]),
      ),
    ),
    mapped.length === 0 &&
      text(
        written === undefined
          ? 'No table is about enrollments, by the names of its columns. Write a mapping by the producers’ guide (events/README.md#any-csv-file), with the columns above.'
          : 'The mapping is for enrollments, and knows none of the columns. Replace each null by a column above: orgUnitCode by that of the course’s code, userName by that of the login, key by both; under values, give each word for a role its id on the platform. The producers’ guide has the other messages (events/README.md#any-csv-file).',
      ),
    ...(written === undefined ? [] : [text(`Written to ${written}.`)]),
    isUnwritten && text('Nothing was written.'),
    isZip && text('Unpack it, and write the mapping of each such table.'),
    part(
      isZip
        ? { lead: 'Next', command: `snapshots diff ${plain(mapped[0]?.name ?? 'a.csv')} --map mapping.json` }
        : written === undefined
          ? { lead: 'Next', command: `snapshots diff ${given} --write-mapping mapping.json` }
          : { lead: 'Next', command: `snapshots diff ${given} --map ${written}` },
    ),
  ];
};
