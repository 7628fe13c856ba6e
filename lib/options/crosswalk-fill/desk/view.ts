import { fillCommand } from '../../../crosswalk/unknown-id.ts';
import { ageOf, numberOf } from '../../../desk/views/format.ts';
import { type Block, type Form, part, stepOf, table, text, type View } from '../../../desk/views/view.ts';
import { plain } from '../../../runtime/privacy/printable.ts';
import { crosswalkFiles } from '../files.ts';
import type { FillResult } from './fill.ts';
import type { HeldName, MovedCode, MovedCodes, ShownName } from './names.ts';

const sourceText = { platform: 'the platform', file: 'the file in crosswalk/' } as const;

const idsText = (ids: readonly number[], more = 0): string =>
  [...ids, ...(more > 0 ? [`${numberOf(more)} more`] : [])].join(' and ');

type NameQuery = { kind: keyof typeof nameLabels; name: string };

/** As a person chooses them. */
export const nameLabels = {
  orgUnitCode: 'org unit with the code',
  userName: 'user with the name',
  orgDefinedId: 'user with the OrgDefinedId',
} as const;

export const kindLabelled = (label: string): NameQuery['kind'] | undefined =>
  (Object.keys(nameLabels) as NameQuery['kind'][]).find((kind) => nameLabels[kind] === label);

export const nameView = (shown: readonly ShownName[], { kind, name }: NameQuery): View =>
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
          action: '/crosswalk-accept',
          hidden: { code },
          fields: [{ reason: 'optional' }],
          buttons: [{ text: 'Accept the move' }],
        }),
      }),
    ),
    text('Messages with these codes are parked.'),
    { lead: 'Accept one', command: 'crosswalk accept <code>' },
    ...missing,
  ];
};

const correctSource: Block = { tone: 'todo', text: 'Correct the source: the next fill takes it.' };

/** One problem of a file may hold several kinds of names. */
export const heldView = (held: readonly HeldName[]): View =>
  [...Map.groupBy(held, ({ problem }) => problem)].map(([problem, each]) =>
    stepOf(
      [
        {
          tone: 'warn',
          to: '/crosswalk',
          text: `The crosswalk keeps what it had, for ${ageOf(Math.min(...each.map(({ sinceMs }) => sinceMs)))}: ${plain(problem)}`,
        },
        correctSource,
        { lead: 'To take it at once', command: 'crosswalk fill' },
      ],
      'today',
    ),
  );

/** Undefined: it has not ended. */
export const filledView = (result: FillResult | undefined): View => {
  if (result === undefined) return [text('The fill is still running. Its function continues by itself.')];
  const { outcome, message, unread = [], withoutUsers = false } = result;
  return [
    ...(outcome === 'filled'
      ? [{ tone: 'good' as const, text: message }]
      : [{ tone: 'warn' as const, text: plain(message) }, correctSource]),
    unread.length > 0 && {
      tone: 'warn',
      text: `Not read: ${unread.map(plain).join(', ')}. The names of the files that are read are ${crosswalkFiles.map(({ key }) => key).join(' and ')}`,
    },
    ...(withoutUsers ? withoutUsersNotes : []),
  ];
};

const withoutUsersNotes: View = [
  {
    tone: 'warn',
    text: `It learned no names of users: there is no ${crosswalkFiles[0].key}, and it did not read classlists`,
  },
  { lead: 'To read them from the classlists of all courses', command: fillCommand('userName') },
  {
    action: '/crosswalk-fill',
    hidden: { classlists: 'yes' },
    buttons: [{ text: 'Fill, with users from classlists' }],
  },
];

/** Of so many names, a person looks some up. */
const maxNames = 100;

/** `names`: those of letters that wait for it. */
export const lookUpForm = (kind: NameQuery['kind'] | undefined, names: readonly string[]): Form => ({
  action: '/crosswalk',
  isHarmless: true,
  buttons: [{ text: 'Show' }],
  fields: [
    {
      choice: 'kind',
      label: 'Look for the',
      options: Object.values(nameLabels),
      ...(kind && { chosen: [nameLabels[kind]] }),
    },
    names.length > 1
      ? { choice: 'name', label: 'Name', options: names.slice(0, maxNames) }
      : { field: 'name', label: 'Name', value: names[0] },
  ],
});

export const fillForm: Form = {
  action: '/crosswalk-fill',
  fields: [
    { checkbox: 'classlists', label: 'Also read users from the classlists of all courses' },
    {
      checkbox: 'acceptRemovals',
      label:
        'Remove all names that the sources no longer have, however many they are: I have checked the sources',
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
