import { plain } from '../../redaction/printable.ts';
import type { DateForm, ValueCounts } from '../../snapshots/desk/package-facts.ts';
import type { Survey } from '../../snapshots/desk/survey.ts';
import { rowsTold } from '../../snapshots/rows.ts';
import { countOf, numberOf } from '../../views/amounts.ts';
import type { Note } from '../../views/view.ts';
import { noteLines } from './notes.ts';
import { rest, right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

type Print = { terminal: Terminal; given: string; writeSettings: string | undefined };

/** The settings as a file. */
export const settingsText = ({ settings }: Survey): string => `${JSON.stringify(settings, null, 2)}\n`;

/** What a package holds, and what to do next. */
export const surveyLines = (survey: Survey, print: Print): string[] => {
  const { terminal } = print;
  const { style, width } = terminal;
  const section = (title: string, lines: string[]): string[] =>
    lines.length === 0 ? [] : ['', style('bold', title), ...lines];
  const indented = (texts: string[]): string[] => texts.flatMap((text) => wrapped(text, width, '  '));
  const { file, version, files, others } = survey;
  const read = files.flatMap((each) => ('problem' in each ? [] : [each]));
  return [
    style(
      'bold',
      `${plain(file)}: ${version === undefined ? 'it does not say which OneRoster' : `OneRoster ${plain(version)}`}`,
    ),
    ...fileLines(survey, terminal),
    ...indented(others.length > 0 ? [`Not read: ${listOf(others)}.`] : []),
    ...section(
      'Roles and statuses',
      indented([
        ...statusTexts(read.flatMap(({ values }) => values)),
        ...read.flatMap(({ name, values }) =>
          values.flatMap((each) => (each.column === 'status' ? [] : valuesText(`${name}.csv, `, each))),
        ),
      ]),
    ),
    ...section(
      'Dates',
      indented(read.flatMap(({ name, dates }) => dates.map((each) => dateText(name, each)))),
    ),
    ...section('What may name org units and users', candidateLines(survey, terminal)),
    ...section('An import with the settings below', trialLines(survey, terminal)),
    ...section(`snapshot-settings.json to start from`, [
      ...settingsText(survey).trimEnd().split('\n').map(plain),
      '',
      ...explanations(survey).flatMap((note) => noteLines(note, terminal)),
    ]),
    ...nextLines(survey, print),
  ];
};

const maxListed = 12;

const listOf = (names: readonly string[]): string =>
  [
    ...names.slice(0, maxListed).map((name) => plain(name.slice(0, 100))),
    ...(names.length > maxListed ? [`${names.length - maxListed} more`] : []),
  ].join(', ');

const fileLines = ({ files }: Survey, { style, width }: Terminal): string[] => {
  const [header = '', ...rows] = tableOf(
    ['File', 'Mode', right('Rows'), right('Columns'), rest('Optional columns that it lacks')],
    files.map((each) => {
      const { name, mode } = each;
      if ('problem' in each) return [`${name}.csv`, mode, '', '', 'cannot be read'];
      const { rows, columns, missing } = each;
      return [`${name}.csv`, mode, numberOf(rows), numberOf(columns.length), missing.join(', ') || 'none'];
    }),
    width,
  );
  const damaged = files.flatMap((each) => ('damaged' in each && each.damaged > 0 ? [each] : []));
  return [
    style('dim', header),
    ...rows,
    ...damaged.map(
      ({ name, damaged }) => `${name}.csv has ${countOf(damaged, 'row')} with too few or too many cells.`,
    ),
  ];
};

/** All files have statuses, and nearly always the same. */
const statusTexts = (values: ValueCounts[]): string[] => {
  const statuses = values.filter(({ column }) => column === 'status');
  const sums = new Map<string, number>();
  for (const { value, rows } of statuses.flatMap(({ counts }) => counts))
    sums.set(value, (sums.get(value) ?? 0) + rows);
  const counts = [...sums].map(([value, rows]) => ({ value, rows }));
  const others = statuses.reduce((sum, each) => sum + each.others, 0);
  return statuses.length === 0 ? [] : [valuesText('', { column: 'status', counts, others })];
};

const valuesText = (file: string, { column, counts, others }: ValueCounts): string => {
  const told = counts.map(({ value, rows }) => `${plain(value) || '(empty)'} ${numberOf(rows)}`);
  const all = [...told, ...(others > 0 ? [`other values ${numberOf(others)}`] : [])];
  return `${file}${column}: ${all.join(', ') || 'no row'}`;
};

const dateText = (name: string, { column, form, rows, earliest, latest, example }: DateForm): string => {
  const range = earliest === undefined ? `such as ${plain(example)}` : `${earliest} to ${latest}`;
  return `${name}.csv, ${column}: as ${form} in ${countOf(rows, 'row')}, ${range}`;
};

const candidateLines = ({ candidates, crosswalk }: Survey, { style, width }: Terminal): string[] => {
  if (candidates.length === 0) return [];
  const knownText = ({ known, samples }: Survey['candidates'][number]): string => {
    const [code, name, id] = [known?.orgUnitCode, known?.userName, known?.orgDefinedId];
    return code !== undefined ? `${code} of ${samples.length}` : `${name} / ${id} of ${samples.length}`;
  };
  const [header = '', ...rows] = tableOf(
    [
      ...['File', 'Column', right('Filled'), right('Empty'), right('Double')],
      ...(crosswalk ? [right('Known')] : []),
      rest('Samples'),
    ],
    candidates.map((each) => [
      ...[each.file, each.column, numberOf(each.filled), numberOf(each.empty), numberOf(each.doubles)],
      ...(crosswalk ? [knownText(each)] : []),
      each.samples.slice(0, 3).map(plain).join(', '),
    ]),
    width,
  );
  const names = crosswalk
    ? `Known: samples that the crosswalk has, as codes of org units, and of users as user names / as org-defined ids. It has ${numberOf(crosswalk.orgUnitCode)} codes, ${numberOf(crosswalk.userName)} user names and ${numberOf(crosswalk.orgDefinedId)} org-defined ids.`
    : 'To see which of them the platform knows, give --stage: the crosswalk of a stage is asked.';
  const isEmpty = crosswalk && Object.values(crosswalk).every((count) => count === 0);
  return [
    style('dim', header),
    ...rows,
    ...wrapped(names, width, '  '),
    ...(isEmpty ? wrapped('It is empty: run crosswalk-fill, then look again.', width, '  ') : []),
  ];
};

const trialLines = ({ trial, blocks }: Survey, terminal: Terminal): string[] => {
  const indented = (text: string): string[] =>
    wrapped(text, terminal.width - 2, '  ').map((line) => `  ${line}`);
  const blocked = blocks.flatMap((text) =>
    noteLines({ tone: 'bad', text: `Blocked: ${plain(text)}.` }, terminal),
  );
  if (trial === undefined) return blocked;
  const { of, refusals } = trial;
  return [
    ...blocked,
    ...wrapped(
      `${blocks.length > 0 ? 'As it is, it' : 'It'} would send ${countOf(of, 'message')}${of > 0 ? ` (${kindsText(trial)})` : ''} once each role has an id. What becomes of its rows:`,
      terminal.width,
      '  ',
    ),
    ...rowsTold(trial, plain).flatMap(indented),
    ...(refusals.length > 0 ? ['The most frequent problems:'] : []),
    ...refusals.flatMap(({ file, line, column, problem, rows }) =>
      indented(
        `${[plain(file), line && `${rows > 1 ? 'first in ' : ''}line ${line}`, plain(column)].filter(Boolean).join(', ')}: ${plain(problem)}${rows > 1 ? ` (${countOf(rows, 'row')})` : ''}`,
      ),
    ),
  ];
};

const kindsText = ({ byKind }: NonNullable<Survey['trial']>): string =>
  Object.entries(byKind)
    .filter(([, { created }]) => created > 0)
    .map(([kind, { created }]) => `${kind} ${numberOf(created)}`)
    .join(', ') || 'none';

const chosenText = (
  what: string,
  { filled, empty, doubles, samples, known }: Survey['candidates'][number],
  kind: 'orgUnitCode' | 'userName' | 'orgDefinedId',
): string => {
  const count = known?.[kind];
  const isComplete = empty === 0 && doubles === 0;
  const state = isComplete
    ? `is filled in and unique in all ${countOf(filled, 'row')}`
    : `is empty in ${countOf(empty, 'row')} and double in ${numberOf(doubles)} (their enrollments are refused)`;
  const platform =
    count === undefined
      ? ''
      : `, and the platform knows ${numberOf(count)} of ${countOf(samples.length, 'sample')}`;
  return `${what} ${state}${platform}.`;
};

const explanations = ({ proposal }: Survey): Note[] => {
  const { orgUnit, user, roles, otherRoles, dateOrder } = proposal;
  const texts = [
    roles.length > 0
      ? 'roles: replace each null by the id that the role has on the platform; its administrators see it in the list of roles. Remove a role whose rows are not to be sent.'
      : 'roles: no row has a role. Name them as the student system will, each with its id on the platform.',
    ...(otherRoles > 0
      ? [`${countOf(otherRoles, 'row')} have a role that is not listed: it is rare, or has unusual signs.`]
      : []),
    ...(orgUnit
      ? [chosenText(`orgUnitCode: ${orgUnit.column} of ${orgUnit.file}`, orgUnit, 'orgUnitCode')]
      : []),
    ...(user ? [chosenText(`user: ${user.column} of users.csv, as ${user.field},`, user, user.field)] : []),
    ...(dateOrder === 'unknown'
      ? [
          'dateOrder: replace null by "day-month-year" or "month-day-year", as the student system writes dates.',
        ]
      : []),
  ];
  return texts.map((text) => ({ tone: 'plain', text }));
};

const nextLines = (survey: Survey, { terminal, given, writeSettings }: Print): string[] => {
  const { command } = terminal;
  const blocked = 'Next: remove what blocks the import, and look at the new export again.';
  if (survey.blocks.length > 0)
    return ['', ...(writeSettings === undefined ? [] : [`Written to ${plain(writeSettings)}.`]), blocked];
  if (writeSettings === undefined)
    return ['', `Next: ${command(`snapshots diff ${given} --write-settings snapshot-settings.json`)}`];
  return [
    '',
    ...wrapped(
      `Written to ${plain(writeSettings)}. Replace each null in it, then see what would be sent:`,
      terminal.width,
    ),
    `Next: ${command(`snapshots diff ${given} --settings ${writeSettings}`)}`,
    ...wrapped(
      'Then put it into the bucket as snapshot-settings.json, and the zip under snapshots/.',
      terminal.width,
    ),
  ];
};
