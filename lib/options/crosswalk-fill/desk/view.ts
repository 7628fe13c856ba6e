import { plain } from '../../../runtime/privacy/printable.ts';
import { ageOf, countOf, numberOf } from '../../../show/views/amounts.ts';
import { type Block, type Cell, type Form, part, table, text, type View } from '../../../show/views/view.ts';
import type { PassedName } from '../../../sources/snapshots/state/passed-names.ts';
import type { Touched } from '../../snapshots/desk/touched.ts';
import type { FillResult } from './fill.ts';
import type { Held, MovedCode, MovedCodes, ShownName } from './names.ts';

const sourceText = { platform: 'the platform', file: 'the file in crosswalk/' } as const;

const idsText = (ids: readonly number[], more = 0): string =>
  [...ids, ...(more > 0 ? [`${numberOf(more)} more`] : [])].join(' and ');

type Asked = { kind: keyof typeof nameLabels; name: string };

/** As a person chooses them. */
export const nameLabels = {
  orgUnitCode: 'org unit with the code',
  userName: 'user with the name',
  orgDefinedId: 'user with the OrgDefinedId',
} as const;

export const kindLabelled = (label: string): Asked['kind'] | undefined =>
  (Object.keys(nameLabels) as Asked['kind'][]).find((kind) => nameLabels[kind] === label);

export const nameView = (shown: readonly ShownName[], { kind, name }: Asked): View =>
  shown.length === 0
    ? [
        text(
          `The crosswalk knows no ${nameLabels[kind]} ${plain(name)}. Names are exact, upper and lower case included.`,
        ),
      ]
    : shown.map((each) => text(nameText(each)));

const nameText = ({ name, source, ids, more = 0, was, accepted, writtenMs, filled }: ShownName): string => {
  const stands = `${name} stands for ${idsText(ids, more)}, according to ${sourceText[source]}`;
  const changed = writtenMs === undefined ? '' : `, unchanged for ${ageOf(writtenMs)} or longer`;
  const checked = filled === undefined ? '' : `, checked ${ageOf(filled.filledMs)} ago`;
  const ambiguous = ids.length > 1 ? ' It is ambiguous: messages with it are parked.' : '';
  const moved =
    accepted === undefined
      ? ''
      : ` Before, it stood for ${idsText(was ?? [])}. ${accepted ? 'This move is accepted' : 'Messages with it are parked until a person accepts this move'}.`;
  return `${stands}${changed}${checked}.${ambiguous}${moved}`;
};

const untoldText = (source: keyof typeof sourceText): string =>
  `No fill of the crosswalk from ${sourceText[source]} has reported moves yet, or you may not read crosswalk-state/ in the bucket.`;

export const movedView = ({ moved, untold }: MovedCodes): View => {
  const missing = untold.map((source) => text(untoldText(source)));
  if (moved.length === 0 && missing.length > 0) return missing;
  if (moved.length === 0) return [text('No move of a code to another org unit waits to be accepted.')];
  return [
    part(
      table('Moved codes', moved, {
        Code: ({ code }) => code,
        Was: ({ was }) => idsText(was),
        Is: ({ ids }) => idsText(ids),
        Age: ({ sinceMs }) => ({ sinceMs }),
        By: ({ source }) => source,
        Decide: ({ code }: MovedCode) => ({
          ...{ action: '/crosswalk-accept', hidden: { code }, fields: [{ reason: 'optional' }] },
          buttons: [{ text: 'Accept the move' }],
        }),
      }),
    ),
    text('Messages with these codes are parked.'),
    { lead: 'Accept one', command: 'crosswalk accept <code>' },
    ...missing,
  ];
};

type Passed = { passed: readonly PassedName[] | undefined };

const rowsText = (names: readonly PassedName[]): string => {
  const sumOf = (of: 'enrollments' | 'results'): number => names.reduce((sum, each) => sum + each[of], 0);
  const courses = new Set(names.flatMap((each) => each.courses)).size;
  return `${countOf(sumOf('enrollments'), 'enrollment')} and ${countOf(sumOf('results'), 'result')} in ${countOf(courses, 'course')}`;
};

/** There may be very many. */
const maxPassed = 50;

const passedTable = (passed: readonly PassedName[], more: (typeof passedColumns)[] = []): View => [
  table('User names that passed', passed.slice(0, maxPassed), Object.assign({}, passedColumns, ...more)),
  passed.length > maxPassed && {
    tone: 'quiet',
    text: `The oldest ${maxPassed} of ${numberOf(passed.length)}`,
  },
];

const passedColumns: Record<string, (each: PassedName) => Cell> = {
  'User name': ({ name }) => name,
  Account: ({ userId }) => String(userId),
  'Record was': ({ former }) => former,
  'Record is': ({ record }) => record,
  Age: ({ sinceMs }) => ({ sinceMs }),
  Enrollments: ({ enrollments }) => enrollments,
  Results: ({ results }) => results,
};

/** Names of users that passed to another record. */
export const passedView = ({ passed }: Passed): View => {
  if (passed === undefined)
    return [text('User names that passed to another record of the SIS cannot be read with your role.')];
  if (passed.length === 0)
    return [text('No user name that passed to another record of the SIS waits to be accepted.')];
  return [
    part(
      ...passedTable(passed, [
        {
          Decide: ({ name }) => ({
            ...{ action: '/crosswalk-accept', hidden: { userName: name }, fields: [{ reason: 'optional' }] },
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
      ...{ action: '/crosswalk-accept', hidden: { all: 'yes' }, fields: [{ reason: 'optional' }] },
      ...{ summary: 'Accept all', buttons: [{ text: `Accept ${countOf(passed.length, 'user name')}` }] },
    },
  ];
};

/** For `status`. */
export const passedNotes = (passed: readonly PassedName[]): View =>
  passed.length === 0
    ? []
    : [
        {
          ...{ tone: 'warn', to: '/crosswalk' },
          text: `${countOf(passed.length, 'user name has', 'user names have')} passed to another record of the SIS, and the crosswalk still gives the former account, for ${ageOf(Math.min(...passed.map(({ sinceMs }) => sinceMs)))}: ${rowsText(passed)} wait`,
        },
        { command: 'crosswalk moved' },
      ];

export const passedPlanView = (chosen: readonly PassedName[]): View => [
  ...passedTable(chosen),
  text(
    `${countOf(chosen.length, 'person', 'people')}: the record that has the name now gets the account, with ${rowsText(chosen)}. If it is somebody else, do not accept: correct the account of the name in the crosswalk.`,
  ),
];

export const acceptedNamesView = (accepted: readonly PassedName[]): View => [
  text(
    `${countOf(accepted.length, 'user name is', 'user names are')} accepted. Their rows are used with the next import of an export that has them: a full export has them all.`,
  ),
];

/** What moves with a code, before a person accepts it. */
export const touchedView = ({ name }: ShownName, touched: readonly Touched[] | undefined): View => {
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

const correctSource: Block = { tone: 'todo', text: 'Correct the source: the next fill takes it.' };

/** One problem of a file may hold several kinds of names. */
export const heldView = (held: readonly Held[]): View =>
  [...Map.groupBy(held, ({ problem }) => problem)].flatMap(
    ([problem, each]): View => [
      {
        ...{ tone: 'warn', to: '/crosswalk' },
        text: `The crosswalk keeps what it had, for ${ageOf(Math.min(...each.map(({ sinceMs }) => sinceMs)))}: ${plain(problem)}`,
      },
      correctSource,
      { lead: 'To take it at once', command: 'crosswalk fill' },
    ],
  );

/** Undefined: it has not ended. */
export const filledView = (result: FillResult | undefined): View => {
  if (result === undefined) return [text('The fill is still running. Its function continues by itself.')];
  const { outcome, message } = result;
  return outcome === 'filled'
    ? [{ tone: 'good', text: message }]
    : [{ tone: 'warn', text: plain(message) }, correctSource];
};

export const fillForm: Form = {
  action: '/crosswalk-fill',
  fields: [
    { checkbox: 'classlists', label: 'Also read users from the classlists of all courses' },
    {
      checkbox: 'acceptRemovals',
      label: 'Remove what the sources lack, however much it is: I have checked the sources',
    },
    { reason: 'optional' },
  ],
  buttons: [{ text: 'Fill now' }],
};

export const acceptQuestion = ({ name, ids, was = [] }: ShownName): string =>
  `${name} stood for org unit ${idsText(was)}, and now stands for ${idsText(ids)}.`;

export const acceptedView = ({ name, ids }: ShownName): View => [
  text(`${name} stands for org unit ${idsText(ids)} from now on.`),
  { lead: 'To replay the letters with it', command: 'letters replay --kind ambiguous-id' },
];
