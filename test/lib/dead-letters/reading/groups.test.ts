import { expect, test } from 'vitest';
import { groupLetters } from '../../../../lib/dead-letters/reading/groups.ts';
import { eventBody, never, officesForTests } from '../../cli/office.ts';

const offices = officesForTests();
const missingScope = {
  kind: 'missing-scope',
  status: 403,
  title: 'Not Authorized',
  required: 'grades:gradevalues:write',
  remedy: 'Grant the scope grades:gradevalues:write to the client registered for sis-relay, then replay.',
} as const;

test('letters are counted by function, kind and error, the most first, each group with its remedy', async () => {
  const office = await offices.open();
  await office.park([
    ...Array.from({ length: 4 }, () => ({ failure: missingScope })),
    ...Array.from({ length: 2 }, () => ({ function: 'enrollment-create', failure: {} })),
    { failure: {} },
  ]);
  const { groups, matching, seen } = await groupLetters(office.target, {}, { signal: never });
  expect({ matching, seen }).toEqual({ matching: 7, seen: 7 });
  expect(groups.map(({ function: name, kind, error, letters }) => [letters, name, kind, error])).toEqual([
    [4, 'grade-push', 'missing-scope', '403 Not Authorized (grades:gradevalues:write)'],
    [2, 'enrollment-create', 'rejected', '404 Not Found'],
    [1, 'grade-push', 'rejected', '404 Not Found'],
  ]);
  expect(groups[0]).toMatchObject({ grants: ['grades:gradevalues:write'], remedy: missingScope.remedy });
});

test('a remedy that names somebody is told of all of them', async () => {
  const office = await offices.open();
  const failure = (user: number) => ({
    kind: 'missing-credential' as const,
    message: `There is no secret sis-relay/users/${user}`,
    remedy: `Create the secret sis-relay/users/${user}, then replay.`,
  });
  await office.park([{ failure: failure(301) }, { failure: failure(302) }]);
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups).toMatchObject([
    { letters: 2, remedy: 'Create the secret sis-relay/users/<id>, then replay.' },
  ]);
});

test('a title with words of the messages is one cause, told without them', async () => {
  const office = await offices.open();
  const failure = { title: 'The name Jane is not allowed' };
  const about = (comments: string) => ({ body: eventBody('grade-push', { comments }), failure });
  await office.park([about('Jane'), about('this is not Jane')]);
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups).toMatchObject([{ letters: 2, error: expect.not.stringMatching(/Jane/) }]);
});

test('only letters that match are counted', async () => {
  const office = await offices.open();
  await office.park([{ failure: missingScope }, { failure: {} }, { failure: null }]);
  await office.send(office.deadLetters.url, [{ MessageBody: 'garbage' }]);
  const kinds = async (filter: object) =>
    (await groupLetters(office.target, filter, { signal: never })).groups.map(({ kind }) => kind).sort();
  expect(await kinds({})).toEqual(['missing-scope', 'no-details', 'rejected', 'unknown-source']);
  expect(await kinds({ kind: ['unknown-source', 'no-details'] })).toEqual(['no-details', 'unknown-source']);
});

test('letters replayed five times are called out, and the platform’s words come without personal ones', async () => {
  const office = await offices.open();
  const body = eventBody('grade-push', { comments: 'Dear Jane' });
  await office.park([4, 5, 6].map((replays) => ({ replays, body, failure: { detail: 'no Jane here' } })));
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups).toMatchObject([{ letters: 3, replayedOften: 2, words: ['no ••• here'] }]);
});

test('one error in different words is told in each of them, but not in more than a few', async () => {
  const office = await offices.open();
  const found = async (details: string[]) => {
    await office.park(details.map((detail) => ({ failure: { detail } })));
    const { groups } = await groupLetters(office.target, {}, { signal: never });
    return groups.map(({ letters, words }) => [letters, words.sort()]);
  };
  expect(await found(['User not found', 'Role not found', 'User not found'])).toEqual([
    [3, ['Role not found', 'User not found']],
  ]);
  expect(await found(['Unit 7 is closed', 'Unit 8 is closed'])).toEqual([
    [5, ['Role not found', expect.stringMatching(/^Unit [78] is closed$/), 'User not found']],
  ]);
  await office.park('ABCDEFG'.split('').map((letter) => ({ failure: { detail: `${letter} is too long` } })));
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups).toMatchObject([{ letters: 12, words: { length: 6 } }]);
});

test('one cause told of many people, by name and number, leaves room for another', async () => {
  const office = await offices.open();
  const people = ['Anna', 'Bela', 'Cleo', 'Dora', 'Emil', 'Finn', 'Gina'].map((name, at) => ({
    body: eventBody('grade-push', { userId: 300 + at, comments: `Dear ${name}` }),
    failure: { detail: `${name} (${300 + at}) is not enrolled` },
  }));
  await office.park([...people, { failure: { detail: 'The grade book is locked' } }]);
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups.map(({ words }) => words.length)).toEqual([2]);
});

test('a flood of different errors ends as one group of other errors', async () => {
  const office = await offices.open();
  await office.park(
    Array.from({ length: 260 }, (_, at) => ({
      failure: { title: `Error ${'x'.repeat(at)}` },
    })),
  );
  const { groups, matching } = await groupLetters(office.target, {}, { signal: never });
  expect(matching).toBe(260);
  expect(groups[0]).toMatchObject({ error: 'other errors', letters: 60 });
  expect(groups).toHaveLength(201);
});
