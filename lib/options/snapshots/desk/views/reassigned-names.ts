import { ageOf, countOf, numberOf } from '../../../../desk/views/format.ts';
import { type Cell, part, table, text, type View } from '../../../../desk/views/view.ts';
import type { ReassignedName } from '../../state/reassigned-names.ts';
import type { CodeUse } from '../code-uses.ts';

type ReassignedList = { passed: readonly ReassignedName[] | undefined };

const rowsText = (names: readonly ReassignedName[]): string => {
  const sumOf = (of: 'enrollments' | 'results'): number => names.reduce((sum, each) => sum + each[of], 0);
  const courses = new Set(names.flatMap((each) => each.courses)).size;
  return `${countOf(sumOf('enrollments'), 'enrollment')} and ${countOf(sumOf('results'), 'result')} in ${countOf(courses, 'course')}`;
};

/** There may be very many. */
const maxReassigned = 50;

const passedTable = (passed: readonly ReassignedName[], more: (typeof passedColumns)[] = []): View => [
  table('User names that passed', passed.slice(0, maxReassigned), Object.assign({}, passedColumns, ...more)),
  passed.length > maxReassigned && {
    tone: 'quiet',
    text: `The oldest ${maxReassigned} of ${numberOf(passed.length)}`,
  },
];

const passedColumns: Record<string, (each: ReassignedName) => Cell> = {
  'User name': ({ name }) => name,
  Account: ({ userId }) => String(userId),
  'Record was': ({ former }) => former,
  'Record is': ({ record }) => record,
  Age: ({ sinceMs }) => ({ sinceMs }),
  Enrollments: ({ enrollments }) => enrollments,
  Results: ({ results }) => results,
};

/** Names of users that passed to another record. */
export const reassignedView = ({ passed }: ReassignedList): View => {
  if (passed === undefined)
    return [text('User names that passed to another record of the SIS cannot be read with your role.')];
  if (passed.length === 0)
    return [text('No user name that passed to another record of the SIS waits to be accepted.')];
  return [
    part(
      ...passedTable(passed, [
        {
          Decide: ({ name }) => ({
            action: '/crosswalk-accept',
            hidden: { userName: name },
            fields: [{ reason: 'optional' }],
            buttons: [{ text: 'Both are one person' }],
          }),
        },
      ]),
    ),
    text(
      `Another record of the SIS has these names now, and the crosswalk still gives the account of the former one. ${rowsText(passed)} wait. They are used once the crosswalk gives another account.`,
    ),
    { lead: 'If both records are one person', command: 'crosswalk accept <user name>' },
    { lead: 'If that is so of all, as after a migration', command: 'crosswalk accept --all' },
    {
      action: '/crosswalk-accept',
      hidden: { all: 'yes' },
      fields: [{ reason: 'optional' }],
      summary: 'Accept all',
      buttons: [{ text: `Accept ${countOf(passed.length, 'user name')}` }],
    },
  ];
};

/** For `status`. */
export const reassignedNotes = (passed: readonly ReassignedName[]): View =>
  passed.length === 0
    ? []
    : [
        {
          tone: 'warn',
          to: '/crosswalk',
          text: `${countOf(passed.length, 'user name has', 'user names have')} passed to another record of the SIS, and the crosswalk still gives the former account, for ${ageOf(Math.min(...passed.map(({ sinceMs }) => sinceMs)))}: ${rowsText(passed)} wait`,
        },
        { command: 'crosswalk moved' },
      ];

export const reassignedPlanView = (chosen: readonly ReassignedName[]): View => [
  ...passedTable(chosen),
  text(
    `${countOf(chosen.length, 'person', 'people')}: the record that has the name now gets the account, with ${rowsText(chosen)}. If it is somebody else, do not accept: correct the account of the name in the crosswalk.`,
  ),
];

export const acceptedNamesView = (accepted: readonly ReassignedName[]): View => [
  text(
    `${countOf(accepted.length, 'user name is', 'user names are')} accepted. Their rows are used with the next import of an export that has them: a full export has them all.`,
  ),
];

/** What moves with a code, before a person accepts it. */
export const touchedView = (name: string, touched: readonly CodeUse[] | undefined): View => {
  const then = 'The next import of a file that uses the code asks before it moves them';
  if (touched === undefined)
    return [text(`What was accepted by ${name} cannot be read with your role. ${then}, and tells how many.`)];
  if (touched.length === 0) return [text(`No accepted file uses ${name}.`)];
  return [
    table(`By ${name}`, touched, {
      'Accepted file': ({ file }) => file,
      People: ({ people }) => people,
      'Enrollments and grades': ({ rows }) => rows,
    }),
    text(`They are in the former org unit. ${then}.`),
  ];
};
