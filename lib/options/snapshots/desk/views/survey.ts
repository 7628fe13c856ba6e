import { countOf, numberOf } from '../../../../desk/views/format.ts';
import { type Block, list, part, section, table, text, type View } from '../../../../desk/views/view.ts';
import { rowsTold } from '../../package/rows.ts';
import type { DateForm, ValueCounts } from '../package-facts.ts';
import type { Survey } from '../survey.ts';
import { refusalText } from './refusals.ts';

type SurveyViewOptions = { given: string; writeSettings: string | undefined };

export const settingsText = ({ settings }: Survey): string => `${JSON.stringify(settings, null, 2)}\n`;

/** The contents of a package, and what to do next. */
export const surveyView = (survey: Survey, options: SurveyViewOptions): View => {
  const { file, version, files, others, settings } = survey;
  const read = files.flatMap((each) => ('problem' in each ? [] : [each]));
  const dates = read.flatMap(({ name, dates: all }) => all.map((each) => dateText(name, each)));
  return [
    {
      heading: `${file}: ${version === undefined ? 'it does not say which OneRoster' : `OneRoster ${version}`}`,
    },
    fileTable(survey),
    ...files.flatMap((each) =>
      'damaged' in each && each.damaged > 0
        ? [text(`${each.name}.csv has ${countOf(each.damaged, 'row')} with too few or too many cells.`)]
        : [],
    ),
    others.length > 0 && text(`Not read: ${listOf(others)}.`),
    section('Roles and statuses', ...[...statusTexts(read), ...valueTexts(read)].map((each) => text(each))),
    section('Dates', ...dates.map((each) => text(each))),
    section('What may name org units and users', ...candidateView(survey)),
    section('An import with the settings below', ...trialView(survey)),
    section(
      'snapshot-settings.json to start from',
      { document: settings, label: 'Settings' },
      ...explanations(survey).map((each) => text(each)),
    ),
    part(...nextOf(survey, options)),
  ];
};

const maxListed = 12;

const listOf = (names: readonly string[]): string =>
  [
    ...names.slice(0, maxListed).map((name) => name.slice(0, 100)),
    ...(names.length > maxListed ? [`${names.length - maxListed} more`] : []),
  ].join(', ');

const fileTable = ({ files }: Survey): Block =>
  table('Files', files, {
    File: ({ name }) => `${name}.csv`,
    Mode: ({ mode }) => mode,
    Rows: (each) => ('problem' in each ? undefined : each.rows),
    Columns: (each) => ('problem' in each ? undefined : each.columns.length),
    'Optional columns that it lacks': (each) =>
      'problem' in each ? 'cannot be read' : each.missing.join(', ') || 'none',
  });

type ReadFiles = readonly { name: string; values: ValueCounts[] }[];

const valueTexts = (read: ReadFiles): string[] =>
  read.flatMap(({ name, values }) =>
    values.flatMap((each) => (each.column === 'status' ? [] : valuesText(`${name}.csv, `, each))),
  );

/** All files have statuses, which are nearly always the same. */
const statusTexts = (read: ReadFiles): string[] => {
  const statuses = read.flatMap(({ values }) => values).filter(({ column }) => column === 'status');
  const sums = new Map<string, number>();
  for (const { value, rows } of statuses.flatMap(({ counts }) => counts))
    sums.set(value, (sums.get(value) ?? 0) + rows);
  const counts = [...sums].map(([value, rows]) => ({ value, rows }));
  const others = statuses.reduce((sum, each) => sum + each.others, 0);
  return statuses.length === 0 ? [] : [valuesText('', { column: 'status', counts, others })];
};

const valuesText = (file: string, { column, counts, others }: ValueCounts): string => {
  const texts = counts.map(({ value, rows }) => `${value || '(empty)'} ${numberOf(rows)}`);
  const all = [...texts, ...(others > 0 ? [`other values ${numberOf(others)}`] : [])];
  return `${file}${column}: ${all.join(', ') || 'no row'}`;
};

const dateText = (name: string, { column, form, rows, earliest, latest, example }: DateForm): string => {
  const range = earliest === undefined ? `such as ${example}` : `${earliest} to ${latest}`;
  return `${name}.csv, ${column}: as ${form} in ${countOf(rows, 'row')}, ${range}`;
};

const candidateView = ({ candidates, crosswalk }: Survey): View => {
  if (candidates.length === 0) return [];
  const knownText = ({ known, samples }: Survey['candidates'][number]): string => {
    const [code, name, id] = [known?.orgUnitCode, known?.userName, known?.orgDefinedId];
    return code !== undefined ? `${code} of ${samples.length}` : `${name} / ${id} of ${samples.length}`;
  };
  const names = crosswalk
    ? `Known: how many of the samples the crosswalk knows. Of org units, as codes; of users, as user names / as org-defined ids. It has ${numberOf(crosswalk.orgUnitCode)} codes, ${numberOf(crosswalk.userName)} user names and ${numberOf(crosswalk.orgDefinedId)} org-defined ids.`
    : 'To see which of them the platform knows, name a stage: its crosswalk is asked.';
  const isEmpty = crosswalk && Object.values(crosswalk).every((count) => count === 0);
  return [
    table('What may name org units and users', candidates, {
      File: ({ file }) => file,
      Column: ({ column }) => column,
      Filled: ({ filled }) => filled,
      Empty: ({ empty }) => empty,
      Double: ({ doubles }) => doubles,
      ...(crosswalk && { Known: knownText }),
      Samples: ({ samples }) => samples.slice(0, 3).join(', '),
    }),
    text(names),
    isEmpty && text('It is empty: run crosswalk-fill, then look again.'),
  ];
};

const trialView = ({ trial, blocks }: Survey): View => {
  const blocked = blocks.map((each) => ({ tone: 'bad' as const, text: `Blocked: ${each}.` }));
  if (trial === undefined) return blocked;
  const { of, refusals } = trial;
  return [
    ...blocked,
    text(
      `${blocks.length > 0 ? 'As it is, it' : 'It'} would send ${countOf(of, 'message')}${of > 0 ? ` (${kindsText(trial)})` : ''} once each role has an id. What becomes of its rows:`,
    ),
    list(rowsTold(trial)),
    ...(refusals.length > 0 ? [text('The most frequent problems:'), list(refusals.map(refusalText))] : []),
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

const explanations = ({ proposal }: Survey): string[] => {
  const { orgUnit, user, roles, otherRoles, dateOrder } = proposal;
  return [
    roles.length > 0
      ? 'roles: replace each null by the id that the role has on the platform; its administrators see it in the list of roles. Move a role whose rows are not to be sent to "rolesNotSent".'
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
};

const nextOf = ({ blocks }: Survey, { given, writeSettings }: SurveyViewOptions): View => {
  const written = writeSettings === undefined ? [] : [text(`Written to ${writeSettings}.`)];
  if (blocks.length > 0)
    return [...written, text('Next: remove what blocks the import, and look at the new export again.')];
  if (writeSettings === undefined)
    return [{ lead: 'Next', command: `snapshots diff ${given} --write-settings snapshot-settings.json` }];
  return [
    ...written,
    text('Replace each null in it, then see what would be sent:'),
    { lead: 'Next', command: `snapshots diff ${given} --settings ${writeSettings}` },
    text('Then put it into the bucket as snapshot-settings.json, and the zip under snapshots/.'),
  ];
};
