import { beforeAll, describe, expect, test } from 'vitest';
import { packagedProject } from '../packages.ts';
import {
  type Difference,
  declared,
  differences,
  freeze,
  isMajor,
  isMinor,
  lastReleased,
  type Released,
  releasedFrom,
  sentenceFor,
  version,
} from './released.ts';

let now: Released;
beforeAll(async () => {
  now = await releasedFrom((await packagedProject()).template);
  if (process.env.FREEZE !== undefined) freeze(now);
});

const breaking = (all: Difference[]): Difference[] => all.filter(({ isBreaking }) => isBreaking);

test('what others depend on is as the last release has it, or the break is declared with a major version', () => {
  const { version: last, released } = lastReleased();
  const all = differences(released, now);
  const undeclared = breaking(all).filter(({ place }) => declared()[place] === undefined);
  expect(undeclared.map(sentenceFor)).toEqual([]);
  const places = breaking(all).map(({ place }) => place);
  expect(
    Object.keys(declared()).filter((place) => !places.includes(place) && !/^(json|formats) ›/.test(place)),
    'declared, and no difference',
  ).toEqual([]);
  if (Object.keys(declared()).length > 0)
    expect(isMajor(last, version()), `${version()} after ${last} breaks`).toBe(true);
  const added = all.filter(({ isBreaking }) => !isBreaking);
  if (added.length > 0 && process.env.RELEASE !== undefined)
    expect(isMinor(last, version()), `${version()} after ${last} adds`).toBe(true);
  if (added.length > 0)
    process.stdout.write(
      `Since ${last}:\n${added.map(({ place, change }) => `  ${place} ${change}\n`).join('')}`,
    );
});

// biome-ignore lint/suspicious/noExplicitAny: a change may reach anywhere.
type Changed = any;

describe('it breaks somebody', () => {
  test.each<[string, (released: Changed) => void, string]>([
    [
      'a table of another key',
      ({ stored }) => Object.assign(stored.Ledger, { keys: ['id HASH S'] }),
      'stored › Ledger › keys › resource HASH S is gone. CloudFormation would replace it',
    ],
    [
      'a table of another name',
      ({ stored }) => Object.assign(stored.Desk, { name: 'sis-relay-{stage}-desk-2' }),
      'stored › Desk › name was "sis-relay-{stage}-desk" and is',
    ],
    [
      'a table of another id',
      ({ stored }) => {
        stored.Book = stored.Ledger;
        delete stored.Ledger;
      },
      'stored › Ledger is gone.',
    ],
    [
      'a name for the key of the ledger',
      ({ stored }) => Object.assign(stored.LedgerKey, { name: 'sis-relay/{stage}/ledger-key' }),
      'stored › LedgerKey › name is new. CloudFormation would replace it',
    ],
    [
      'a table without an index',
      ({ stored }) => void delete stored.Desk.indexes['by-list'],
      'stored › Desk › indexes › by-list is gone',
    ],
    [
      'a bucket that goes with its stack',
      ({ stored }) => void delete stored.Files.isKept,
      'stored › Files › isKept is gone',
    ],
    [
      'a queue that takes less',
      ({ stored }) => Object.assign(stored.gradepushQueue, { maximum: 262_144 }),
      'stored › gradepushQueue › maximum was 1032192 and is 262144',
    ],
    [
      'a function of another name',
      ({ functions }) => void functions.splice(functions.indexOf('sis-relay-{stage}-connection-check'), 1),
      'functions › sis-relay-{stage}-connection-check is gone. Operators and scripts invoke it',
    ],
    [
      'a durable function without its alias',
      ({ functions }) =>
        void functions.splice(functions.indexOf('sis-relay-{stage}-course-export:durable'), 1),
      'functions › sis-relay-{stage}-course-export:durable is gone',
    ],
    [
      'a folder of the bucket that nobody reads',
      ({ files }) => void files.splice(files.indexOf('snapshots/'), 1),
      'files › snapshots/ is gone. Producers put files there',
    ],
    ['an output less', ({ outputs }) => void outputs.pop(), 'is gone. Producers and scripts read it'],
    [
      'a policy of another name',
      ({ policies }) => void policies.splice(policies.indexOf('Producers'), 1, 'Senders'),
      'policies › Producers is gone. Whoever it was attached to',
    ],
    [
      'a setting less',
      ({ settings }) => void delete settings.alarmEmail,
      'settings › alarmEmail is gone. Files of stages have it',
    ],
    ['a secret that nobody reads', ({ secrets }) => void secrets.pop(), ' is gone. Operators have created'],
    [
      'a message without a type',
      ({ messages }) => void delete messages['sis.grade-push.v1'],
      'messages › sis.grade-push.v1 is gone. Producers send',
    ],
    [
      'a field less',
      ({ messages }) => void delete messages['sis.grade-push.v1'].properties.data.properties.comments,
      '› comments is gone',
    ],
    [
      'a field that must be given',
      ({ messages }) => void messages['sis.grade-push.v1'].properties.data.required.push('comments'),
      '› required › comments is new',
    ],
    [
      'a shorter field',
      ({ messages }) =>
        Object.assign(messages['sis.grade-push.v1'].properties.data.properties.comments, {
          maxLength: 3_999,
        }),
      '› maxLength was 4000 and is 3999',
    ],
    [
      'a kind of grade less',
      ({ messages }) => void messages['sis.grade-push.v1'].properties.data.properties.grade.oneOf.pop(),
      '› oneOf › 3 is gone',
    ],
    [
      'a field with a pattern',
      ({ messages }) =>
        Object.assign(messages['sis.grade-push.v1'].properties.data.properties.comments, { pattern: '^a' }),
      '› pattern is new',
    ],
    [
      'a letter without an attribute',
      ({ letters }) => void letters.attributes.shift(),
      'letters › attributes › failure is gone. Letters with it',
    ],
    [
      'a failure without a field that is named as a constraint',
      ({ letters }) => void delete letters.failure.properties.required,
      'letters › failure › properties › required is gone',
    ],
    [
      'a metric of other dimensions',
      ({ metrics }) => Object.assign(metrics.Letters.dimensions, { 0: 'kind, function' }),
      'metrics › Letters › dimensions › function, kind is gone',
    ],
    ['an alarm of another name', ({ alarms }) => void alarms.shift(), 'is gone. Whoever it calls'],
    [
      'an option less',
      ({ commands }) => void delete commands['sis-relay publish']['--now'],
      'commands › sis-relay publish › --now is gone. Scripts call',
    ],
    [
      'an option that must be given',
      ({ commands }) => void commands['sis-relay publish'].required.push('--now'),
      'commands › sis-relay publish › required › --now is new',
    ],
    [
      'an option with another default',
      ({ commands }) => Object.assign(commands['sis-relay']['--lease'], { default: 30 }),
      '--lease › default was 60 and is 30',
    ],
    [
      'a command less',
      ({ commands }) => void delete commands['sis-relay letters list'],
      'commands › sis-relay letters list is gone',
    ],
    [
      'another exit code',
      ({ exitCodes }) => Object.assign(exitCodes, { 1: 'done' }),
      'exitCodes › 1 was "nothing to do',
    ],
  ])('%s', (_, change, sentence) => {
    const changed = structuredClone(now);
    change(changed);
    expect(breaking(differences(now, changed)).map(sentenceFor).join('\n')).toContain(sentence);
  });
});

test.each<[string, (released: Changed) => void]>([
  ['a table more', ({ stored }) => Object.assign(stored, { Book: stored.Ledger })],
  ['an index more', ({ stored }) => Object.assign(stored.Desk.indexes, { 'by-time': { keys: [] } })],
  [
    'a field more',
    ({ messages }) =>
      Object.assign(messages['sis.grade-push.v1'].properties.data.properties, { more: { type: 'string' } }),
  ],
  [
    'a field that need not be given',
    ({ messages }) => void messages['sis.grade-push.v1'].properties.data.required.pop(),
  ],
  [
    'a longer field',
    ({ messages }) =>
      Object.assign(messages['sis.grade-push.v1'].properties.data.properties.comments, { maxLength: 4_001 }),
  ],
  [
    'a kind of grade more',
    ({ messages }) =>
      void messages['sis.grade-push.v1'].properties.data.properties.grade.oneOf.push({ type: 'string' }),
  ],
  [
    'an option more',
    ({ commands }) => Object.assign(commands['sis-relay publish'], { '--later': { value: 'none' } }),
  ],
  [
    'a command more',
    ({ commands }) => Object.assign(commands, { 'sis-relay look': { required: ['argument 1'] } }),
  ],
])('%s is an addition, and is listed', (_, change) => {
  const changed = structuredClone(now);
  change(changed);
  const found = differences(now, changed);
  expect(found).toHaveLength(1);
  expect(breaking(found)).toEqual([]);
});

test.each([
  ['0.1.0', '0.1.1', false],
  ['0.1.0', '0.2.0', true],
  ['0.9.0', '1.0.0', true],
  ['1.2.0', '1.3.0', false],
  ['1.2.0', '2.0.0', true],
])('after %s, %s may break something: %s', (before, next, expected) => {
  expect(isMajor(before, next)).toBe(expected);
});

test.each([
  ['1.2.0', '1.2.1', false],
  ['1.2.0', '1.3.0', true],
  ['1.2.0', '2.0.0', true],
])('after %s, %s may add something: %s', (before, next, expected) => {
  expect(isMinor(before, next)).toBe(expected);
});
